"""What calendars do because something happened: each booking is kept up to date in its host's calendar."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability.operations import replace_busy_spans
from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingEvent,
    BookingLinkAdded,
    BookingReassigned,
    BookingRescheduled,
)
from openslot.domains.bookings.links import booking_url
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.domains.bookings.operations import get_booking
from openslot.domains.calendars import event_store, operations, store
from openslot.domains.calendars.booking_events import describe_booking
from openslot.domains.calendars.errors import (
    DISCONNECTED,
    CalendarBusy,
    CalendarChanged,
    CalendarFault,
    CalendarGone,
    ReadOnlyCalendar,
)
from openslot.domains.calendars.event_store import PLAN, WRITE
from openslot.domains.calendars.events import CalendarRestoreWanted
from openslot.domains.calendars.host_changes import LANE, WRITE_LANE
from openslot.domains.calendars.models import ConnectionRef, WriteTarget, WrittenEvent
from openslot.domains.calendars.operations import READ
from openslot.domains.calendars.ports import CalendarServer
from openslot.domains.calendars.rules import PAUSES
from openslot.domains.calendars.servers import open_server
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.mail.models import MailAddress
from openslot.platform.core.actor import Destination
from openslot.platform.core.effects import forget_effect
from openslot.platform.core.events import Effect
from openslot.platform.core.work import (
    AskedToWait,
    Done,
    Expanded,
    GiveUp,
    Outcome,
    Periodic,
    Reaction,
    Skipped,
    Target,
    TryLater,
    Work,
    to_target,
)
from openslot.platform.i18n import CodedReason
from openslot.platform.jobs.each import serve_each

BOOKING_GONE = CodedReason("calendars.booking_gone", "the booking is gone")
DELAYS = tuple(
    timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 48 * 3600)
)


async def plan(work: Work, effect: Effect) -> Outcome:
    """Name the calendars that contain a booking or should contain it."""
    event = effect.event(BookingEvent)
    booking, host_ids = event.booking, [event.booking.host_id]
    if event.hosts:
        # Others may host it meanwhile: what is written is what is so now.
        with suppress(BookingNotFound):
            details = await get_booking(work, BookingRef(booking.id, None))
            host_ids = [each.user_id for each in details.hosts]
    targets = await event_store.list_targets(
        work.db, booking.id, host_ids, is_confirmed=booking.status is Status.CONFIRMED
    )
    return Expanded(tuple(_target(booking.id, calendar_id) for calendar_id in targets))


async def plan_restoring(work: Work, effect: Effect) -> Outcome:
    """Name the calendar into which a missing event is written again."""
    wanted = effect.event(CalendarRestoreWanted)
    return Expanded((_target(wanted.booking_id, wanted.calendar_id),))


async def write(work: Work, effect: Effect) -> Outcome:
    """Make a calendar show a booking as it is now, whatever an earlier try has left there."""
    booking_id, target = await _find_target(work, effect)
    if target is None:
        return Skipped(DISCONNECTED)
    try:
        details = await get_booking(work, BookingRef(booking_id, None))
    except BookingNotFound:
        return Skipped(BOOKING_GONE)
    async with _open(work, target) as server:
        if details.booking.status is Status.CONFIRMED and details.is_hosted_by(target.owner_id):
            return await _put(work, server, target, details)
        return await _remove(server, target, details)


async def _find_target(work: Work, effect: Effect) -> tuple[UUID, WriteTarget | None]:
    calendar_id, booking_id = (UUID(each) for each in (effect.target or "").split("/"))
    return booking_id, await event_store.find_target(work.db, calendar_id, booking_id)


@asynccontextmanager
async def _open(work: Work, target: WriteTarget) -> AsyncIterator[CalendarServer]:
    """Open a calendar's server; a fault of its own is a reason to try later or to give up."""
    ref = ConnectionRef(target.connection_id, target.owner_id)
    server = open_server(work.runtime, ref, target.kind, target.secret)
    try:
        yield server
    except (CalendarGone, ReadOnlyCalendar) as fault:
        raise GiveUp(fault.sentence) from None
    except CalendarFault as fault:
        if isinstance(fault, CalendarBusy) and fault.after:
            raise AskedToWait(fault.sentence, after=fault.after) from None
        raise TryLater(fault.sentence) from None
    finally:
        await server.close()


