"""The SQL of reminders and follow-ups by message."""

from datetime import datetime
from uuid import UUID

from openslot.bookings.models import Booking
from openslot.conversations.models import Channel
from openslot.core.db import Db
from openslot.messaging.models import BookingFacts, FollowUp, MessageSettings

# Whether the host of an event has a number that sends messages.
HAS_NUMBERS = """exists (
    select from messaging_connections c where c.disconnected_at is null and c.channel <> 'voice'
      and (c.user_id = v.tenant_id or c.organization_id in (
        select m.organization_id from memberships m where m.user_id = v.tenant_id and m.active)))"""
SETTINGS = """
select r.minutes_before, r.channels, f.channels as follow_up_channels, f.hours_after, f.text
from (select $1::uuid as host_id, $2::uuid as event_type_id) e
left join lateral (
    select minutes_before, channels from reminder_settings r
    where r.host_id = e.host_id and (r.event_type_id = e.event_type_id or r.event_type_id is null)
    order by r.event_type_id nulls last limit 1) r on true
left join message_follow_ups f on f.event_type_id = e.event_type_id"""
FACTS = """
select b.status = 'CONFIRMED' as is_confirmed, b.starts_at, b.ends_at, b.no_show, exists (
    select from message_consents c where c.booking_id = b.id and c.phone = $2 and c.withdrawn_at is null) as is_agreed
from bookings b where b.id = $1"""
# In every collation, what follows the booking's id comes before a letter.
PLANNED = """
select reaction, key from effects
where reaction in ('messaging.remind', 'messaging.follow_up') and state in ('queued', 'running', 'dead')
  and key >= $1 and key < $1 || 'z' and starts_with(key, $1 || ':')"""
UPSERT_FOLLOW_UP = """
insert into message_follow_ups (event_type_id, channels, hours_after, text, updated_at) values ($1, $2, $3, $4, $5)
on conflict (event_type_id) do update set channels = excluded.channels, hours_after = excluded.hours_after,
    text = excluded.text, updated_at = excluded.updated_at"""


async def find_settings(db: Db, host_id: UUID, event_type_id: UUID) -> MessageSettings:
    row = await db.fetchrow(SETTINGS, host_id, event_type_id)
    if row is None:
        return MessageSettings()
    follow_up = None
    if row["text"] is not None:
        channels = _read_channels(row["follow_up_channels"])
        follow_up = FollowUp(channels=channels, hours_after=row["hours_after"], text=row["text"])
    minutes = tuple(row["minutes_before"] or ())
    return MessageSettings(minutes=minutes, channels=_read_channels(row["channels"] or ()), follow_up=follow_up)


def _read_channels(names: list[str] | tuple[str, ...]) -> tuple[Channel, ...]:
    """Read which of the channels are channels of messages."""
    return tuple(channel for channel in Channel if channel in names)


async def find_facts(db: Db, booking_id: UUID, phone: str) -> BookingFacts | None:
    row = await db.fetchrow(FACTS, booking_id, phone)
    return BookingFacts(**row) if row else None


async def list_planned(db: Db, booking: Booking) -> list[tuple[str, str]]:
    """List what waits for a booking: each reaction and key."""
    return [(row["reaction"], row["key"]) for row in await db.fetch(PLANNED, str(booking.id))]


async def is_queued(db: Db, message_id: UUID) -> bool:
    return bool(await db.fetchval("select exists (select from messages where id = $1)", message_id))


async def upsert_follow_up(db: Db, event_type_id: UUID, follow_up: FollowUp, *, now: datetime) -> None:
    told = (list(follow_up.channels), follow_up.hours_after, follow_up.text)
    await db.execute(UPSERT_FOLLOW_UP, event_type_id, *told, now)


async def delete_follow_up(db: Db, event_type_id: UUID) -> None:
    await db.execute("delete from message_follow_ups where event_type_id = $1", event_type_id)


async def find_host(db: Db, host_id: UUID) -> tuple[str, str | None]:
    """Look up the name of a host, and their language."""
    row = await db.fetchrow("select name, locale from users where id = $1", host_id)
    return (row["name"], row["locale"]) if row else ("", None)
