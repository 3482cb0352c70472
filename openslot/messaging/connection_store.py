"""The SQL of connections to a message provider, and of what is to be deleted there."""

from datetime import datetime
from uuid import UUID

from openslot.core.db import Db
from openslot.core.rows import Rows
from openslot.messaging.connection_models import ConnectionChannel, MessageErasure, MessagingConnection
from openslot.messaging.errors import MessagingNotConnected

CONNECTIONS = Rows(MessagingConnection, "messaging_connections c")
KEPT = CONNECTIONS.stored.without("id", "user_id", "organization_id", "channel", "connected_at")
ERASURES = Rows(MessageErasure, "message_erasures e")
# A host's own number comes before that of an organization.
FOR_HOST = f"""
select {CONNECTIONS.columns} from messaging_connections c
where c.disconnected_at is null and c.channel = $2 and (c.user_id = $1 or c.organization_id in (
    select m.organization_id from memberships m where m.user_id = $1 and m.active))
order by c.user_id is null, c.connected_at, c.id limit 1"""
ALL_FOR_HOST = f"""
select distinct on (c.channel) {CONNECTIONS.columns} from messaging_connections c
where c.disconnected_at is null and (c.user_id = $1 or c.organization_id in (
    select m.organization_id from memberships m where m.user_id = $1 and m.active))
order by c.channel, c.user_id is null, c.connected_at, c.id"""
CHANNELS_OF_HOST = """
select distinct c.channel from messaging_connections c
where c.disconnected_at is null and (c.user_id = $1 or c.organization_id in (
    select m.organization_id from memberships m where m.user_id = $1 and m.active))"""


async def find_for_host(db: Db, host_id: UUID, channel: ConnectionChannel) -> MessagingConnection | None:
    """Find the number that a host writes from: their own, or else their organization's."""
    row = await db.fetchrow(FOR_HOST, host_id, channel)
    return CONNECTIONS.read(row) if row else None


async def list_for_host(db: Db, host_id: UUID) -> list[MessagingConnection]:
    """List the numbers that a host uses, one for each channel."""
    return [CONNECTIONS.read(row) for row in await db.fetch(ALL_FOR_HOST, host_id)]


async def list_channels(db: Db, host_id: UUID) -> frozenset[ConnectionChannel]:
    """List what a host can use: by numbers of their own, or of their organizations."""
    return frozenset(ConnectionChannel(row["channel"]) for row in await db.fetch(CHANNELS_OF_HOST, host_id))


async def get(db: Db, connection_id: UUID) -> MessagingConnection:
    """Read a connection, also one that was disconnected."""
    found = await find(db, connection_id)
    if found is None:
        raise MessagingNotConnected
    return found


async def find(db: Db, connection_id: UUID) -> MessagingConnection | None:
    row = await db.fetchrow(f"select {CONNECTIONS.columns} from messaging_connections c where c.id = $1", connection_id)
    return CONNECTIONS.read(row) if row else None


async def list_of_owner(db: Db, owner_id: UUID) -> list[MessagingConnection]:
    """List the live connections of a user or of an organization itself."""
    statement = f"""select {CONNECTIONS.columns} from messaging_connections c
        where (c.user_id = $1 or c.organization_id = $1) and c.disconnected_at is null order by c.channel"""
    return [CONNECTIONS.read(row) for row in await db.fetch(statement, owner_id)]


async def find_of_owner(db: Db, owner_id: UUID, channel: ConnectionChannel) -> MessagingConnection | None:
    """Find the live connection of a user or of an organization itself for one channel."""
    return next((each for each in await list_of_owner(db, owner_id) if each.channel is channel), None)


async def list_live(db: Db) -> list[MessagingConnection]:
    """List every live connection of the installation."""
    statement = f"""select {CONNECTIONS.columns} from messaging_connections c
        where c.disconnected_at is null order by c.connected_at, c.id limit 10000"""
    return [CONNECTIONS.read(row) for row in await db.fetch(statement)]


async def lock_owner(db: Db, owner_id: UUID) -> None:
    """Let nobody else connect or disconnect for this user or organization until the commit."""
    await db.execute("select id from users where id = $1 for no key update", owner_id)
    await db.execute("select id from organizations where id = $1 for no key update", owner_id)


async def insert(db: Db, connection: MessagingConnection) -> None:
    await db.execute(CONNECTIONS.insert(), *CONNECTIONS.values(connection))


async def update(db: Db, connection: MessagingConnection) -> None:
    statement = f"update messaging_connections set {KEPT.assign(first=2)} where id = $1"
    await db.execute(statement, connection.id, *KEPT.values(connection))


async def keep_success(db: Db, connection_id: UUID, *, now: datetime) -> None:
    """Write that the provider can be used."""
    statement = """update messaging_connections
        set last_checked_at = $2, last_error = null, failing_since = null, told_at = null where id = $1"""
    await db.execute(statement, connection_id, now)


async def list_failing(db: Db) -> list[MessagingConnection]:
    """List the live connections that could not be used the last time."""
    statement = f"""select {CONNECTIONS.columns} from messaging_connections c
        where c.failing_since is not null and c.disconnected_at is null order by c.id limit 1000"""
    return [CONNECTIONS.read(row) for row in await db.fetch(statement)]


async def list_due_erasures(db: Db, *, now: datetime, limit: int) -> list[MessageErasure]:
    statement = f"""select {ERASURES.columns} from message_erasures e where e.next_try_at <= $1
        order by e.next_try_at, e.id limit $2"""
    return [ERASURES.read(row) for row in await db.fetch(statement, now, limit)]


async def put_off_erasure(db: Db, erasure_id: UUID, *, until: datetime) -> None:
    await db.execute("update message_erasures set tries = tries + 1, next_try_at = $2 where id = $1", erasure_id, until)


async def delete_erasure(db: Db, erasure_id: UUID) -> None:
    await db.execute("delete from message_erasures where id = $1", erasure_id)
