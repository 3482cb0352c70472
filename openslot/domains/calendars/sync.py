"""Reads a connection: its events become busy spans, and the host's changes to bookings are applied."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from openslot.domains.availability.operations import close_sources_after, forget_past_spans, replace_busy_spans
from openslot.domains.calendars import event_store, operations, rules, store
from openslot.domains.calendars.channels import keep_channels
from openslot.domains.calendars.errors import (
    MISSING,
    SLOW,
    TOO_LARGE,
    TOO_MANY_EVENTS,
    CalendarConsentNeeded,
    CalendarFault,
    CalendarForbidden,
    CalendarGone,
    CalendarSignInFailed,
    CalendarUnreachable,
    CalendarUnreadable,
)
from openslot.domains.calendars.events import CalendarBroken, CalendarRecovered
from openslot.domains.calendars.host_changes import RemoteChanges, follow
from openslot.domains.calendars.models import Calendar, ConnectionRef, KeptObject, Lease, OwnTime
from openslot.domains.calendars.ports import CalendarServer, RemoteEvent, Scope
from openslot.domains.calendars.servers import open_server
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import new_id
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import keep

# Waiting does not help with these faults: the owner has to act.
FINAL = (CalendarSignInFailed, CalendarForbidden, CalendarConsentNeeded)
WITHIN = timedelta(minutes=4)
LOOK_EVERY = timedelta(milliseconds=100)
BATCH = 500
# Of the texts of repeating events, which letters of other alphabets make longer than they are in memory.
MAX_EVENTS, MAX_BYTES = 50_000, 200 * 1024 * 1024

OpenServer = Callable[[Runtime, ConnectionRef, str, bytes], CalendarServer]
log = structlog.get_logger()


class LeaseLost(CalendarFault):
    """Another process has begun to read the connection, or it was disconnected."""


async def sync_connection(
    runtime: Runtime,
    connection_id: UUID,
    *,
    unread_since: datetime | None = None,
    open_server: OpenServer = open_server,
) -> str | None:
    """Read a connection now; return its fault, or None, also if another process is reading it or has since then."""
    async with runtime.transaction(SYSTEM) as work:
        until = work.now + rules.LEASE
        lease = await store.find_lease(
            work.db, connection_id, new_id(), now=work.now, until=until, unread_since=unread_since
        )
    if lease is None:
        return None
    structlog.contextvars.bind_contextvars(calendar_connection=str(connection_id))
    try:
        async with asyncio.timeout(WITHIN.total_seconds()):
            sightings = await _read(runtime, lease, open_server)
    except LeaseLost:
        return None
    except (CalendarFault, TimeoutError) as fault:
        message = SLOW if isinstance(fault, TimeoutError) else fault.sentence
        await _keep_failure(runtime, lease, message, is_final=isinstance(fault, FINAL))
        return message
    for changes in sightings:
        await follow(runtime, lease.connection, changes)
    await keep_channels(runtime, lease.connection)
    return None


async def sync_and_wait(
    runtime: Runtime, connection_id: UUID, *, since: datetime, patience: timedelta = rules.LEASE
) -> bool:
    """Read a connection, or wait while another process does; False if no reading since then has ended in time."""
    until = asyncio.get_running_loop().time() + patience.total_seconds()
    while not await store.was_read(runtime.pool, connection_id, since=since):
        if asyncio.get_running_loop().time() >= until:
            return False
        await sync_connection(runtime, connection_id, unread_since=since)
        await asyncio.sleep(LOOK_EVERY.total_seconds())
    return True


async def _read(runtime: Runtime, lease: Lease, open_server: OpenServer) -> list[RemoteChanges]:
    connection = lease.connection
    server = open_server(runtime, ConnectionRef(connection.id, connection.owner_id), connection.kind, lease.secret)
    try:
        calendars, own_addresses = await _refresh(runtime, lease, server)
        addresses = own_addresses | {fold_ascii(lease.owner_email)}
        sightings = [
            await _read_calendar(runtime, lease, server, calendar, addresses)
            for calendar in calendars
            if calendar.is_busy or calendar.receives
        ]
    finally:
        await server.close()
    await _keep_success(runtime, lease, calendars, sorted(own_addresses))
    return sightings


async def _refresh(runtime: Runtime, lease: Lease, server: CalendarServer) -> tuple[list[Calendar], frozenset[str]]:
    """Bring calendars and addresses up to date once an hour; a calendar that mattered and is gone is a fault."""
    listed_at = lease.connection.listed_at
    if listed_at is not None and runtime.clock() - listed_at < rules.LIST_EVERY:
        return list(lease.connection.calendars), frozenset(lease.connection.addresses)
    found, addresses = await server.list_calendars(), await server.list_addresses()
    places = {each.ref for each in found}
    gone = [calendar for calendar in lease.connection.calendars if calendar.url not in places]
    if any(calendar.is_busy or calendar.receives for calendar in gone):
        names = ", ".join(calendar.name for calendar in gone if calendar.is_busy or calendar.receives)
        raise CalendarUnreachable(MISSING.fill(name=names))
    async with runtime.transaction(SYSTEM) as work:
        await _check_lease(work, lease)
        await store.delete_calendars(work.db, [calendar.id for calendar in gone])
        await store.keep_listed(work.db, lease.connection.id, now=work.now)
        return await operations.keep_calendars(work, lease.connection, found), addresses


async def _read_calendar(
    runtime: Runtime, lease: Lease, server: CalendarServer, calendar: Calendar, addresses: frozenset[str]
) -> RemoteChanges:
    now = runtime.clock()
    scope = Scope(zone=get_zone(lease.zone), addresses=addresses, first=now - rules.BEHIND, last=now + rules.AHEAD)
    known = await event_store.read_known(runtime.pool, calendar.id)
    written = await event_store.read_written(runtime.pool, calendar.id, now=now)
    try:
        changes = await server.list_changes(calendar.url, cursor=calendar.state, known=known, scope=scope)
    except CalendarGone:
        raise CalendarUnreachable(MISSING.fill(name=calendar.name)) from None
    read = changes.changed
    again = await _expand_again(runtime, server, calendar, scope, {each.ref for each in read})
    named = (rules.find_booking_id(each.uid) for each in (*read, *(again or ())))
    booking_ids = [each for each in named if each is not None]
    own = await event_store.find_own(runtime.pool, lease.connection.owner_id, calendar.id, booking_ids, since=now)
    async with runtime.transaction(SYSTEM) as work:
        await _check_lease(work, lease)
        await _keep(work, calendar, read, changes.removed, own)
        if calendar.is_busy and again is not None:
            await _replace_spans(work, calendar, again, own)
            await forget_past_spans(work, calendar.id, before=scope.first)
        expanded_at = now if again is not None else None
        left, bytes_ = await event_store.keep_read(work.db, calendar.id, state=changes.cursor, expanded_at=expanded_at)
        # A reading brings no more either, but every one of them may bring others.
        if left > MAX_EVENTS:
            raise CalendarUnreadable(TOO_MANY_EVENTS.fill(count=MAX_EVENTS))
        if bytes_ > MAX_BYTES:
            raise CalendarUnreadable(TOO_LARGE.fill(size=MAX_BYTES >> 20))
    return RemoteChanges(
        calendar=calendar,
        written=written,
        seen=tuple(each for each in read if rules.find_booking_id(each.uid) in own),
        removed=changes.removed,
        left=left,
    )


async def _keep(
    work: Work, calendar: Calendar, read: Sequence[RemoteEvent], removed: Sequence[str], own: Mapping[UUID, OwnTime]
) -> None:
    for start in range(0, len(read), BATCH):
        some = read[start : start + BATCH]
        await event_store.keep_objects(work.db, calendar.id, [_kept(each) for each in some])
        if calendar.is_busy:
            await _replace_spans(work, calendar, some, own)
    if removed:
        await event_store.delete_objects(work.db, calendar.id, removed)
        await replace_busy_spans(work, calendar.id, dict.fromkeys(removed, ()))


async def _replace_spans(
    work: Work, calendar: Calendar, read: Sequence[RemoteEvent], own: Mapping[UUID, OwnTime]
) -> None:
    """Write when events keep the host busy; a booking's own event does so only outside of the booking's time."""
    spans, of_claims = {}, {}
    for each in read:
        spans[each.ref] = list(each.spans)
        booking_id = rules.find_booking_id(each.uid)
        if booking_id is not None and (time := own.get(booking_id)) is not None:
            spans[each.ref] = time.find_added(each.spans)
            of_claims[each.ref] = time.claim
    await replace_busy_spans(work, calendar.id, spans, of_claims=of_claims)


async def _expand_again(
    runtime: Runtime, server: CalendarServer, calendar: Calendar, scope: Scope, fresh: set[str]
) -> list[RemoteEvent] | None:
    """Expand recurring events once a day into the days that have come within the scope."""
    is_due = calendar.expanded_at is None or runtime.clock() - calendar.expanded_at >= rules.EXPAND_EVERY
    if not calendar.is_busy or not is_due:
        return None
    kept = await event_store.list_series(runtime.pool, calendar.id)
    return await server.expand([each for each in kept if each.ref not in fresh], scope)


def _kept(read: RemoteEvent) -> KeptObject:
    return KeptObject(
        href=read.ref,
        etag=read.version,
        uid=read.uid,
        repeats=read.series is not None,
        is_unread=read.is_unread,
        text=read.series,
    )


async def _check_lease(work: Work, lease: Lease) -> None:
    if not await store.hold_lease(work.db, lease):
        raise LeaseLost("somebody else reads the connection")


async def _keep_success(
    runtime: Runtime, lease: Lease, calendars: Sequence[Calendar], addresses: Sequence[str]
) -> None:
    connection = lease.connection
    async with runtime.transaction(SYSTEM) as work:
        await _check_lease(work, lease)
        next_at = rules.next_sync(0, now=work.now)
        await store.keep_success(work.db, lease, addresses, now=work.now, next_at=next_at, soon=rules.AT_MOST_EVERY)
        sources = [calendar.id for calendar in calendars if calendar.is_busy]
        await close_sources_after(work, sources, rules.closes_at(connection, synced_at=work.now, failed_at=None))
        if connection.told_at is not None:
            await work.record(CalendarRecovered(**connection.identity))


async def _keep_failure(runtime: Runtime, lease: Lease, error: str, *, is_final: bool) -> None:
    """Write that a connection can't be read, close its owner if that is the policy, and notify the owner once."""
    connection = lease.connection
    log.info("calendar can't be read", error=error)
    async with runtime.transaction(SYSTEM) as work:
        if not await store.hold_lease(work.db, lease):
            return
        since = connection.failing_since or work.now
        failures = connection.failures + 1
        is_told = rules.is_to_be_told(connection, now=work.now, is_final=is_final)
        closes_at = rules.closes_at(connection, synced_at=connection.synced_at, failed_at=since)
        await store.keep_failure(
            work.db,
            lease,
            keep(error)[:1000],
            failing_since=since,
            failures=failures,
            next_at=rules.next_sync(failures, now=work.now),
            told_at=work.now if is_told else connection.told_at,
        )
        await close_sources_after(work, connection.busy_ids, closes_at)
        if is_told:
            broken = CalendarBroken(**connection.identity, reason=keep(error)[:1000], since=since, closes_at=closes_at)
            await work.record(broken)
