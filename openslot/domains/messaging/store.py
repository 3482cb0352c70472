"""The SQL of messages that come in: whose they are, their files, and who wants no more of them."""

from datetime import datetime
from uuid import UUID

from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.connections.models import MessagingConnection, OptOutSource
from openslot.domains.messaging.models import MediaRef
from openslot.platform.core.db import Db
from openslot.platform.core.ids import new_id


def choose_host(newest: str, *, chosen: str) -> str:
    """Write what finds, of an organization's members, who has the newest thread, else who was chosen, else an owner."""
    return f"""
with members as (
    select m.user_id, m.role, m.created_at from memberships m join users u on u.id = m.user_id
    where m.organization_id = $1 and m.active and u.disabled_at is null)
select coalesce(
    {newest},
    (select m.user_id from members m where m.user_id = {chosen}),
    (select m.user_id from members m where m.role in ('owner', 'admin')
     order by m.role = 'owner' desc, m.created_at, m.user_id limit 1))"""


NEWEST_THREAD = """
    (select c.owner_id from members m join conversations c on c.owner_id = m.user_id
     where c.contact_phone = $2 and c.channel = $3
       and exists (select from messages x where x.conversation_id = c.id and x.connection_id = $4)
     order by c.last_message_at desc, c.id desc limit 1)"""
HOST = choose_host(NEWEST_THREAD, chosen="$5")
FILE = """
select f.ref, f.content_type, m.connection_id
from message_media f join messages m on m.id = f.message_id join conversations c on c.id = m.conversation_id
where c.owner_id = $1 and m.conversation_id = $2 and m.id = $3 and f.position = $4"""


async def find_host(db: Db, connection: MessagingConnection, *, phone: str, channel: Channel) -> UUID | None:
    """Find who gets a message from this number; None if nobody is left in the organization."""
    if connection.user_id is not None:
        return connection.user_id
    found: UUID | None = await db.fetchval(
        HOST, connection.organization_id, phone, channel, connection.id, connection.default_host_id
    )
    return found


async def insert_files(db: Db, message_id: UUID, sealed: list[tuple[bytes, MediaRef]]) -> None:
    statement = """insert into message_media (id, message_id, position, ref, content_type)
        values ($1, $2, $3, $4, $5)"""
    for position, (ref, file) in enumerate(sealed):
        await db.execute(statement, new_id(), message_id, position, ref, file.content_type[:200])


async def find_file(
    db: Db, owner_id: UUID, *, conversation_id: UUID, message_id: UUID, position: int
) -> tuple[bytes, UUID | None] | None:
    """Look up a file of a message, and the number through which it came."""
    row = await db.fetchrow(FILE, owner_id, conversation_id, message_id, position)
    return (row["ref"], row["connection_id"]) if row else None


async def opt_out(
    db: Db, connection: MessagingConnection, phone: str, *, source: OptOutSource, vendor_id: str | None, now: datetime
) -> None:
    owner = "user_id" if connection.user_id is not None else "organization_id"
    statement = f"""insert into message_opt_outs (id, {owner}, phone, opted_out_at, source, vendor_id)
        values ($1, $2, $3, $4, $5, $6)
        on conflict ({owner}, phone) do update set opted_in_at = null, source = excluded.source,
            vendor_id = excluded.vendor_id,
            opted_out_at = case when message_opt_outs.opted_in_at is null
                then message_opt_outs.opted_out_at else excluded.opted_out_at end"""
    await db.execute(statement, new_id(), connection.owner_id, phone, now, source, vendor_id)


async def opt_in(db: Db, connection: MessagingConnection, phone: str, *, vendor_id: str | None, now: datetime) -> None:
    statement = """update message_opt_outs set opted_in_at = $3, vendor_id = $4
        where (user_id = $1 or organization_id = $1) and phone = $2 and opted_in_at is null"""
    await db.execute(statement, connection.owner_id, phone, now, vendor_id)


async def is_opted_out(db: Db, connection: MessagingConnection, phone: str) -> bool:
    """Tell whether somebody wants no messages from any number of the connection's owner."""
    statement = """select exists (select from message_opt_outs
        where (user_id = $1 or organization_id = $1) and phone = $2 and opted_in_at is null)"""
    found: bool = await db.fetchval(statement, connection.owner_id, phone)
    return found
