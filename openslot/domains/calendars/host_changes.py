"""Two-way: what the host does to a booking's event is done to the booking, or the host is told why not, or asked."""

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import structlog
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.availability.operations import replace_busy_spans
from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.models import CALENDAR_CHANGED, Booking, BookingDetails, BookingRef, Status
from openslot.domains.bookings.operations import cancel_booking, get_booking, get_booking_for_change, reschedule_booking
from openslot.domains.bookings.rules import CALENDAR, is_over
from openslot.domains.calendars import event_store, rules
from openslot.domains.calendars.errors import NOT_ORGANIZER, SEVERAL_HOSTS
from openslot.domains.calendars.events import CalendarChangeRefused, CalendarEventsMissing
from openslot.domains.calendars.models import Calendar, CalendarConnection, MissingEvent, WrittenEvent
from openslot.domains.calendars.ports import RemoteEvent
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.work import Runtime, Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import is_enabled
from openslot.platform.i18n import keep

LANE, WRITE_LANE = "calendars", "calendars:write"

log = structlog.get_logger()


class RemoteChanges(Struct, frozen=True, kw_only=True):
    """What a sync has seen of our own bookings in one calendar."""

    calendar: Calendar
    written: Mapping[UUID, WrittenEvent]
    """Bookings as they were last written into it before it was read."""
    seen: tuple[RemoteEvent, ...]
    removed: tuple[str, ...]
    left: int
    """How many events the calendar has now."""

    def are_older(self, kept: WrittenEvent) -> bool:
        """Return whether we have written a booking since: what was seen may be what we have replaced."""
        return kept != self.written.get(kept.booking_id)


def calendar_actor(connection: CalendarConnection) -> Actor:
    return Actor(kind=ActorKind.SYSTEM, user_id=connection.owner_id, agent=CALENDAR, credential_id=connection.id)


async def follow(runtime: Runtime, connection: CalendarConnection, changes: RemoteChanges) -> None:
    """Apply what has happened to bookings in one calendar, each in its own transaction, unless that is switched off."""
    work = runtime.work(calendar_actor(connection))
    if not await is_enabled(work, FlagKey.CALENDAR_TWO_WAY, user_id=connection.owner_id):
        return
    written = await event_store.list_written(runtime.pool, changes.calendar.id, [each.ref for each in changes.seen])
    by_place = {each.href: each for each in written}
    for event in changes.seen:
        if event.ref in by_place:
            await _follow_move(runtime, connection, changes, by_place[event.ref], event)
    gone = await event_store.list_written(runtime.pool, changes.calendar.id, changes.removed)
    if gone:
        await _follow_removal(runtime, connection, changes, gone)


async def _follow_move(
    runtime: Runtime,
    connection: CalendarConnection,
    changes: RemoteChanges,
    written: WrittenEvent,
    event: RemoteEvent,
) -> None:
    async with runtime.transaction(calendar_actor(connection)) as work:
        found = await _find_current(work, connection, written)
        if found is None:
            return
        details, kept = found
        booking, calendar, wanted = details.booking, changes.calendar, event.starts_at
        is_new = rules.is_moved(event, booking, kept) and wanted != kept.refused_start
        if (is_new or not event.is_live) and changes.are_older(kept):
            await event_store.reread_calendar(work.db, calendar.id, event.ref, booking.uid)
            return
        if not event.is_live:
            await _cancel(work, connection, details, kept)
            return
        refused = await _move(work, connection, details, wanted) if is_new else None
        await event_store.update_written(
            work.db,
            booking.id,
            kept.calendar_id,
            etag=event.version,
            refused_start=refused or (wanted if wanted == kept.refused_start else None),
        )
        if calendar.is_busy:
            # The booking may have another time than when its calendar was read.
            own = await event_store.find_own(work.db, connection.owner_id, calendar.id, [booking.id], since=work.now)
            time, place = own[booking.id], event.ref
            spans = {place: time.find_added(event.spans)}
            await replace_busy_spans(work, calendar.id, spans, of_claims={place: time.claim})


async def _follow_removal(
    runtime: Runtime, connection: CalendarConnection, changes: RemoteChanges, gone: list[WrittenEvent]
) -> None:
    vanished: list[WrittenEvent] = []
    for written in gone:
        async with runtime.transaction(calendar_actor(connection)) as work:
            found = await _find_current(work, connection, written)
            if found is None:
                continue
            booking, kept = found[0].booking, found[1]
            if changes.are_older(kept):
                await event_store.reread_calendar(work.db, kept.calendar_id, kept.href, booking.uid)
            elif not await event_store.adopt_written(work.db, booking.id, kept.calendar_id, booking.uid):
                vanished.append(kept)
    if rules.are_to_be_asked(vanished, left=changes.left, removed=len(changes.removed)):
        await _ask(runtime, connection, changes.calendar, vanished)
        return
    for written in vanished:
        async with runtime.transaction(calendar_actor(connection)) as work:
            found = await _find_current(work, connection, written)
            if found is not None and found[1] == written:
                await _cancel(work, connection, *found)


