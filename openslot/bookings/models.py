"""The nouns of bookings."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.availability.models import EventTypeRef
from openslot.event_types.models import Location

AnswerValue = str | bool
Answers = dict[str, AnswerValue]


class Status(StrEnum):
    """The status of a booking. One that waits for its payment is not shown by the REST API."""

    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"
    PENDING_PAYMENT = "PENDING_PAYMENT"


class Payment(Struct, frozen=True):
    """The payment of a booking."""

    status: Annotated[str, Meta(examples=["not_required"])]


class Invitee(Struct, frozen=True, kw_only=True):
    """Who books."""

    name: str
    email: str
    zone: str
    locale: str | None = None
    """A language tag; None: the host's."""


class BookingWanted(Struct, frozen=True, kw_only=True):
    """What is needed to book a slot."""

    which: EventTypeRef
    starts_at: datetime
    invitee: Invitee
    notes: str | None = None
    answers: Answers = {}
    guests: tuple[str, ...] = ()
    hold_id: UUID | None = None


class Booking(Struct, frozen=True, kw_only=True):
    """A meeting between a host and an invitee."""

    id: UUID
    host_id: UUID
    event_type_id: UUID
    contact_id: UUID | None
    claim_id: UUID
    seat_id: UUID | None
    status: Status
    starts_at: datetime
    ends_at: datetime
    invitee_name: str
    invitee_email: str
    invitee_zone: str
    notes: str | None
    location: Location
    answers: Answers
    guests: tuple[str, ...]
    payment: Payment | None
    sequence: int
    reschedule_count: int
    previous_starts_at: datetime | None
    cancelled_at: datetime | None
    cancel_reason: str | None
    cancelled_by: str | None
    created_at: datetime
    updated_at: datetime
    invitee_locale: str | None = None
    """In which language the invitee is written to; None: the host's."""

    @property
    def uid(self) -> str:
        """The iCalendar UID, the same over every reschedule."""
        return f"{self.id}@openslot"


class BookingRef(Struct, frozen=True):
    """Which booking is meant: one of a host's own, or the one that a manage link names."""

    id: UUID
    host_id: UUID | None


class HistoryEntry(Struct, frozen=True, kw_only=True):
    """One thing that happened to a booking."""

    type: str
    at: datetime
    by: str
