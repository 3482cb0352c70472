"""What happened to connections to a message provider."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.events import Event


class MessagingConnectionEvent(Event, frozen=True, kw_only=True):
    """Something happened to a connection to a message provider."""

    connection_id: UUID
    user_id: UUID | None
    """The owner, or the user who is notified; None if it belongs to an organization."""
    organization_id: UUID | None
    provider: ProviderName
    channel: ConnectionChannel
    number: str

    @property
    def tenant_id(self) -> UUID | None:
        return self.user_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "messaging_connection", self.connection_id


class MessagingConnected(MessagingConnectionEvent, frozen=True, kw_only=True):
    """A number for messages or calls was connected."""

    type: ClassVar[str] = "messaging_connection.connected"


class MessagingTokenReplaced(MessagingConnectionEvent, frozen=True, kw_only=True):
    """A connected number has got another token."""

    type: ClassVar[str] = "messaging_connection.token_replaced"


class MessagingDisconnected(MessagingConnectionEvent, frozen=True, kw_only=True):
    """A number was disconnected, and its tokens were deleted."""

    type: ClassVar[str] = "messaging_connection.disconnected"


class MessagingBroken(MessagingConnectionEvent, frozen=True, kw_only=True):
    """A connected number can't be used any more; its owner, or each administrator, will be notified."""

    type: ClassVar[str] = "messaging_connection.broken"
    reason: str
    since: datetime
    base_url: str


class HostNumberChanged(MessagingConnectionEvent, frozen=True, kw_only=True):
    """A host uses another number, or the one that they use is gone; the host is notified."""

    type: ClassVar[str] = "messaging_connection.host_number_changed"
    is_gone: bool
    base_url: str


MESSAGING_CONNECTION_EVENTS: tuple[type[Event], ...] = (
    MessagingConnected,
    MessagingTokenReplaced,
    MessagingDisconnected,
    MessagingBroken,
    HostNumberChanged,
)
