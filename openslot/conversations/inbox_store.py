"""SQL of the conversations that a host sees."""

from uuid import UUID

from openslot.contacts.phone_store import OF_PERSON, fold_person
from openslot.conversations.models import Channel, Conversation
from openslot.conversations.store import to_conversation
from openslot.core.db import Db
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans

KNOWN = """left join lateral (
    select id, name from contacts where owner_id = $1 and phone = c.contact_phone
    order by created_at, id limit 1) known on true"""
MESSAGES = """array(
    select row (m.id, m.content, m.direction, m.status, m.at)
    from (select * from messages where conversation_id = c.id order by at desc, id desc limit {limit} offset {offset}) m
    order by m.at, m.id) as messages"""
LIST = f"""
with found as not materialized (
    select * from conversations f where owner_id = $1 and ($2::text is null or channel = $2)
        and last_message_at >= coalesce($3::timestamptz, '-infinity')
        and last_message_at < coalesce($4::timestamptz, 'infinity') and {{of_person}})
select t.total, c.*, known.id as contact_id, known.name as contact_name, {MESSAGES.format(limit=1, offset=0)}
from (select count(*) as total from found) t
left join (select * from found order by last_message_at desc, id desc limit $5 offset $6) c on true
{KNOWN}
order by c.last_message_at desc, c.id desc"""
FIND = f"""
select c.*, known.id as contact_id, known.name as contact_name, {MESSAGES.format(limit="$3", offset="$4")}
from conversations c {KNOWN} where c.owner_id = $1 and c.id = $2"""


@custom_plans
async def list_threads(
    db: Db, owner_id: UUID, *, search: str, channel: Channel | None, span: Span, limit: int, offset: int
) -> tuple[list[Conversation], int]:
    """List an owner's threads by last message, each with its newest message, and how many there are in all."""
    asked = (owner_id, channel, span.starts_at, span.ends_before, limit, offset)
    if search:
        statement = LIST.format(of_person=OF_PERSON.format(phone="f.contact_phone", text="$7", digits="$8"))
        rows = await db.fetch(statement, *asked, *fold_person(search))
    else:
        rows = await db.fetch(LIST.format(of_person="true"), *asked)
    return [to_conversation(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_thread(db: Db, owner_id: UUID, conversation_id: UUID, *, limit: int, offset: int) -> Conversation | None:
    """Look an owner's thread up with some of its messages."""
    row = await db.fetchrow(FIND, owner_id, conversation_id, limit, offset)
    return to_conversation(row) if row else None
