"""The SQL of messages that wait to be sent."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.conversations.models import Channel, MessagePurpose, MessageStatus, MessageTemplate
from openslot.platform.core.db import Db, count_of

# An account that is disabled sends nothing, nor does somebody who has left the organization whose number it is.
HAS_HOST = """
exists (select from users u where u.id = c.owner_id and u.disabled_at is null)
and (k.organization_id is null or exists (
    select from memberships b where b.organization_id = k.organization_id and b.user_id = c.owner_id and b.active))"""
NEXT = f"""
select m.id, m.content, m.status, m.asked_at, m.connection_id, m.purpose, m.booking_id, m.valid_until, m.template,
       c.id as conversation_id, c.owner_id, c.channel, c.contact_phone as phone, {HAS_HOST} as has_host
from messages m join conversations c on c.id = m.conversation_id
left join messaging_connections k on k.id = m.connection_id
where m.conversation_id = $1 and m.status in ('queued', 'sending') order by m.at, m.id limit 1"""
# A channel that is stopped at this moment is seen here, and a host who has left, however long ago it was chosen.
TAKE = f"""
update messages m set status = 'sending', asked_at = $2, updated_at = $2
from conversations c, messaging_connections k
where m.id = $1 and m.status = 'queued' and c.id = m.conversation_id and k.id = m.connection_id and {HAS_HOST}
  and not exists (select from switches s where s.channel = $3 and s.stopped_at is not null)"""
PUT_BACK = (
    "update messages set status = 'queued', asked_at = null, updated_at = $2 where id = $1 and status = 'sending'"
)
# The provider's report may have come before its answer: what it said stays.
FINISH = """
update messages set updated_at = $5, vendor_id = coalesce(vendor_id, $3),
    status = case when status in ('queued', 'sending') then $2 else status end,
    error = case when status in ('queued', 'sending') then $4 else error end
where id = $1"""
# Counted before the provider is asked: whatever happens, it is asked only so often, and by one worker.
TAKE_UNREPORTED = """
with due as materialized (
    select u.id from messages u join messaging_connections k on k.id = u.connection_id
    where u.status = 'sent' and u.vendor_id is not null and k.disconnected_at is null
      and u.asked_at > $1::timestamptz - 2 * ($2::interval[])[cardinality($2::interval[])]
      and u.asked_at <= $1 - ($2::interval[])[u.status_checks + 1]
    order by u.asked_at limit $3 for update of u skip locked)
update messages m set status_checks = m.status_checks + 1 from due
where m.id = due.id returning m.connection_id, m.vendor_id"""
KNOWN = "select vendor_id from messages where conversation_id = $1 and vendor_id is not null and at >= $2"
COUNT_OF_HOST = """
select count(*) from conversations c join messages m on m.conversation_id = c.id
where c.owner_id = $1 and c.last_message_at >= $2 and m.at >= $2 and m.purpose is not null
  and (m.sent_by is not null) = $3"""
COUNT_OF_NUMBER = """
select count(*) from messages m
where m.connection_id = $1 and m.at >= $2 and m.purpose is not null and m.sent_by is null"""
COUNT_OF_RECIPIENT = """
select count(*) from conversations c join messages m on m.conversation_id = c.id
where c.contact_phone = $1 and c.last_message_at >= $2 and m.at >= $2 and m.purpose is not null and m.sent_by is null"""


INBOUND = """
select m.content, m.created_at as received_at, m.connection_id, m.conversation_id, c.owner_id,
       c.contact_phone as phone, exists (select from message_media f where f.message_id = m.id) as has_files
from messages m join conversations c on c.id = m.conversation_id where m.id = $1 and m.direction = 'inbound'"""
# What has not left, or was not delivered, nobody has read.
NAMED = """
select m.booking_id, m.purpose = 'reminder' as is_reminder, m.at as written_at, m.asked_at as sent_at
from messages m where m.conversation_id = $1 and m.direction = 'outbound' and m.booking_id is not null
  and m.at > $2::timestamptz - interval '60 days' and m.asked_at <= $2
  and m.status in ('sending', 'unknown', 'sent', 'delivered', 'read')
