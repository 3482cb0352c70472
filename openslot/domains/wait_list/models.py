"""The nouns of the wait list: who waits for what, and what they were offered."""

from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from openslot.domains.availability.models import BySlug, EventTypeRef
from openslot.domains.bookings.models import Status
from openslot.domains.event_types.models import EventType


class EntryState(StrEnum):
    UNPROVEN = "unproven"
    """Nobody has confirmed the address yet."""
    WAITING = "waiting"
    BOOKED = "booked"


class OfferState(StrEnum):
    OFFERED = "offered"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """The host has closed the time, or does not offer the event type any more."""


class WaitListWanted(Struct, frozen=True, kw_only=True):
    """Somebody wants to wait for a day, or for one session of it."""

    which: EventTypeRef
    day: date
    starts_at: datetime | None
    name: str
    email: str
    zone: str
    locale: str | None


class WaitListEntry(Struct, frozen=True, kw_only=True):
    id: UUID
    host_id: UUID
    event_type_id: UUID
    day: date
    """The day in the zone of the waiting person."""

    starts_at: datetime | None
    """The session that is waited for; None if any time of the day is."""

    minutes: int | None
    """How long the meeting is to be; None if it is the default of the event type."""

    until: datetime
    """When the day is over, or the session begins."""

    name: str
    email: str
    zone: str
    locale: str | None
    state: EntryState
    created_at: datetime
    asked_at: datetime
    """When the address was last asked to confirm."""


class Offer(Struct, frozen=True, kw_only=True):
    """A free time that is kept for one person."""

    id: UUID
    entry_id: UUID
    host_id: UUID
    email: str
    claim_id: UUID | None
    seat_id: UUID | None
    starts_at: datetime
    ends_at: datetime
    made_at: datetime
    expires_at: datetime
    state: OfferState = OfferState.OFFERED
    ended_at: datetime | None = None

    def is_open(self, *, now: datetime) -> bool:
        return self.state is OfferState.OFFERED and self.expires_at > now

    @property
    def hold_id(self) -> UUID | None:
        """What a booking turns into its own time."""
        return self.seat_id or self.claim_id


class Waiting(Struct, frozen=True, kw_only=True):
    """An entry with what it waits for."""

    entry: WaitListEntry
    event_type: EventType
    address: str
    """The address in the form in which the database compares it."""

    @property
    def which(self) -> BySlug:
        return BySlug(self.event_type.owner_id, self.event_type.slug, self.entry.minutes)


class WaitPosition(NamedTuple):
    """A position in the order of those who wait for a host."""

    created_at: datetime
    entry_id: UUID


class FoundEntry(Struct, frozen=True, kw_only=True):
    """An entry as its page and its mails show it."""

    entry: WaitListEntry
    event_type: EventType
    offer: Offer | None
    """The latest one."""

    booking_id: UUID | None
    """The booking that was made of that offer."""

    booking_status: Status | None
    is_freed: bool
    """Whether that booking has waited in vain, for its payment or its host."""

    host_name: str
    host_username: str
    host_zone: str


class ListedWait(Struct, frozen=True, kw_only=True):
    """An entry as its host sees it."""

    entry: WaitListEntry
    offered_start: datetime | None
    """The time that is offered now; None if none is."""

    offered_until: datetime | None
