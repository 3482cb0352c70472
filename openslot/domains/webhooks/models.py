"""The nouns of webhooks: an endpoint, what is sent to it, and one try of sending it."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import UNSET, Raw, Struct, UnsetType

from openslot.platform.core.events import EffectState
from openslot.platform.core.moments import Span
from openslot.platform.i18n import CodedReason


class State(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"


class EndpointRef(Struct, frozen=True):
    """A reference to an endpoint: one of an owner's own, or, for the operator, any."""

    id: UUID
    owner_id: UUID | None = None


class EndpointWanted(Struct, frozen=True, kw_only=True):
    url: str
    events: tuple[str, ...] = ()
    description: str | None = None


class EndpointChanges(Struct, frozen=True, kw_only=True):
    url: str | UnsetType = UNSET
    events: tuple[str, ...] | UnsetType = UNSET
    description: str | UnsetType | None = UNSET


class Endpoint(Struct, frozen=True, kw_only=True):
    """A URL that wants to be told of events."""

    id: UUID
    owner_id: UUID
    url: str
    description: str | None
    events: tuple[str, ...]
    """None if it is sent every event."""
    state: State = State.ACTIVE
    state_reason: str | None = None
    state_since: datetime
    previous_until: datetime | None = None
    """The time until which the secret before this one signs too."""
    failing_since: datetime | None = None
    created_at: datetime
    updated_at: datetime


class OutgoingMessage(Struct, frozen=True, kw_only=True):
    """All that one try of a delivery needs to know."""

    endpoint: Endpoint
    secret: bytes
    """The secret that it is signed with, sealed."""
    previous_secret: bytes | None
    sealed_body: bytes | None
    is_delivered: bool
    """Whether another effect has brought the event here since this one was planned."""

    def valid_secrets(self, *, now: datetime) -> tuple[bytes, ...]:
        """List the secrets that are valid now, newest first."""
        until = self.endpoint.previous_until
        if self.previous_secret is None or until is None or until <= now:
            return (self.secret,)
        return self.secret, self.previous_secret


class Attempt(Struct, frozen=True, kw_only=True):
    """One try of bringing one event to one endpoint."""

    id: UUID
    endpoint_id: UUID
    event_id: UUID
    effect_id: UUID
    attempt: int
    at: datetime
    url: str
    request_headers: dict[str, str]
    status: int | None
    answer: bytes | None
    """The first kilobyte."""
    duration_ms: int
    error: str | None
    """None if the endpoint accepted it."""


class PastEvent(Struct, frozen=True, kw_only=True):
    """What the world may know of something that happened."""

    id: UUID
    type: str
    at: datetime
    data: Raw
    subject: str
    """The kind and id of what it happened to."""


class LoggedDelivery(Struct, frozen=True, kw_only=True):
    """A try as its owner reads it: what it was about, and whether another one follows."""

    attempt: Attempt
    event_type: str
    event_at: datetime
    next_try_at: datetime | None
    """When it is tried again; None if it is not, or if this was not the last try."""
    body: bytes | None = None
    """The body that was sent, if one try is looked at and the body is still kept."""


class LastTest(Struct, frozen=True, kw_only=True):
    at: datetime
    state: EffectState | None
    """None if the delivery is not planned yet."""
    next_try_at: datetime | None
    attempt: Attempt | None
    """The latest try; None if none was made."""

    @property
    def is_under_way(self) -> bool:
        return self.attempt is None and self.state not in {EffectState.DEAD, EffectState.SKIPPED}


class EndpointOverview(Struct, frozen=True, kw_only=True):
    """An endpoint with the latest try at it, and the latest test if one endpoint is looked at."""

    endpoint: Endpoint
    last: Attempt | None
    test: LastTest | None = None


class Replay(StrEnum):
    """Which events are sent again; those under way need no replay."""

    MISSED = "missed"
    ALL = "all"

    @property
    def but(self) -> tuple[str, ...]:
        """In which states of its delivery an event is left out."""
        under_way = (EffectState.WAITING, EffectState.QUEUED, EffectState.RUNNING)
        return under_way if self is Replay.ALL else (EffectState.DONE, *under_way)


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Which tries of the log are wanted; None and an empty span: all."""

    event_type: str | None = None
    is_delivered: bool | None = None
    span: Span = Span()


IS_GONE = CodedReason(
    "webhooks.is_gone",
    "It answered 410, which means that it is gone.",
    said="It answered 410: it is gone.",
)
HAS_FAILED = CodedReason("webhooks.has_failed", "Every delivery has failed for 5 days.")
