"""The verbs of series: the same time in several weeks in a row, each week a booking of its own."""

from datetime import datetime

from msgspec.structs import replace

from openslot.availability import claims
from openslot.bookings import email_proofs, errors, operations, rules, store
from openslot.bookings.events import BookingCancelled, BookingCreated
from openslot.bookings.models import Booking, BookingRef, BookingWanted
from openslot.bookings.series_models import BookedSeries, OnConflict, Recurrence, SeriesDate
from openslot.core.errors import Invalid
from openslot.core.ids import new_id
from openslot.core.work import Work
from openslot.event_types import links
from openslot.i18n import Text

NO_SERIES = Text("is not possible: this booking is not part of a series")


async def create_series(work: Work, wanted: BookingWanted, recurrence: Recurrence) -> BookedSeries:
    """Book a time in several weeks in a row for one invitee: in every week or in none, or where it is free.

    It is the same time of the schedule's clock in each week.
    """
    wanted = operations.check_wanted(wanted)
    rules.check_weeks(recurrence.weeks)
    weeks = await claims.judge_weeks(
        work, wanted.which, wanted.starts_at, weeks=recurrence.weeks, hold_id=wanted.hold_id
    )
    event_type = weeks.event_type
    rules.check_weeks(recurrence.weeks, max_=event_type.max_weeks)
    operations.check_for(work, event_type, wanted)
    if not weeks.open or (weeks.closed and recurrence.on_conflict is OnConflict.REFUSE):
        raise errors.SeriesUnavailable(weeks.closed, wanted.invitee.zone)
    await email_proofs.check(work, event_type, wanted)
    await operations.check_invitee(work, event_type, wanted.invitee.email, bookings=len(weeks.open))
    contact = await operations.find_contact(work, event_type, wanted)
    series_id, bookings = new_id(), []
    for claimed in claims.take_weeks(work, weeks):
        drafted = rules.draft(claimed, contact, wanted, actor=work.actor, now=work.now)
        bookings.append(await operations.locate(work, replace(drafted, series_id=series_id)))
    work.stage(store.insert_series(bookings, source=wanted.source))
    if weeks.found.link is not None:
        links.take_uses(work, weeks.found.link, *(each.id for each in bookings))
    if wanted.message_consent is not None:
        work.stage(store.insert_consents(bookings, wanted.message_consent, now=work.now))
    first, *others = bookings
    base_url = work.runtime.settings.public_url
    told = BookingCreated(
        booking=first,
        event_type=event_type,
        contact=contact,
        base_url=base_url,
        series=_list_dates(bookings),
        skipped=weeks.closed,
    )
    later = (replace(told, booking=each, series=(), skipped=(), told_by=first.id) for each in others)
    await work.record(told, *later)
    return BookedSeries(id=series_id, bookings=tuple(bookings), skipped=weeks.closed)


async def cancel_series(work: Work, ref: BookingRef, *, reason: str | None = None) -> list[Booking]:
    """Cancel the bookings of a series that are not over, and free their time; what is cancelled stays as it is."""
    series_id = (await operations.get_for_change(work, ref)).booking.series_id
    if series_id is None:
        raise Invalid(details={"series": NO_SERIES})
    upcoming = await store.lock_series(work.db, series_id, now=work.now)
    if not upcoming:
        return []
    cancelled = [operations.draft_cancelled(work, each, reason=reason) for each in upcoming]
    claims.free_all(work, [each.claim_id for each in cancelled if each.seat_id is None])
    for each in cancelled:
        if each.seat_id is not None:
            claims.free(work, each.claim_id, each.seat_id)
    work.stage(store.update_series_cancelled(cancelled))
    first = cancelled[0]
    base_url = work.runtime.settings.public_url
    told = [
        BookingCancelled(
            booking=booking,
            event_type=details.event_type,
            contact=details.contact,
            base_url=base_url,
            series=_list_dates(cancelled) if booking is first else (),
            told_by=None if booking is first else first.id,
        )
        for booking, details in zip(cancelled, upcoming, strict=True)
    ]
    await work.record(*told)
    return cancelled


async def list_series(work: Work, booking: Booking) -> list[Booking]:
    """List all bookings of a booking's series, by their starts; none if it was booked alone."""
    return await store.list_series(work.db, booking.series_id) if booking.series_id else []


async def list_skipped(work: Work, booking: Booking) -> list[datetime]:
    """List the weeks that were not free when the first booking of a series was made."""
    return await store.find_skipped(work.db, booking.id) if booking.series_id else []


def _list_dates(bookings: list[Booking]) -> tuple[SeriesDate, ...]:
    """List the dates that one mail tells of; a single one needs no list."""
    if len(bookings) == 1:
        return ()
    return tuple(
        SeriesDate(
            id=each.id,
            starts_at=each.starts_at,
            ends_at=each.ends_at,
            location=each.location,
            sequence=each.sequence,
        )
        for each in bookings
    )
