"""All SQL of conversations."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.contacts.store import fold_person, write_named_by_phone, write_of_person
from openslot.domains.conversations.models import Channel, Conversation, Message, MessageStatus
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.moments import Span
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

NEWEST = 50
CONTACT = write_named_by_phone("c.contact_phone")
CONVERSATIONS = Rows(
    Conversation, "conversations c", computed={"contact": CONTACT}, given={"messages", "unread_count", "version"}
)
MESSAGE_ROWS = Rows(Message, "messages", given={"files"})


def _write_messages(columns: str, *, limit: str, offset: str) -> str:
    return f"""(
    select coalesce(json_agg(m order by m.at, m.id), '[]') from (
        select {columns} from messages where conversation_id = c.id
        order by at desc, id desc limit {limit} offset {offset}) m) as messages"""


WITH_FILES = """*, (
    select coalesce(json_agg(json_build_object('position', f.position, 'content_type', f.content_type)
        order by f.position), '[]')
    from message_media f where f.message_id = messages.id) as files"""
UNREAD_COUNT = """case when c.last_inbound_at > coalesce(c.read_at, '-infinity') then (
    select count(*) from (
        select direction, created_at from messages where conversation_id = c.id
        order by at desc, id desc limit 100) n
    where n.direction = 'inbound' and n.created_at > coalesce(c.read_at, '-infinity')) else 0 end as unread_count"""
VERSION = f"""(
    select md5(coalesce(string_agg(n.id || n.status || coalesce(n.error, ''), ' ' order by n.at, n.id), '')) from (
        select id, status, error, at from messages where conversation_id = c.id
        order by at desc, id desc limit {NEWEST}) n) as version"""
_messages = msgspec.json.Decoder(tuple[Message, ...])


@custom_plans
async def list_conversations(
    db: Db, owner_id: UUID, *, phone: str | None, span: Span, limit: int, offset: int
) -> tuple[list[Conversation], int]:
    # These are two statements, because one plan for both would read every thread to find those of one number.
    of_phone = "$2::text is null" if phone is None else "contact_phone = $2"
    statement = f"""with found as not materialized (
            select * from conversations where owner_id = $1 and {of_phone}
                and last_message_at >= coalesce($3::timestamptz, '-infinity')
                and last_message_at < coalesce($4::timestamptz, 'infinity'))
        select t.total, {CONVERSATIONS.columns}, {_write_messages("*", limit="$7", offset="0")}
        from (select count(*) as total from found) t
        left join (select * from found order by last_message_at desc, id desc limit $5 offset $6) c on true
        order by c.last_message_at desc, c.id desc"""
    rows = await db.fetch(statement, owner_id, phone, span.starts_at, span.ends_before, limit, offset, NEWEST)
    return [_to_conversation(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def keep_thread(
    db: Db, conversation_id: UUID, *, owner_id: UUID, phone: str, channel: Channel, at: datetime, now: datetime
) -> UUID:
    """Find the thread, or begin it with this id, and lock it until the commit."""
    statement = """
        insert into conversations (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $6)
        on conflict (owner_id, contact_phone, channel) do update set contact_phone = excluded.contact_phone
        returning id"""
    thread_id: UUID = await db.fetchval(statement, conversation_id, owner_id, phone, channel, at, now)
    return thread_id


async def insert_message(db: Db, message: Message, *, vendor_id: str | None, now: datetime) -> bool:
    """Write a message and update its thread; False if the vendor has reported it before."""
    now_number = len(MESSAGE_ROWS.stored.names) + 2
    statement = f"""with added as (
            {MESSAGE_ROWS.insert("vendor_id", "created_at")}
            on conflict do nothing returning conversation_id, direction, at)
        update conversations c set message_count = c.message_count + 1,
            last_message_at = greatest(c.last_message_at, added.at), updated_at = ${now_number},
            last_inbound_at = case when added.direction = 'inbound' then ${now_number} else c.last_inbound_at end
        from added where c.id = added.conversation_id returning c.id"""
    thread_id = await db.fetchval(statement, *MESSAGE_ROWS.values(message), vendor_id, now)
    return thread_id is not None


async def get_message_of_vendor(db: Db, conversation_id: UUID, vendor_id: str) -> Message:
    statement = f"""select {MESSAGE_ROWS.columns} from messages
        where conversation_id = $1 and vendor_id = $2"""
    row = await db.fetchrow(statement, conversation_id, vendor_id)
    if row is None:
        raise LookupError(f"no message {vendor_id!r} in {conversation_id}")
    return MESSAGE_ROWS.read(row, files=())


async def is_known(db: Db, connection_id: UUID, vendor_id: str) -> bool:
    """Tell whether a message that came or went through a number is kept already."""
    statement = "select exists (select from messages where connection_id = $1 and vendor_id = $2)"
    found: bool = await db.fetchval(statement, connection_id, vendor_id)
    return found


async def lock_reported(db: Db, connection_id: UUID, vendor_id: str, message_id: UUID | None) -> Row | None:
    """Look up the message that a provider reports about, by its id or else by ours, and lock it until the commit."""
    statement = """select m.id, m.status, m.vendor_id, c.contact_phone
        from messages m join conversations c on c.id = m.conversation_id
        where m.connection_id = $1 and m.direction = 'outbound'
          and (m.vendor_id = $2 or m.id = $3 and m.vendor_id is null)
        order by m.vendor_id is null limit 1 for update of m"""
    return await db.fetchrow(statement, connection_id, vendor_id, message_id)


async def update_status(
    db: Db, message_id: UUID, status: MessageStatus, *, vendor_id: str | None, error: str | None, now: datetime
) -> None:
    statement = """update messages
        set status = $2, vendor_id = coalesce(vendor_id, $3), error = coalesce($4, error), updated_at = $5
        where id = $1"""
    await db.execute(statement, message_id, status, vendor_id, error, now)


async def mark_read(db: Db, owner_id: UUID, conversation_id: UUID, *, up_to: datetime) -> None:
    statement = """update conversations set read_at = $3
        where owner_id = $1 and id = $2 and (read_at is null or read_at < $3)"""
    await db.execute(statement, owner_id, conversation_id, up_to)


async def delete_thread(db: Db, owner_id: UUID, conversation_id: UUID) -> bool:
    statement = "delete from conversations where owner_id = $1 and id = $2"
    return count_of(await db.execute(statement, owner_id, conversation_id)) == 1


def _write_list(of_person: str) -> str:
    return f"""
