"""The wire shapes of series: how often a time is to be booked, and what was booked."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.bookings.models import Booking
from openslot.domains.bookings.series.models import BookedSeries, OnConflict, Recurrence
from openslot.domains.event_types.rules import MAX_WEEKS, MIN_WEEKS
from openslot.platform.core.shapes import Shape
from openslot.platform.core.times import Instant, iso

BookingId = Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1"])]
SeriesId = Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1"])]


class WantedRecurrence(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """In how many weeks in a row to book, at the same time of the schedule's clock: each week is a booking of its own.

    Only for event types that have `recurringWeeks`.
    """

    weeks: Annotated[
        int,
        Meta(
            ge=MIN_WEEKS,
            le=MAX_WEEKS,
            description="The first week included, at most the event type's `recurringWeeks`",
            examples=[6],
        ),
    ]
    on_conflict: Annotated[
        OnConflict,
        Meta(description="If a week is not free: `refuse` books nothing, `skip` books the others", examples=["skip"]),
    ] = OnConflict.REFUSE


class CreatedDate(Struct, frozen=True, kw_only=True, rename="camel"):
    """One booking of a series."""

    booking_id: BookingId
    start_time: Instant
    end_time: Instant
    manage_url: Annotated[str, Meta(examples=["https://book.example/manage/AZl8Lm…"])]


class CreatedSeries(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was booked in several weeks in a row, and the start times that were not free."""

    id: SeriesId
    bookings: list[CreatedDate]
    skipped: list[Instant]


_show_date = Shape(CreatedDate, Booking, names={"booking_id": "id"}, given=("manage_url",)).show


def read_recurrence(sent: WantedRecurrence) -> Recurrence:
    return Recurrence(weeks=sent.weeks, on_conflict=sent.on_conflict)


def show_series(made: BookedSeries, manage_urls: list[str]) -> CreatedSeries:
    dates = zip(made.bookings, manage_urls, strict=True)
    return CreatedSeries(
        id=str(made.id),
        bookings=[_show_date(booking, manage_url=url) for booking, url in dates],
        skipped=[iso(each) for each in made.skipped],
    )