order by m.at desc, m.id desc limit 50"""


class InboundText(Struct, frozen=True, kw_only=True):
    """What somebody has written, and in which thread."""

    conversation_id: UUID
    owner_id: UUID
    connection_id: UUID | None
    phone: str
    content: str
    has_files: bool
    received_at: datetime


class NamedBooking(Struct, frozen=True, kw_only=True):
    """A booking that a message has named."""

    booking_id: UUID
    is_reminder: bool
    written_at: datetime
    sent_at: datetime


_template = msgspec.json.Decoder(MessageTemplate)


class WaitingMessage(Struct, frozen=True, kw_only=True):
    """The oldest message of a thread that was not sent yet, or whose answer was lost."""

    id: UUID
    conversation_id: UUID
    owner_id: UUID
    connection_id: UUID | None
    channel: Channel
    phone: str
    has_host: bool
    """Whether the thread's owner may still send from this number."""
    content: str
    status: MessageStatus
    asked_at: datetime | None
    purpose: MessagePurpose | None = None
    booking_id: UUID | None = None
    valid_until: datetime | None = None
    template: MessageTemplate | None = None


class UnreportedMessage(Struct, frozen=True, kw_only=True):
    """A message that the provider has, and of whose delivery nothing is known."""

    connection_id: UUID
    vendor_id: str


async def find_next(db: Db, conversation_id: UUID) -> WaitingMessage | None:
    row = await db.fetchrow(NEXT, conversation_id)
    if row is None:
        return None
    read = {
        "channel": Channel(row["channel"]),
        "status": MessageStatus(row["status"]),
        "purpose": MessagePurpose(row["purpose"]) if row["purpose"] else None,
        "template": _template.decode(row["template"]) if row["template"] else None,
    }
    return WaitingMessage(**{**row, **read})


async def take(db: Db, message: WaitingMessage, *, now: datetime) -> bool:
    return count_of(await db.execute(TAKE, message.id, now, message.channel)) == 1


async def put_back(db: Db, message: WaitingMessage, *, now: datetime) -> None:
    await db.execute(PUT_BACK, message.id, now)


async def finish(
    db: Db, message_id: UUID, status: MessageStatus, *, vendor_id: str | None, error: str | None, now: datetime
) -> None:
    await db.execute(FINISH, message_id, status, vendor_id, error, now)


async def take_unreported(db: Db, *, delays: Sequence[timedelta], limit: int, now: datetime) -> list[UnreportedMessage]:
    return [UnreportedMessage(**row) for row in await db.fetch(TAKE_UNREPORTED, now, delays, limit)]


async def find_inbound(db: Db, message_id: UUID) -> InboundText | None:
    row = await db.fetchrow(INBOUND, message_id)
    return InboundText(**row) if row else None


async def list_named(db: Db, conversation_id: UUID, *, before: datetime) -> list[NamedBooking]:
    return [NamedBooking(**row) for row in await db.fetch(NAMED, conversation_id, before)]


async def count_answers(db: Db, conversation_id: UUID, *, since: datetime) -> int:
    statement = "select count(*) from messages where conversation_id = $1 and at >= $2 and purpose = 'answer'"
    return int(await db.fetchval(statement, conversation_id, since))


async def list_vendor_ids(db: Db, conversation_id: UUID, *, since: datetime) -> list[str]:
    return [row["vendor_id"] for row in await db.fetch(KNOWN, conversation_id, since)]


async def lock_limits(db: Db, owner_id: UUID, phone: str, connection_id: UUID | None = None) -> None:
    """Let nobody else count the messages of this host, to this phone or from this number, until the commit."""
    keys = [f"messages of {owner_id}", f"messages to {phone}"]
    for key in (*keys, f"messages from {connection_id}") if connection_id else keys:
        await db.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", key)


async def count_of_host(db: Db, owner_id: UUID, *, since: datetime, is_by_hand: bool) -> int:
    return int(await db.fetchval(COUNT_OF_HOST, owner_id, since, is_by_hand))


async def count_of_number(db: Db, connection_id: UUID, *, since: datetime) -> int:
    return int(await db.fetchval(COUNT_OF_NUMBER, connection_id, since))


async def count_of_recipient(db: Db, phone: str, *, since: datetime) -> int:
    return int(await db.fetchval(COUNT_OF_RECIPIENT, phone, since))
