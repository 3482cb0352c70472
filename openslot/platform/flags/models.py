"""The nouns: flags, the users for whom a flag differs, and channels of outgoing messages that can be stopped."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.actor import Actor


class FlagKey(StrEnum):
    """The flags that the product checks; each has a row in the database."""

    API_DOCS = "api_docs"
    BOOKING_HOLDS = "booking_holds"
    CALENDAR_FEEDS = "calendar_feeds"
    CALENDAR_TWO_WAY = "calendar_two_way"
    MAIL_REMINDERS = "mail_reminders"


class Flag(Struct, frozen=True, kw_only=True):
    """A part of the product that can be switched off."""

    key: str
    description: str
    enabled: bool
    override_count: int
    """How many users it is set for separately."""
    updated_at: datetime


class FlagOverride(Struct, frozen=True, kw_only=True):
    user_id: UUID
    enabled: bool
    updated_at: datetime


class FlagForUser(Struct, frozen=True, kw_only=True):
    key: str
    user_id: UUID
    enabled: bool
    is_override: bool
    """Whether it is set for this user; if not, it is what the flag is for everyone."""


class FlagValues(Struct, frozen=True, kw_only=True):
    """All flags and overrides, as a process keeps them in memory."""

    version: UUID | None = None
    """None until they are read."""

    flags: Mapping[str, bool] = {}
    overrides: Mapping[tuple[str, str], bool] = {}
    """The overrides by flag and user id."""


class OutgoingChannel(StrEnum):
    """A way in which messages go out, which can be stopped."""

    SMS = "sms"
    WHATSAPP = "whatsapp"
    VOICE = "voice"
    EMAIL = "email"


ALL = "all"
# Email is stopped only by its own name: almost everything that the product promises is told by email.
ALL_CHANNELS = (OutgoingChannel.SMS, OutgoingChannel.WHATSAPP, OutgoingChannel.VOICE)


class MessagingStop(Struct, frozen=True, kw_only=True):
    """Since when a channel is stopped, by whom and why."""

    at: datetime
    actor: Actor
    user_name: str | None
    """The name of the administrator, if it was one who still has an account."""
    reason: str

    @property
    def name(self) -> str:
        """Who did it, in English: an administrator or an agent by name, or what it was done with."""
        return self.user_name or self.actor.agent or ("terminal" if self.actor.user_id is None else "a deleted account")


class ChannelStatus(Struct, frozen=True, kw_only=True):
    channel: OutgoingChannel
    stop: MessagingStop | None
    waiting: int
    """How many messages wait until it is resumed."""


class DroppedMessage(Struct, frozen=True, kw_only=True):
    """A message that waited while its channel was stopped, and was not sent afterwards."""

    id: UUID
    channel: OutgoingChannel
    reaction: str
    recipient: str | None
    subject: str | None
    """None if nothing was written yet when it lost its meaning."""
    held_at: datetime
    dropped_at: datetime
    has_failed: bool
    """Whether every try has failed; if not, it has lost its meaning."""
    reason: str
