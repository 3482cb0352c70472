"""The SQL of connections to a payment provider, and of what is still to be ended there."""

from datetime import datetime
from uuid import UUID

from openslot.domains.payments.errors import PaymentsNotConnected
from openslot.domains.payments.models import ConnectionEnding, ConnectionPreview, PaymentConnection
from openslot.domains.payments.store import UNDER_WAY
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.rows import Rows

CONNECTIONS = Rows(PaymentConnection, "payment_connections c")
KEPT = CONNECTIONS.stored.without("id", "user_id", "organization_id", "connected_at")
ENDINGS = Rows(ConnectionEnding, "payment_endings e")
OF_EVENT_TYPE = f"""
select {CONNECTIONS.columns} from payment_connections c join event_types e on e.payment_connection_id = c.id
where e.id = $1 and c.disconnected_at is null and (c.user_id = e.owner_id or c.organization_id in (
    select m.organization_id from memberships m where m.user_id = e.owner_id and m.active))"""
PREVIEW = f"""
select (select count(*) from payments p where p.connection_id = $1 and p.state in {UNDER_WAY}) as under_way,
       (select count(*) from payments p join bookings b on b.id = p.booking_id
        where p.connection_id = $1 and p.state = 'paid' and b.status = 'CONFIRMED' and b.ends_at > $2) as upcoming"""
# Connections that nobody has paid through for half a year are left alone: no dispute or refund comes that late.
TO_POLL = """
select c.id, c.user_id from payment_connections c
where c.disconnected_at is null
  and exists (select from payments p where p.connection_id = c.id and p.created_at > $1)"""


# The same, for the account that took a payment.
MAY_USE = """
select exists (
    select from payments p join payment_connections c on c.id = p.connection_id
    where p.id = $2 and (c.user_id = $1 or c.organization_id in (
        select m.organization_id from memberships m where m.user_id = $1 and m.active)))"""


async def may_use_connection(db: Db, host_id: UUID, payment_id: UUID) -> bool:
    """Answer whether a host may give back what an account took: it is their own, or that of their organization."""
    return bool(await db.fetchval(MAY_USE, host_id, payment_id))


async def find_connection_of_event_type(db: Db, event_type_id: UUID) -> PaymentConnection | None:
    """Find the account that an event type names; None if it is gone, or not its owner's to use any more."""
    row = await db.fetchrow(OF_EVENT_TYPE, event_type_id)
    return CONNECTIONS.read(row) if row else None


async def get_stored_connection(db: Db, connection_id: UUID) -> PaymentConnection:
    """Read a connection, also one that was disconnected."""
    found = await find_stored_connection(db, connection_id)
    if found is None:
        raise PaymentsNotConnected
    return found


async def find_stored_connection(db: Db, connection_id: UUID) -> PaymentConnection | None:
    row = await db.fetchrow(f"select {CONNECTIONS.columns} from payment_connections c where c.id = $1", connection_id)
    return CONNECTIONS.read(row) if row else None


async def find_of_owner(db: Db, owner_id: UUID) -> PaymentConnection | None:
    """Find the connection of a user or of an organization itself."""
    statement = f"""select {CONNECTIONS.columns} from payment_connections c
        where (c.user_id = $1 or c.organization_id = $1) and c.disconnected_at is null"""
    row = await db.fetchrow(statement, owner_id)
    return CONNECTIONS.read(row) if row else None


async def lock_owner(db: Db, owner_id: UUID) -> None:
    """Let nobody else connect or disconnect for this user or organization until the commit."""
    await db.execute("select id from users where id = $1 for no key update", owner_id)
    await db.execute("select id from organizations where id = $1 for no key update", owner_id)


async def insert(db: Db, connection: PaymentConnection) -> None:
    await db.execute(CONNECTIONS.insert(), *CONNECTIONS.values(connection))


async def update(db: Db, connection: PaymentConnection) -> None:
    statement = f"update payment_connections set {KEPT.assign(first=2)} where id = $1"
    await db.execute(statement, connection.id, *KEPT.values(connection))


async def keep_endpoint(db: Db, connection_id: UUID, endpoint_id: str, secret: bytes) -> bool:
    """Write an endpoint that was registered; False if the connection has ended meanwhile, or has one already."""
    statement = """update payment_connections set endpoint_id = $2, notice_secret = $3
        where id = $1 and disconnected_at is null and notice_secret is null"""
    return count_of(await db.execute(statement, connection_id, endpoint_id, secret)) == 1


async def keep_reading(db: Db, connection_id: UUID, *, read_until: datetime, now: datetime) -> None:
    statement = """update payment_connections
        set read_until = greatest(read_until, $2), last_read_at = $3, last_error = null, failing_since = null,
            told_at = null
        where id = $1"""
    await db.execute(statement, connection_id, read_until, now)


async def list_failing(db: Db) -> list[PaymentConnection]:
    """List the live connections that could not be read the last time."""
    statement = f"""select {CONNECTIONS.columns} from payment_connections c
        where c.failing_since is not null and c.disconnected_at is null order by c.id limit 1000"""
    return [CONNECTIONS.read(row) for row in await db.fetch(statement)]


async def preview(db: Db, connection_id: UUID, *, now: datetime) -> ConnectionPreview:
    row = await db.fetchrow(PREVIEW, connection_id, now)
    assert row is not None  # noqa: S101 - a select of counts
    return ConnectionPreview(**row)


async def list_under_way(db: Db, connection_id: UUID) -> list[UUID]:
    """List the bookings that somebody is paying for."""
    statement = f"select booking_id from payments where connection_id = $1 and state in {UNDER_WAY} order by id"
    return [row["booking_id"] for row in await db.fetch(statement, connection_id)]


async def find_newest_session(db: Db, connection_id: UUID) -> str | None:
    statement = """select session_id from payments where connection_id = $1 and session_id is not null
        order by created_at desc limit 1"""
    found: str | None = await db.fetchval(statement, connection_id)
    return found


async def list_to_poll(db: Db, *, since: datetime) -> list[tuple[UUID, UUID | None]]:
    """List the live connections through which somebody has paid since then, with their users."""
    return [(row["id"], row["user_id"]) for row in await db.fetch(TO_POLL, since)]


async def insert_ending(db: Db, ending: ConnectionEnding) -> None:
    await db.execute(ENDINGS.insert(), *ENDINGS.values(ending))


async def list_endings(db: Db, *, limit: int) -> list[ConnectionEnding]:
    rows = await db.fetch(f"select {ENDINGS.columns} from payment_endings e order by e.ended_at limit $1", limit)
    return [ENDINGS.read(row) for row in rows]


async def delete_ending(db: Db, ending_id: UUID) -> None:
    await db.execute("delete from payment_endings where id = $1", ending_id)
