"""Push channels of Google calendars: notices make a connection due earlier; polling is complete without them."""

import asyncio
import hmac
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from msgspec import Struct

from openslot.core.actor import SYSTEM
from openslot.core.ids import fingerprint, new_id, new_token
from openslot.core.work import Runtime, Work
from openslot.integrations.calendars import operations, rules, store
from openslot.integrations.calendars.errors import CalendarFault, CalendarNoticeRefused
from openslot.integrations.calendars.google_client import GoogleClient, path_of
from openslot.integrations.calendars.models import (
    CalendarChannel,
    CalendarConnection,
    ConnectionKind,
    ConnectionRef,
)
from openslot.integrations.oauth.operations import GrantTokens

WITHIN = timedelta(seconds=60)
LASTS, LONGEST = timedelta(days=7), timedelta(days=30)
RENEW_BEFORE = timedelta(days=1)
# A server that refuses a channel, or has not answered, is not asked again before.
RETRY_AFTER = timedelta(hours=6)
LONGEST_RESOURCE = 500

log = structlog.get_logger()


class WatchAnswer(Struct, frozen=True, rename="camel"):
    resource_id: str
    expiration: str = ""


class NewChannel(Struct, frozen=True):
    channel: CalendarChannel
    calendar: str
    token: str


class ChannelNotice(Struct, frozen=True, kw_only=True):
    """What the headers of a notice say."""

    channel_id: str
    token: str
    resource_id: str
    state: str
    number: str


async def keep_channels(runtime: Runtime, read: CalendarConnection) -> None:
    """Let each calendar that is read have one channel: make what is missing or expires soon, then stop the others.

    Google is asked here, after the calendars were read; if it refuses, they are read every five minutes as before.
    """
    if read.kind is not ConnectionKind.GOOGLE or not runtime.settings.public_url.startswith("https://"):
        return
    async with runtime.transaction(SYSTEM) as work:
        connection = await store.find_connection(work.db, ConnectionRef(read.id), lock=True)
        if connection is None:
            return
        made = await _add_missing(work, connection)
        has_others = len(await store.list_channels(work.db, read.id)) > len(_list_watched(connection))
    if not made and not has_others:
        return
    outbound = runtime.outbound.on_behalf_of(connection.owner_id)
    client = GoogleClient(outbound, runtime.settings.google_api_url, GrantTokens(runtime, connection.id))
    try:
        async with asyncio.timeout(WITHIN.total_seconds()):
            for each in made:
                await _watch(runtime, client, each)
            await _stop_unneeded(runtime, client, connection)
    except TimeoutError:
        log.info("calendars can't be watched in time", calendar_connection=str(read.id))
    finally:
        await client.close()


async def receive_notice(work: Work, channel_id: UUID, notice: ChannelNotice) -> None:
    """Verify a notice by its channel's token, and make the connection due; one that was seen before changes nothing."""
    channel = await store.find_channel(work.db, channel_id)
    is_ours = (
        channel is not None
        and hmac.compare_digest(fingerprint(notice.token), channel.token_hash)
        and notice.channel_id == str(channel.id)
        and channel.resource_id in {"", notice.resource_id}
        and channel.expires_at > work.now
    )
    if channel is None or not is_ours or not notice.number.isdecimal() or len(notice.number) > 18:
        raise CalendarNoticeRefused
    # The first one says only that the channel was made.
    if notice.state == "sync":
        return
    async with work.transaction():
        # In the order in which a reading locks them.
        await operations.get_connection(work, ConnectionRef(channel.connection_id), lock=True)
        is_new = await store.keep_notice(work.db, channel.id, int(notice.number), now=work.now)
        if is_new and await store.read_soon(work.db, channel.connection_id, now=work.now, every=rules.AT_MOST_EVERY):
            await operations.plan_sync(work, channel.connection_id)


def _list_watched(connection: CalendarConnection) -> dict[UUID, str]:
    return {each.id: each.url for each in connection.calendars if each.is_busy or each.receives}


async def _add_missing(work: Work, connection: CalendarConnection) -> list[NewChannel]:
    """Write channels before the server is asked for them, because their first notice may come before its answer."""
    present = await _list_by_calendar(work, connection)
    made: list[NewChannel] = []
    for calendar_id, url in _list_watched(connection).items():
        channels = present[calendar_id]
        if any(_is_good(each, work.now) for each in channels):
            continue
        useless = [each.id for each in channels if not each.resource_id or each.expires_at <= work.now]
        await store.delete_channels(work.db, useless)
        token = new_token()
        channel = CalendarChannel(
            id=new_id(),
            connection_id=connection.id,
            calendar_id=calendar_id,
            token_hash=fingerprint(token),
            expires_at=work.now + LASTS,
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


def _is_good(channel: CalendarChannel, now: datetime) -> bool:
    """Return whether no other channel is needed yet."""
    if channel.resource_id:
        return channel.expires_at - now > RENEW_BEFORE
    return now - channel.created_at < RETRY_AFTER


async def _watch(runtime: Runtime, client: GoogleClient, made: NewChannel) -> None:
    now = runtime.clock()
    body = {
        "id": str(made.channel.id),
        "type": "web_hook",
        "address": f"{runtime.settings.public_url}/api/notices/google/{made.channel.id}",
        "token": made.token,
        "params": {"ttl": str(int(LASTS.total_seconds()))},
    }
    try:
        answer = await client.write("POST", f"{path_of(made.calendar)}/watch", WatchAnswer, body, query={})
    except CalendarFault as fault:
        log.info("a calendar can't be watched", calendar=str(made.channel.calendar_id), error=fault.message)
        return
    if not 0 < len(answer.resource_id) <= LONGEST_RESOURCE or not answer.resource_id.isprintable():
        return
    async with runtime.transaction(SYSTEM) as work:
        expires_at = _read_expiry(answer.expiration, now)
        await store.confirm_channel(work.db, made.channel.id, answer.resource_id, expires_at=expires_at)


def _read_expiry(milliseconds: str, now: datetime) -> datetime:
    """Believe what the server says of the end of a channel, within reason."""
    if not milliseconds.isdecimal() or len(milliseconds) > 15:
        return now + LASTS
    said = datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
    return min(said, now + LONGEST)


async def _stop_unneeded(runtime: Runtime, client: GoogleClient, connection: CalendarConnection) -> None:
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
                await _stop(client, each)
            async with runtime.transaction(SYSTEM) as work:
                await store.delete_channels(work.db, [each.id])


async def _stop(client: GoogleClient, channel: CalendarChannel) -> None:
    try:
        await client.post("channels/stop", {"id": str(channel.id), "resourceId": channel.resource_id})
    except CalendarFault as fault:
        # It ends by itself, and its notices are refused until then.
        log.info("a channel can't be stopped", channel=str(channel.id), error=fault.message)
