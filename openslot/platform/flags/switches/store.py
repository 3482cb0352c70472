"""All SQL of the kill switch of outgoing messages."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from openslot.platform.core.actor import Actor
from openslot.platform.core.db import Db, Row
from openslot.platform.flags.models import ChannelStatus, DroppedMessage, MessagingStop, OutgoingChannel

# Of a thread only the next message has an effect: the others wait behind it.
STATUS = """
select s.channel, s.stopped_at, s.stopped_by, s.reason, u.name as user_name,
       (select count(*) from held_effects h join effects e on e.id = h.effect_id and e.round = h.round
        where h.channel = s.channel and h.released_at is null and e.state in ('queued', 'running')
          and e.reaction <> 'messaging.send')
       + (select count(*) from messages m join conversations c on c.id = m.conversation_id
          where s.stopped_at is not null and m.status = 'queued' and c.channel = s.channel) as waiting
from switches s left join users u on u.id = (s.stopped_by ->> 'user_id')::uuid
order by array_position(array['sms', 'whatsapp', 'voice', 'email'], s.channel)"""

# A mail is logged with the id of its effect. A message of a thread keeps its state itself, and has no effect any more.
DROPPED = """
(select e.id, h.channel, e.reaction,
       coalesce(m.recipient, split_part(e.payload ->> 'recipient', ':', 2)) as recipient, m.subject, h.held_at,
       e.finished_at as dropped_at, e.state = 'dead' as has_failed, coalesce(e.last_error, '') as reason
from held_effects h join effects e on e.id = h.effect_id left join mail_messages m on m.id = e.id
where e.state in ('skipped', 'dead') order by e.finished_at desc, e.no desc limit $1)
union all
(select m.id, c.channel, 'messaging.send', c.contact_phone, null, m.at, m.updated_at, false, coalesce(m.error, '')
from messages m join conversations c on c.id = m.conversation_id
where m.status = 'canceled' and m.vendor_id is null order by m.updated_at desc, m.id desc limit $1)
order by dropped_at desc, id desc limit $1"""

_read_actor = msgspec.json.Decoder(Actor).decode


async def list_stopped(db: Db) -> list[str]:
    rows = await db.fetch("select channel from switches where stopped_at is not null")
    return [row["channel"] for row in rows]


async def stop(
    db: Db, channels: Sequence[OutgoingChannel], *, actor: Actor, reason: str, now: datetime
) -> list[OutgoingChannel]:
    """Stop channels; return those that were not stopped before."""
    statement = """update switches set stopped_at = $2, stopped_by = $3, reason = $4
        where channel = any($1) and stopped_at is null returning channel"""
    return await _change(db, statement, channels, now, msgspec.json.encode(actor).decode(), reason)


async def resume(db: Db, channels: Sequence[OutgoingChannel]) -> list[OutgoingChannel]:
    """Resume channels; return those that were stopped before."""
    statement = """update switches set stopped_at = null, stopped_by = null, reason = null
        where channel = any($1) and stopped_at is not null returning channel"""
    return await _change(db, statement, channels)


async def _change(db: Db, statement: str, channels: Sequence[OutgoingChannel], *args: object) -> list[OutgoingChannel]:
    # In one order, so that two who change several channels can't wait for each other.
    locked = "select channel from switches where channel = any($1) order by channel for update"
    await db.execute(locked, channels)
    changed = {row["channel"] for row in await db.fetch(statement, channels, *args)}
    return [channel for channel in OutgoingChannel if channel in changed]


async def list_status(db: Db) -> list[ChannelStatus]:
    return [_read_status(row) for row in await db.fetch(STATUS)]


def _read_status(row: Row) -> ChannelStatus:
    stopped = None
    if row["stopped_at"] is not None:
        actor = _read_actor(row["stopped_by"])
        stopped = MessagingStop(at=row["stopped_at"], actor=actor, user_name=row["user_name"], reason=row["reason"])
    return ChannelStatus(channel=OutgoingChannel(row["channel"]), stop=stopped, waiting=row["waiting"])


async def list_dropped(db: Db, *, limit: int) -> list[DroppedMessage]:
    rows = await db.fetch(DROPPED, limit)
    return [DroppedMessage(**{**row, "channel": OutgoingChannel(row["channel"])}) for row in rows]
