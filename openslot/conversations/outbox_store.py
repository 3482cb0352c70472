"""The SQL of messages that wait to be sent."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.conversations.models import Channel, MessageStatus
from openslot.core.db import Db, count_of

NEXT = """
select m.id, m.content, m.status, m.asked_at, m.connection_id, c.id as conversation_id, c.owner_id, c.channel,
       c.contact_phone as phone
from messages m join conversations c on c.id = m.conversation_id
where m.conversation_id = $1 and m.status in ('queued', 'sending') order by m.at, m.id limit 1"""
# A channel that is stopped at this moment is seen here, however long ago the message was chosen.
TAKE = """
update messages set status = 'sending', asked_at = $2, updated_at = $2
where id = $1 and status = 'queued'
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
KNOWN = "select vendor_id from messages where conversation_id = $1 and vendor_id is not null and at >= $2"
COUNT_OF_HOST = """
select count(*) from conversations c join messages m on m.conversation_id = c.id
where c.owner_id = $1 and c.last_message_at >= $2 and m.at >= $2 and m.purpose is not null"""
COUNT_OF_RECIPIENT = """
select count(*) from conversations c join messages m on m.conversation_id = c.id
where c.contact_phone = $1 and c.last_message_at >= $2 and m.at >= $2 and m.purpose is not null and m.sent_by is null"""


class WaitingMessage(Struct, frozen=True, kw_only=True):
    """The oldest message of a thread that was not sent yet, or whose answer was lost."""

    id: UUID
    conversation_id: UUID
    owner_id: UUID
    connection_id: UUID | None
    channel: Channel
    phone: str
    content: str
    status: MessageStatus
    asked_at: datetime | None


async def find_next(db: Db, conversation_id: UUID) -> WaitingMessage | None:
    row = await db.fetchrow(NEXT, conversation_id)
    if row is None:
        return None
    return WaitingMessage(**{**row, "channel": Channel(row["channel"]), "status": MessageStatus(row["status"])})


async def take(db: Db, message: WaitingMessage, *, now: datetime) -> bool:
    return count_of(await db.execute(TAKE, message.id, now, message.channel)) == 1


async def put_back(db: Db, message: WaitingMessage, *, now: datetime) -> None:
    await db.execute(PUT_BACK, message.id, now)


async def finish(
    db: Db, message_id: UUID, status: MessageStatus, *, vendor_id: str | None, error: str | None, now: datetime
) -> None:
    await db.execute(FINISH, message_id, status, vendor_id, error, now)


async def list_vendor_ids(db: Db, conversation_id: UUID, *, since: datetime) -> list[str]:
    return [row["vendor_id"] for row in await db.fetch(KNOWN, conversation_id, since)]


async def lock_limits(db: Db, owner_id: UUID, phone: str) -> None:
    """Let nobody else count the messages of this host, or to this number, until the commit."""
    for key in (f"messages of {owner_id}", f"messages to {phone}"):
        await db.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", key)


async def count_of_host(db: Db, owner_id: UUID, *, since: datetime) -> int:
    return int(await db.fetchval(COUNT_OF_HOST, owner_id, since))


async def count_of_recipient(db: Db, phone: str, *, since: datetime) -> int:
    return int(await db.fetchval(COUNT_OF_RECIPIENT, phone, since))
