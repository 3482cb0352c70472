"""Messages that wait to be sent: they are queued in their thread, taken one after the other, and finished by rank."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.conversations import store
from openslot.conversations.models import (
    Channel,
    Conversation,
    Message,
    MessageDirection,
    MessagePurpose,
    MessageStatus,
    clean,
)
from openslot.core.db import Db, count_of
from openslot.core.ids import new_id
from openslot.core.work import Work

DAY = timedelta(days=1)

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


async def queue_message(
    work: Work,
    thread: Conversation,
    content: str,
    *,
    connection_id: UUID,
    purpose: MessagePurpose,
    sent_by: UUID | None = None,
    booking_id: UUID | None = None,
) -> Message:
    """Let a message wait in its thread until it is sent."""
    await store.keep_thread(
        work.db,
        thread.id,
        owner_id=thread.owner_id,
        phone=thread.contact_phone,
        channel=thread.channel,
        at=work.now,
        now=work.now,
    )
    message = Message(
        new_id(),
        thread.id,
        clean(content),
        MessageDirection.OUTBOUND,
        MessageStatus.QUEUED,
        work.now,
        connection_id=connection_id,
        purpose=purpose,
        booking_id=booking_id,
        sent_by=sent_by,
    )
    await store.insert_message(work.db, message, vendor_id=None, now=work.now)
    return message


async def find_next(work: Work, conversation_id: UUID) -> WaitingMessage | None:
    row = await work.db.fetchrow(NEXT, conversation_id)
    if row is None:
        return None
    return WaitingMessage(**{**row, "channel": Channel(row["channel"]), "status": MessageStatus(row["status"])})


async def take(work: Work, message: WaitingMessage) -> bool:
    """Mark a message that the provider is asked to send; False if it does not wait, or its channel is stopped."""
    return count_of(await work.db.execute(TAKE, message.id, work.now, message.channel)) == 1


async def put_back(work: Work, message: WaitingMessage) -> None:
    """Let a message wait again that the provider has certainly not got."""
    await work.db.execute(PUT_BACK, message.id, work.now)


async def finish(
    work: Work, message_id: UUID, status: MessageStatus, *, vendor_id: str | None = None, error: str | None = None
) -> None:
    """Write what became of a message, unless a report has told more already."""
    await work.db.execute(FINISH, message_id, status, vendor_id, error, work.now)


async def list_vendor_ids(work: Work, conversation_id: UUID, *, since: datetime) -> list[str]:
    """List the provider's ids of the messages of a thread since then."""
    return [row["vendor_id"] for row in await work.db.fetch(KNOWN, conversation_id, since)]


async def lock_limits(db: Db, owner_id: UUID, phone: str) -> None:
    """Let nobody else count the messages of this host, or to this number, until the commit."""
    for key in (f"messages of {owner_id}", f"messages to {phone}"):
        await db.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", key)


async def count_of_host(work: Work, owner_id: UUID) -> int:
    """Count the messages that a host has sent in the last 24 hours, by hand or not."""
    return int(await work.db.fetchval(COUNT_OF_HOST, owner_id, work.now - DAY))


async def count_of_recipient(work: Work, phone: str) -> int:
    """Count the messages that nobody wrote by hand and that a number has got in the last 24 hours, of all hosts."""
    return int(await work.db.fetchval(COUNT_OF_RECIPIENT, phone, work.now - DAY))
