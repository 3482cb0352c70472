"""The SQL of calls through numbers: whose they are, and which notices and recordings of them have come."""

from datetime import datetime
from uuid import UUID

from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.store import choose_host
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.ids import new_id

# Of an organization's members, who has written last with the other side through any number of the organization.
NEWEST_THREAD = """
    (select c.owner_id from members m join conversations c on c.owner_id = m.user_id
     where c.contact_phone = $2 and exists (
        select from messages x join messaging_connections k on k.id = x.connection_id
        where x.conversation_id = c.id and k.organization_id = $1)
     order by c.last_message_at desc, c.id desc limit 1)"""
HOST = choose_host(NEWEST_THREAD, chosen="$3")


async def find_called_host(db: Db, connection: MessagingConnection, *, phone: str) -> UUID | None:
    """Find whose call with this number it is; None if nobody is left in the organization."""
    if connection.user_id is not None:
        return connection.user_id
    found: UUID | None = await db.fetchval(HOST, connection.organization_id, phone, connection.default_host_id)
    return found


async def lock_call(db: Db, connection_id: UUID, call_id: str) -> None:
    """Let no other notice of this call be read until the commit."""
    await db.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", f"call {connection_id} {call_id}")


async def insert_call_notice(db: Db, connection_id: UUID, call_id: str, sequence: int, *, now: datetime) -> bool:
    """Remember a notice; False if it has come before."""
    statement = """insert into call_notices (connection_id, call_id, sequence, received_at)
        values ($1, $2, $3, $4) on conflict do nothing"""
    return count_of(await db.execute(statement, connection_id, call_id, sequence, now)) == 1


async def keep_recording(db: Db, connection_id: UUID, call_id: str, ref: bytes, *, now: datetime) -> None:
    """Let a recording wait for its call; the first one counts."""
    statement = """insert into call_recordings (id, connection_id, call_id, ref, received_at)
        values ($1, $2, $3, $4, $5) on conflict do nothing"""
    await db.execute(statement, new_id(), connection_id, call_id, ref, now)


async def take_recording(db: Db, connection_id: UUID, call_id: str) -> bytes | None:
    """Return the recording that has waited for a call, and remove it."""
    statement = "delete from call_recordings where connection_id = $1 and call_id = $2 returning ref"
    ref: bytes | None = await db.fetchval(statement, connection_id, call_id)
    return ref


async def delete_old_call_notices(db: Db, *, before: datetime, limit: int) -> int:
    statement = """delete from call_notices where ctid = any(array(
        select ctid from call_notices where received_at <= $1 order by received_at limit $2))"""
    return count_of(await db.execute(statement, before, limit))
