"""The SQL of connections to a message provider, and of what is to be deleted there."""

from datetime import datetime
from uuid import UUID

from openslot.domains.messaging.connections.models import (
    ConnectionChannel,
    MessageErasure,
    MessagingConnection,
    UsableNumber,
)
from openslot.domains.messaging.errors import MessagingNotConnected
from openslot.platform.core.db import Db
from openslot.platform.core.rows import Rows

CONNECTIONS = Rows(MessagingConnection, "messaging_connections c")
KEPT = CONNECTIONS.stored.without("id", "user_id", "organization_id", "channel", "connected_at")
ERASURES = Rows(MessageErasure, "message_erasures e")
# About a number `c` and a host: it is theirs, or that of an organization of theirs.
MAY_USE = """(c.disconnected_at is null and (c.user_id = $1 or c.organization_id in (
    select m.organization_id from memberships m where m.user_id = $1 and m.active)))"""
# What a host has named, if it is still theirs to use.
ALL_FOR_HOST = f"""
select {CONNECTIONS.columns} from host_numbers n join messaging_connections c on c.id = n.connection_id
where n.user_id = $1 and {MAY_USE}"""
FOR_HOST = f"{ALL_FOR_HOST} and n.channel = $2"
USABLE = f"""
select {CONNECTIONS.columns}, g.name as organization, n.connection_id is not null as is_used
from messaging_connections c left join organizations g on g.id = c.organization_id
left join host_numbers n on n.user_id = $1 and n.connection_id = c.id
where {MAY_USE} order by c.channel, c.user_id is null, c.connected_at, c.id"""
GONE = f"""
select n.channel from host_numbers n where n.user_id = $1 and not exists (
    select from messaging_connections c where c.id = n.connection_id and {MAY_USE}) order by n.channel"""
USE = """
insert into host_numbers (user_id, channel, connection_id) values ($1, $2, $3)
on conflict (user_id, channel) do update set connection_id = excluded.connection_id"""
# Members who name the number that this one of their organization has replaced.
FOLLOW = """
update host_numbers n set connection_id = $1 from messaging_connections c
where c.id = n.connection_id and c.organization_id = $2 and c.channel = $3 and c.disconnected_at is not null
  and exists (select from memberships m where m.user_id = n.user_id and m.organization_id = $2 and m.active)"""
# Members of its organization who have named a number; who has left it was told then.
NAMING = """
select n.user_id from host_numbers n join messaging_connections c on c.id = n.connection_id
join memberships m on m.user_id = n.user_id and m.organization_id = c.organization_id and m.active
where c.id = $1 order by n.user_id"""
JOINED = f"""
select {CONNECTIONS.columns} from host_numbers n join messaging_connections c on c.id = n.connection_id
where n.user_id = $1 and c.organization_id = $2 and {MAY_USE}"""
LEFT = f"""
select {CONNECTIONS.columns} from host_numbers n join messaging_connections c on c.id = n.connection_id
where n.user_id = $1 and c.organization_id = $2 and c.disconnected_at is null and {MAY_USE} is not true"""


async def find_messaging_connection_for(
    db: Db, host_id: UUID, channel: ConnectionChannel
) -> MessagingConnection | None:
    """Find the number that a host writes from; None if it is gone, or not theirs to use any more."""
    row = await db.fetchrow(FOR_HOST, host_id, channel)
    return CONNECTIONS.read(row) if row else None


async def list_for_host(db: Db, host_id: UUID) -> list[MessagingConnection]:
    """List the numbers that a host uses, one for each channel."""
    return [CONNECTIONS.read(row) for row in await db.fetch(ALL_FOR_HOST, host_id)]


async def list_usable(db: Db, host_id: UUID) -> list[UsableNumber]:
    """List the numbers that a host can choose: their own first, then those of their organizations."""
    return [
        UsableNumber(connection=CONNECTIONS.read(row), organization=row["organization"], is_used=row["is_used"])
        for row in await db.fetch(USABLE, host_id)
    ]


async def list_gone(db: Db, host_id: UUID) -> list[ConnectionChannel]:
    """List the channels on which a host has named a number that can't be used any more."""
    return [ConnectionChannel(row["channel"]) for row in await db.fetch(GONE, host_id)]


async def use(db: Db, host_id: UUID, connection: MessagingConnection) -> None:
    await db.execute(USE, host_id, connection.channel, connection.id)


async def follow(db: Db, connection: MessagingConnection) -> None:
    """Name an organization's number where its members named an earlier one."""
    await db.execute(FOLLOW, connection.id, connection.organization_id, connection.channel)


async def list_naming(db: Db, connection_id: UUID) -> list[UUID]:
    """List the members of a number's organization who have named it."""
    return [row["user_id"] for row in await db.fetch(NAMING, connection_id)]


async def list_joined(db: Db, host_id: UUID, organization_id: UUID) -> list[MessagingConnection]:
    """List the numbers of an organization that a member of it writes from."""
    return [CONNECTIONS.read(row) for row in await db.fetch(JOINED, host_id, organization_id)]


async def list_left(db: Db, host_id: UUID, organization_id: UUID) -> list[MessagingConnection]:
    """List the numbers of an organization that somebody has named who does not belong to it."""
    return [CONNECTIONS.read(row) for row in await db.fetch(LEFT, host_id, organization_id)]


async def get(db: Db, connection_id: UUID) -> MessagingConnection:
    """Read a connection, also one that was disconnected."""
    found = await find_messaging_connection(db, connection_id)
    if found is None:
        raise MessagingNotConnected
    return found


async def find_messaging_connection(db: Db, connection_id: UUID) -> MessagingConnection | None:
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


async def list_failing_numbers(db: Db) -> list[MessagingConnection]:
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
