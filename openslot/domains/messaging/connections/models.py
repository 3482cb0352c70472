"""The nouns of connections: numbers at a message provider, and what is to be deleted there."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.models import ProviderName


class ConnectionChannel(StrEnum):
    """What a number is connected for."""

    SMS = "sms"
    WHATSAPP = "whatsapp"
    VOICE = "voice"

    @property
    def messages(self) -> Channel | None:
        """The channel of conversations that it carries; None for calls."""
        return None if self is ConnectionChannel.VOICE else Channel(self.value)


class MessagingConnection(Struct, frozen=True, kw_only=True):
    """A number at a message provider, of a user or of an organization for its members."""

    id: UUID
    user_id: UUID | None
    organization_id: UUID | None
    provider: ProviderName
    channel: ConnectionChannel
    number: str
    """E.164."""
    account: str
    """The provider's name of the account, or the address of a gateway."""
    account_name: str | None = None
    token: bytes | None
    """Sealed; None if disconnected."""
    second_token: bytes | None = None
    default_host_id: UUID | None = None
    """The host who gets messages from numbers that nobody has a thread with; None if it is the owner."""
    can_cancel: bool = False
    countries: tuple[str, ...] = ()
    """The countries that it sends messages to, by code, `*` for every one; empty if only to that of the number."""
    template: str | None = None
    """The provider's id of a template for reminders, which WhatsApp takes at any time."""
    last_checked_at: datetime | None = None
    last_error: str | None = None
    failing_since: datetime | None = None
    told_at: datetime | None = None
    connected_at: datetime
    disconnected_at: datetime | None = None

    @property
    def owner_id(self) -> UUID:
        owner_id = self.user_id or self.organization_id
        assert owner_id is not None  # noqa: S101 - a constraint of the table
        return owner_id


class UsableNumber(Struct, frozen=True, kw_only=True):
    """A number that a host can choose to write from."""

    connection: MessagingConnection
    organization: str | None
    """The name of the organization that has connected it; None if it is the host's own."""
    is_used: bool


class OptOutSource(StrEnum):
    MESSAGE = "message"
    PROVIDER = "provider"
    """It has refused a message for this reason."""
    OWNER = "owner"


class MessageErasure(Struct, frozen=True, kw_only=True):
    """A message or a recording that is to be deleted at the provider."""

    id: UUID
    behalf_of: UUID
    provider: ProviderName
    account: str
    token: bytes
    vendor_id: str | None = None
    ref: bytes | None = None
    tries: int = 0
    next_try_at: datetime
