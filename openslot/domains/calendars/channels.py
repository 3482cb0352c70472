"""Push channels of calendars: notices make a connection due earlier; polling is complete without them.

Google's channels and Microsoft's subscriptions are kept alike; what is a vendor's own is with the vendor.
"""

import asyncio
import hmac
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from msgspec import Struct

from openslot.domains.calendars import operations, rules, store
from openslot.domains.calendars.errors import CalendarFault, CalendarGone, CalendarNoticeRefused
from openslot.domains.calendars.models import CalendarChannel, CalendarConnection, ConnectionRef
from openslot.domains.calendars.ports import PushServer, WantedChannel, Watch
from openslot.domains.calendars.servers import CalendarServers
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.work import Runtime, Work

WITHIN = timedelta(seconds=60)
# Somebody waits for the page.
STOP_WITHIN = timedelta(seconds=5)
# Microsoft allows less than seven days.
LASTS, LONGEST = timedelta(days=6, hours=23), timedelta(days=30)
RENEW_BEFORE = timedelta(days=1)
# A server that refuses a channel, or has not answered, is not asked again before.
RETRY_AFTER = timedelta(hours=6)
RENEW_AGAIN_AFTER = timedelta(hours=1)

log = structlog.get_logger()


class NewChannel(Struct, frozen=True):
    channel: CalendarChannel
    calendar: str
    token: str


async def keep_channels(runtime: Runtime, read: CalendarConnection) -> None:
    """Let each calendar that is read have one channel: prolong or make what ends soon or is missing, stop the others.

    The server is asked here, after the calendars were read; if it refuses, they are read every five minutes as before.
    """
    if not runtime.settings.public_url.startswith("https://"):
        return
    work = runtime.work(SYSTEM)
    connection = await store.find_connection(work.db, ConnectionRef(read.id))
    if connection is None or await _is_complete(work, connection):
        return
    server = runtime.ports.get(CalendarServers).open_push(runtime, connection)
    if server is None:
        return
    try:
        async with asyncio.timeout(WITHIN.total_seconds()):
            for due in await _list_due(work, connection):
                await _renew(runtime, server, due)
            for made in await _add_missing(runtime, connection):
                await _watch(runtime, server, connection, made)
            await _stop_unneeded(runtime, server, connection)
    except TimeoutError:
        log.info("calendars can't be watched in time", calendar_connection=str(read.id))
    finally:
        await server.close()


async def disconnect(work: Work, ref: ConnectionRef) -> None:
    """Delete a connection after its server was asked to stop its notices; that it can't be asked does not matter.

    The server is contacted before a transaction is opened here, so the work must begin without one.
    """
    connection = await operations.get_calendar_connection(work, ref)
    await _stop_all(work, connection)
    async with work.transaction():
        await operations.disconnect(work, ref)


async def get_channel(work: Work, channel_id: UUID) -> CalendarChannel:
    """Return a channel that has not ended, or refuse."""
    channel = await store.find_channel(work.db, channel_id)
    if channel is None or channel.expires_at <= work.now:
        raise CalendarNoticeRefused
    return channel


def has_token(channel: CalendarChannel, token: str) -> bool:
    """Return whether a notice has the token of its channel."""
    return hmac.compare_digest(fingerprint(token), channel.token_hash)


async def read_soon(
    work: Work, channel: CalendarChannel, *, number: int | None = None, is_renewed: bool = False
) -> None:
    """Make the connection of a channel due; a notice with a number that was seen before changes nothing."""
    async with work.transaction():
        # In the order in which a reading locks them.
        await operations.get_calendar_connection(work, ConnectionRef(channel.connection_id), lock=True)
        if not await store.keep_notice(work.db, channel.id, number, now=work.now):
            return
        if is_renewed:
            # By the reading, once it has ended.
            await store.plan_renewal(work.db, channel.id, at=work.now)
        await _plan(work, channel)


async def replace_soon(work: Work, channel: CalendarChannel) -> None:
    """Forget a channel that the server has ended; the next reading, which is made due, has another one made."""
    async with work.transaction():
        await operations.get_calendar_connection(work, ConnectionRef(channel.connection_id), lock=True)
        await store.delete_channels(work.db, [channel.id])
        await _plan(work, channel)


async def _plan(work: Work, channel: CalendarChannel) -> None:
    if await store.read_soon(work.db, channel.connection_id, now=work.now, every=rules.AT_MOST_EVERY):
        await operations.plan_sync(work, channel.connection_id)


def _list_watched(connection: CalendarConnection) -> dict[UUID, str]:
    return {each.id: each.url for each in connection.calendars if each.is_busy or each.receives}


async def _is_complete(work: Work, connection: CalendarConnection) -> bool:
    present, watched = await _list_by_calendar(work, connection), _list_watched(connection)
    has_all = all(_is_good(present[calendar_id], work.now) for calendar_id in watched)
    return has_all and sum(map(len, present.values())) == len(watched)


def _is_good(channels: Iterable[CalendarChannel], now: datetime) -> bool:
    """Return whether a calendar needs no other channel yet."""
    return any(now < min(each.renew_at, each.expires_at) for each in channels)


