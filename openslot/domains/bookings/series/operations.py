"""The verbs of series: the same time in several weeks in a row, each week a booking of its own."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability.claims.weeks import judge_weeks, take_weeks
from openslot.domains.bookings import email_proofs, errors, operations, rules, store
from openslot.domains.bookings.events import BookingCancelled, BookingCreated, BookingEvent
from openslot.domains.bookings.hosts.operations import (
    add_hosts_of_series,
    cancel_hosts,
    count_hosts_of_series,
    tell_with_hosts,
)
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, BookingWanted
from openslot.domains.bookings.series.models import BookedSeries, OnConflict, Recurrence, SeriesDate
from openslot.domains.bookings.strangers.operations import reserve_confirmation, spend_mail_of_booking
from openslot.domains.event_types.links.operations import take_link_uses
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

NO_SERIES = Text("is not possible: this booking is not part of a series")


async def create_series(work: Work, wanted: BookingWanted, recurrence: Recurrence) -> BookedSeries:
    """Book a time in several weeks in a row for one invitee: in every week or in none, or where it is free.

    It is the same time of the schedule's clock in each week.
    """
    wanted = operations.check_wanted(wanted)
    rules.check_weeks(recurrence.weeks)
    weeks = await judge_weeks(work, wanted.which, wanted.starts_at, weeks=recurrence.weeks, hold_id=wanted.hold_id)
    event_type = weeks.event_type
    rules.check_weeks(recurrence.weeks, max_=event_type.max_weeks)
    operations.check_for(work, event_type, wanted)
    if not weeks.open or (weeks.closed and recurrence.on_conflict is OnConflict.REFUSE):
        raise errors.SeriesUnavailable(weeks.closed, wanted.invitee.zone)
    taken = await take_weeks(work, weeks)
    is_proven = await email_proofs.check(work, event_type, wanted)
    await operations.check_invitee(work, event_type, wanted.invitee.email, bookings=len(weeks.open))
    # One mail tells of all dates.
    wanted = await spend_mail_of_booking(work, event_type.owner_id, wanted)
    contact = await operations.find_contact(work, event_type, wanted)
    series_id, bookings = new_id(), []
    for claimed in taken:
        drafted = rules.draft(claimed, contact, wanted, actor=work.actor, now=work.now)
        bookings.append(await operations.locate(work, replace(drafted, series_id=series_id)))
    work.stage(store.insert_series(bookings, source=wanted.source, is_proven=is_proven))
    if weeks.found.link is not None:
        take_link_uses(work, weeks.found.link, *(each.id for each in bookings))
    if wanted.message_consent is not None:
        work.stage(store.insert_consents(bookings, wanted.message_consent, now=work.now))
    add_hosts_of_series(work, bookings, taken)
    first, *others = bookings
    details = BookingDetails(first, event_type, contact, rules.name_hosts(taken[0].hosts))
    told = tell_with_hosts(
        work,
        BookingCreated,
        details,
        series=_list_dates(bookings),
        skipped=weeks.closed,
        is_reserved=await reserve_confirmation(work, first.host_id),
    )
    later = (replace(told, booking=each, series=(), skipped=(), told_by=first.id) for each in others)
    await work.record(told, *later)
    await count_hosts_of_series(work, bookings, taken)
    return BookedSeries(id=series_id, bookings=tuple(bookings), skipped=weeks.closed)


async def cancel_series(work: Work, ref: BookingRef, *, reason: str | None = None) -> list[Booking]:
    """Cancel the bookings of a series that are not over, and free their time; what is cancelled stays as it is.

    A host cancels only the dates that they host, and an owner those that they own.
    """
    series_id = (await operations.get_booking_for_change(work, ref)).booking.series_id
    if series_id is None:
        raise Invalid(details={"series": NO_SERIES})
    upcoming = await store.lock_series(work.db, series_id, ref, now=work.now)
    if not upcoming:
        return []
    now = [replace(each, booking=operations.draft_cancelled(work, each, reason=reason)) for each in upcoming]
    await cancel_hosts(work, now)
    cancelled = [each.booking for each in now]
    work.stage(store.update_series_cancelled(cancelled))
    await work.record(*_tell_cancelled(work, now))
    return cancelled


def _tell_cancelled(work: Work, cancelled: list[BookingDetails]) -> Iterator[BookingEvent]:
    """Write what has happened to each; people are told at once of all that have the same hosts."""
    alike: dict[tuple[BookingHost, ...], list[Booking]] = {}
    for each in cancelled:
        alike.setdefault(each.hosts, []).append(each.booking)
    for each in cancelled:
        first, *others = alike[each.hosts]
        if each.booking is first:
            yield tell_with_hosts(work, BookingCancelled, each, series=_list_dates([first, *others]))
        else:
            yield tell_with_hosts(work, BookingCancelled, each, told_by=first.id)


async def list_series(work: Work, booking: Booking, *, by: UUID | None = None) -> list[Booking]:
    """List all bookings of a booking's series, by their starts, or those that one user can cancel with it.

    None if it was booked alone.
    """
    if booking.series_id is None:
        return []
    ref = BookingRef(booking.id, None, by=by) if by else None
    return await store.list_series(work.db, booking.series_id, ref)


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