async def _put(work: Work, server: CalendarServer, target: WriteTarget, details: BookingDetails) -> Outcome:
    booking = details.booking
    ref, replaces = await _find_place(work, target, booking)
    host = MailAddress(target.host_email, target.host_name)
    event = describe_booking(details, host, booking_url(work.runtime, booking.id), is_shared=target.is_shared)
    event = replace(event, invites=target.invites)
    try:
        stored = await server.put(target.url, event, ref=ref, replaces=replaces)
    except (CalendarChanged, CalendarGone):
        # An earlier try may have written the event and died before recording it, or the host has changed or deleted it.
        present = await server.find_own(target.url, booking.uid, ref=ref)
        stored = await server.put(
            target.url,
            event,
            ref=present.ref if present else ref,
            replaces=present.version if present else None,
        )
    written = WrittenEvent(
        booking_id=booking.id,
        calendar_id=target.calendar_id,
        href=stored.ref,
        etag=stored.version,
        sequence=booking.sequence,
        starts_at=booking.starts_at,
        ends_at=booking.ends_at,
    )

    async def keep(work: Work) -> None:
        await event_store.keep_written(work.db, written)
        if target.invites:
            await event_store.settle_invitation(work.db, booking.id, booking.sequence)
        await _free_added(work, target.calendar_id, stored.ref)

    return Done(vendor_id=stored.ref[-200:], write=keep)


async def _find_place(work: Work, target: WriteTarget, booking: Booking) -> tuple[str | None, str | None]:
    """Find the place of a booking's event, and the version of what it replaces; neither if it has none yet.

    A host's mail program may have put the invitation into the same calendar: one UID has one place.
    """
    if target.written is not None:
        return target.written.href, None if target.written.missing_since else target.written.etag
    return await event_store.find_place(work.db, target.calendar_id, booking.uid) or (None, None)


async def _remove(server: CalendarServer, target: WriteTarget, details: BookingDetails) -> Outcome:
    booking = details.booking
    # Without a record the event may still exist, because a try that died has left no record.
    ref = target.written.href if target.written else None
    present = await server.find_own(target.url, booking.uid, ref=ref)
    if present is not None and present.uid == booking.uid:
        await server.delete(target.url, present.ref, replaces=present.version, tells=target.invites)
    place = present.ref if present else ref

    async def forget(work: Work) -> None:
        await event_store.forget_written(work.db, booking.id, target.calendar_id)
        if place is not None:
            await _free_added(work, target.calendar_id, place)

    return Done(vendor_id=place[-200:] if place else None, write=forget)


async def _free_added(work: Work, calendar_id: UUID, href: str) -> None:
    """Free at once what the host had added to an event that we have written or removed."""
    await replace_busy_spans(work, calendar_id, {href: ()})
    await event_store.reread_object(work.db, calendar_id, href)


async def read(work: Work, effect: Effect) -> Outcome:
    """Read a connection, and plan the next reading."""
    connection_id = UUID(effect.plan(str))
    fault = await sync_connection(work.runtime, connection_id)
    if fault is not None:
        raise TryLater(fault)

    async def plan_next(work: Work) -> None:
        await forget_effect(work.db, effect.id)
        await operations.plan_sync(work, connection_id)

    return Done(write=plan_next)


def to_calendar(_: Work, effect: Effect) -> Destination:
    """Write to a calendar on behalf of its owner."""
    return Destination((effect.target or "").partition("/")[0], effect.tenant_id)


def _target(booking_id: UUID, calendar_id: UUID) -> Target:
    lane = f"{WRITE_LANE}:{booking_id}@{calendar_id}"
    return Target(reaction=WRITE, target=f"{calendar_id}/{booking_id}", lane=lane)


CALENDAR_REACTIONS = (
    Reaction(
        name=PLAN,
        on=(BookingCreated, BookingRescheduled, BookingReassigned, BookingCancelled, BookingLinkAdded),
        run=plan,
        lane=LANE,
        wanted_if=event_store.HAS_CALENDARS,
    ),
    Reaction(name="calendars.plan_restoring", on=(CalendarRestoreWanted,), run=plan_restoring),
    Reaction(name=WRITE, run=write, delays=DELAYS, collapses=True, destination=to_calendar),
    Reaction(name=READ, run=read, delays=PAUSES, destination=to_target),
)


MOST = 1_000
PLAN_FORGOTTEN = "calendars.plan"


async def plan_forgotten(work: Work) -> str:
    """Plan the reading of calendar connections that are due and have no planned effect."""
    forgotten = await store.list_forgotten(work.db, operations.READ, now=work.now, limit=MOST)
    await serve_each(work, PLAN_FORGOTTEN, forgotten, partial(operations.plan_sync, work))
    return f"{len(forgotten)} calendar connections planned"


CALENDAR_JOBS = (Periodic(name=PLAN_FORGOTTEN, expression="* * * * *", run=plan_forgotten),)
