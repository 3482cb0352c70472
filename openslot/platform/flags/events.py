"""What happened to feature flags and to the kill switch of outgoing messages."""

from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event
from openslot.platform.flags.models import OutgoingChannel


class FlagToggled(Event, frozen=True, kw_only=True):
    """A feature flag was switched on or off for everyone."""

    type: ClassVar[str] = "flag.toggled"
    key: str
    enabled: bool


class FlagOverrideEvent(Event, frozen=True, kw_only=True):
    """Something happened to a feature flag of one user."""

    key: str
    user_id: UUID
    enabled: bool

    @property
    def tenant_id(self) -> UUID | None:
        return self.user_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "user", self.user_id


class FlagOverrideSet(FlagOverrideEvent, frozen=True, kw_only=True):
    """A feature flag was set for one user."""

    type: ClassVar[str] = "flag.override_set"


class FlagOverrideRemoved(FlagOverrideEvent, frozen=True, kw_only=True):
    """A user's override of a feature flag was removed."""

    type: ClassVar[str] = "flag.override_removed"


class MessagingEvent(Event, frozen=True, kw_only=True):
    """Something happened to outgoing messages of some channels."""

    channels: tuple[OutgoingChannel, ...]
    reason: str


class MessagingStopped(MessagingEvent, frozen=True, kw_only=True):
    """Outgoing messages were stopped: they wait until they are resumed."""

    type: ClassVar[str] = "messaging.stopped"


class MessagingResumed(MessagingEvent, frozen=True, kw_only=True):
    """Outgoing messages were resumed: those that waited are sent."""

    type: ClassVar[str] = "messaging.resumed"
    waiting: int
    """How many there were."""


FLAG_EVENTS: tuple[type[Event], ...] = (
    FlagToggled,
    FlagOverrideSet,
    FlagOverrideRemoved,
    MessagingStopped,
    MessagingResumed,
)