async def _list_due(work: Work, connection: CalendarConnection) -> list[CalendarChannel]:
    """List what is to be prolonged: channels that the server has confirmed and that have not ended."""
    watched = _list_watched(connection)
    return [
        each
        for each in await store.list_channels(work.db, connection.id)
        if each.calendar_id in watched and each.resource_id and each.renew_at <= work.now < each.expires_at
    ]


async def _add_missing(runtime: Runtime, read: CalendarConnection) -> list[NewChannel]:
    """Write channels before the server is asked for them, because their first notice may come before its answer."""
    made: list[NewChannel] = []
    async with runtime.transaction(SYSTEM) as work:
        connection = await store.find_connection(work.db, ConnectionRef(read.id), lock=True)
        present = await _list_by_calendar(work, read)
        for calendar_id, url in _list_watched(connection).items() if connection else ():
            channels = present[calendar_id]
            if _is_good(channels, work.now):
                continue
            useless = [each.id for each in channels if not each.resource_id or each.expires_at <= work.now]
            await store.delete_channels(work.db, useless)
            token = new_token()
            channel = CalendarChannel(
                id=new_id(),
                connection_id=read.id,
                calendar_id=calendar_id,
                token_hash=fingerprint(token),
                expires_at=work.now + LASTS,
                renew_at=work.now + RETRY_AFTER,
                created_at=work.now,
            )
            await store.insert_channel(work.db, channel)
            made.append(NewChannel(channel, url, token))
    return made


async def _list_by_calendar(work: Work, connection: CalendarConnection) -> dict[UUID, list[CalendarChannel]]:
    found: dict[UUID, list[CalendarChannel]] = defaultdict(list)
    for each in await store.list_channels(work.db, connection.id):
        found[each.calendar_id].append(each)
    return found


async def _renew(runtime: Runtime, server: PushServer, channel: CalendarChannel) -> None:
    now = runtime.clock()
    try:
        expires_at = await server.renew(channel, until=now + LASTS)
    except CalendarGone:
        async with runtime.transaction(SYSTEM) as work:
            await store.delete_channels(work.db, [channel.id])
    except CalendarFault as fault:
        log.info("a channel can't be prolonged", channel=str(channel.id), error=fault.message)
        async with runtime.transaction(SYSTEM) as work:
            await store.plan_renewal(work.db, channel.id, at=now + RENEW_AGAIN_AFTER)
    else:
        if expires_at is not None:
            await _confirm(runtime, channel, Watch(channel.resource_id, expires_at), now)


async def _watch(runtime: Runtime, server: PushServer, connection: CalendarConnection, made: NewChannel) -> None:
    now = runtime.clock()
    wanted = WantedChannel(
        channel_id=made.channel.id,
        calendar=made.calendar,
        address=f"{runtime.settings.public_url}/api/notices/{connection.kind}/{made.channel.id}",
        token=made.token,
        now=now,
        until=now + LASTS,
    )
    try:
        found = await server.watch(wanted)
    except CalendarFault as fault:
        log.info("a calendar can't be watched", calendar=str(made.channel.calendar_id), error=fault.message)
        return
    await _confirm(runtime, made.channel, found, now)


async def _confirm(runtime: Runtime, channel: CalendarChannel, found: Watch, now: datetime) -> None:
    """Believe what the server says of the end of a channel, within reason."""
    expires_at = min(found.expires_at, now + LONGEST)
    # One that lasts for less than a day is not renewed with each reading.
    renew_at = max(expires_at - RENEW_BEFORE, now + (expires_at - now) / 2)
    async with runtime.transaction(SYSTEM) as work:
        await store.confirm_channel(work.db, channel.id, Watch(found.resource_id, expires_at), renew_at=renew_at)


async def _stop_unneeded(runtime: Runtime, server: PushServer, connection: CalendarConnection) -> None:
    """Stop the channels that a newer one has replaced, and those of calendars that are not read any more."""
    present = await _list_by_calendar(runtime.work(SYSTEM), connection)
    watched = _list_watched(connection)
    for calendar_id, channels in present.items():
        confirmed = [each for each in channels if each.resource_id]
        kept = confirmed[-1:] if calendar_id in watched else []
        for each in channels if calendar_id not in watched else confirmed:
            if each in kept:
                continue
            if each.resource_id:
                await _stop(server, each)
            async with runtime.transaction(SYSTEM) as work:
                await store.delete_channels(work.db, [each.id])


async def _stop_all(work: Work, connection: CalendarConnection) -> None:
    present = [each for each in await store.list_channels(work.db, connection.id) if each.resource_id]
    server = work.runtime.ports.get(CalendarServers).open_push(work.runtime, connection) if present else None
    if server is None:
        return
    try:
        async with asyncio.timeout(STOP_WITHIN.total_seconds()):
            for each in present:
                await _stop(server, each)
    except TimeoutError:
        log.info("channels can't be stopped in time", calendar_connection=str(connection.id))
    finally:
        await server.close()


async def _stop(server: PushServer, channel: CalendarChannel) -> None:
    try:
        await server.stop(channel)
    except CalendarFault as fault:
        # It ends by itself, and its notices are refused until then.
        log.info("a channel can't be stopped", channel=str(channel.id), error=fault.message)
