"""The nouns of series: the same time in several weeks in a row, each week a booking of its own."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.bookings.models import Booking
from openslot.domains.event_types.models import Location


class OnConflict(StrEnum):
    """What becomes of a series if some of its weeks are not free."""

    REFUSE = "refuse"
    """Nothing is booked."""
    SKIP = "skip"
    """The other weeks are booked."""


class Recurrence(Struct, frozen=True, kw_only=True):
    """In how many weeks in a row a time is to be booked."""

    weeks: int
    on_conflict: OnConflict = OnConflict.REFUSE


class SeriesDate(Struct, frozen=True, kw_only=True):
    """One booking of a series, as mails about all of them tell it."""

    id: UUID
    starts_at: datetime
    ends_at: datetime
    location: Location
    sequence: int = 0


class BookedSeries(Struct, frozen=True, kw_only=True):
    """What was booked in several weeks in a row, and the weeks that were not free."""

    id: UUID
    bookings: tuple[Booking, ...]
    skipped: tuple[datetime, ...]

    @property
    def booking_ids(self) -> list[UUID]:
        return [each.id for each in self.bookings]