with found as not materialized (
    select * from conversations f where owner_id = $1 and ($2::text is null or channel = $2)
        and last_message_at >= coalesce($3::timestamptz, '-infinity')
        and last_message_at < coalesce($4::timestamptz, 'infinity') and {of_person})
select t.total, {CONVERSATIONS.columns}, {UNREAD_COUNT}, {_write_messages("*", limit="1", offset="0")}
from (select count(*) as total from found) t
left join (select * from found order by last_message_at desc, id desc limit $5 offset $6) c on true
order by c.last_message_at desc, c.id desc"""


FIND = f"""
select {CONVERSATIONS.columns}, {VERSION}, {_write_messages(WITH_FILES, limit="$3", offset="$4")}
from conversations c where c.owner_id = $1 and c.id = $2"""


@custom_plans
async def list_threads(
    db: Db, owner_id: UUID, *, search: str, channel: Channel | None, span: Span, limit: int, offset: int
) -> tuple[list[Conversation], int]:
    asked = (owner_id, channel, span.starts_at, span.ends_before, limit, offset)
    if search:
        statement = _write_list(write_of_person("f.contact_phone", text="$7", digits="$8"))
        rows = await db.fetch(statement, *asked, *fold_person(search))
    else:
        rows = await db.fetch(_write_list("true"), *asked)
    return [_to_conversation(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_thread(db: Db, owner_id: UUID, conversation_id: UUID, *, limit: int, offset: int) -> Conversation | None:
    row = await db.fetchrow(FIND, owner_id, conversation_id, limit, offset)
    return _to_conversation(row) if row else None


async def find_version(db: Db, owner_id: UUID, conversation_id: UUID) -> str | None:
    statement = f"select {VERSION} from conversations c where c.owner_id = $1 and c.id = $2"
    version: str | None = await db.fetchval(statement, owner_id, conversation_id)
    return version


async def find_by_phone(db: Db, owner_id: UUID, phone: str, channel: Channel) -> Conversation | None:
    """Find the thread with a number, without its messages."""
    statement = f"""select {CONVERSATIONS.columns} from conversations c
        where c.owner_id = $1 and c.contact_phone = $2 and c.channel = $3"""
    row = await db.fetchrow(statement, owner_id, phone, channel)
    return CONVERSATIONS.read(row, messages=()) if row else None


def _to_conversation(row: Row) -> Conversation:
    messages = _messages.decode(row["messages"])
    return CONVERSATIONS.read(
        row, messages=messages, unread_count=row.get("unread_count", 0), version=row.get("version", "")
    )