async def _find_current(
    work: Work, connection: CalendarConnection, written: WrittenEvent
) -> tuple[BookingDetails, WrittenEvent] | None:
    """Look a booking up under its lock; None if it can't be changed, or a write of our own is on its way."""
    # Somebody else may host it meanwhile, or its host may have left the organization.
    ref = BookingRef(written.booking_id, None, by=connection.owner_id)
    try:
        await get_booking_for_change(work, ref)
        # What others have written while this waited is seen by the next statement.
        details = await get_booking(work, ref)
    except BookingNotFound:
        return None
    kept = await event_store.lock_written(work.db, written.booking_id, written.calendar_id)
    if kept is None:
        return None
    # Our own writes of a booking wait in these lanes.
    lanes = [f"{LANE}:booking:{kept.booking_id}", f"{WRITE_LANE}:{kept.booking_id}@{kept.calendar_id}"]
    if await event_store.is_on_its_way(work.db, lanes):
        return None
    # Who owns a team's event type may change its bookings, but not by a calendar that is none of a host's.
    if not details.is_hosted_by(connection.owner_id):
        return None
    if details.booking.status is not Status.CONFIRMED or is_over(details.booking, now=work.now):
        return None
    return details, kept


async def _move(
    work: Work, connection: CalendarConnection, details: BookingDetails, wanted: datetime | None
) -> datetime | None:
    """Move a booking to where its host has moved the event; return the start if that is refused.

    Of several hosts only the organizer moves it.
    """
    booking = details.booking
    if wanted is None:
        return None
    if details.hosts and details.hosts[0].user_id != connection.owner_id:
        await _refuse(work, connection, booking, wanted, NOT_ORGANIZER)
        return wanted
    try:
        async with work.attempt():
            await reschedule_booking(work, BookingRef(booking.id, booking.host_id), wanted, reason=CALENDAR_CHANGED)
    except Refusal as refusal:
        await _refuse(work, connection, booking, wanted, _find_reason(refusal))
        return wanted
    return None


async def _cancel(work: Work, connection: CalendarConnection, details: BookingDetails, kept: WrittenEvent) -> None:
    """Cancel a booking whose event is gone; one of several hosts can't cancel it for all by this, and is asked."""
    booking = details.booking
    if len(details.hosts) > 1:
        await event_store.mark_missing(work.db, kept.calendar_id, [booking.id], now=work.now)
        await _refuse(work, connection, booking, None, SEVERAL_HOSTS)
        return
    try:
        async with work.attempt():
            await cancel_booking(work, BookingRef(booking.id, booking.host_id), reason=CALENDAR_CHANGED)
    except Refusal as refusal:
        await event_store.mark_missing(work.db, kept.calendar_id, [booking.id], now=work.now)
        await _refuse(work, connection, booking, None, _find_reason(refusal))


def _find_reason(refusal: Refusal) -> str:
    return "; ".join((refusal.details or {}).values()) or refusal.sentence


async def _refuse(
    work: Work, connection: CalendarConnection, booking: Booking, wanted: datetime | None, reason: str
) -> None:
    await work.record(
        CalendarChangeRefused(**connection.identity, booking_id=booking.id, wanted_start=wanted, reason=keep(reason))
    )


async def _ask(
    runtime: Runtime, connection: CalendarConnection, calendar: Calendar, vanished: list[WrittenEvent]
) -> None:
    booking_ids = tuple(each.booking_id for each in vanished)
    log.warning("events of bookings have disappeared together", bookings=len(booking_ids))
    async with runtime.transaction(calendar_actor(connection)) as work:
        await event_store.mark_missing(work.db, calendar.id, booking_ids, now=work.now)
        await work.record(CalendarEventsMissing(**connection.identity, booking_ids=booking_ids))


class Decision(StrEnum):
    """What is to be done with bookings whose events have disappeared."""

    CANCEL = "cancel"
    RESTORE = "restore"


async def list_missing_events(work: Work, owner: User) -> list[MissingEvent]:
    """List the upcoming bookings whose events have disappeared and about which the host was asked."""
    return await event_store.list_missing(work.db, owner.id, now=work.now)


async def decide_missing_events(
    work: Work, owner: User, decision: Decision, booking_ids: Collection[UUID] | None = None
) -> int:
    """Cancel these bookings, or all that are asked about, or write their events again; return how many there were."""
    asked = {each.booking_id for each in await list_missing_events(work, owner)}
    chosen = asked if booking_ids is None else set(booking_ids)
    if not chosen <= asked:
        raise Invalid(details={"booking": "is not among the bookings whose events disappeared"})
    for booking_id in sorted(chosen):
        if decision is Decision.CANCEL:
            await cancel_booking(work, BookingRef(booking_id, None, by=owner.id), reason=CALENDAR_CHANGED)
        else:
            for wanted in await event_store.list_restorable(work.db, owner.id, booking_id):
                await work.record(wanted)
    return len(chosen)
