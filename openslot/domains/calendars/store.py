"""The SQL of calendar connections, their calendars, and secret links."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from openslot.domains.calendars.models import Calendar, CalendarChannel, CalendarConnection, ConnectionRef, Lease
from openslot.domains.calendars.ports import RemoteCalendar, Watch
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

CONNECTIONS = Rows(CalendarConnection, "calendar_connections c", given=("calendars",))
CALENDARS = Rows(Calendar, "calendars k")
CHANNELS = Rows(CalendarChannel, "calendar_channels c")
OWN = "c.id = $1 and ($2::uuid is null or c.owner_id = $2)"
INSERT = f"""
insert into calendar_connections ({CONNECTIONS.stored.columns}, secret) select {CONNECTIONS.stored.parameters()}, $18
where (select count(*) from calendar_connections where owner_id = $2) < $19"""
# Connections that are being read, and those whose owner is gone, are left alone.
HAS_READ_SINCE = """coalesce(
    c.lease is null and c.tried_at >= {since} and (c.failing_since is not null or c.synced_at >= {since}), false)"""
LEASE = f"""
update calendar_connections c set lease = $2, leased_until = $4, tried_at = $3
from users u
where c.id = $1 and u.id = c.owner_id and (c.leased_until is null or c.leased_until <= $3)
  and ($5::timestamptz is null or not {HAS_READ_SINCE.format(since="$5")})
returning {CONNECTIONS.columns}, c.secret, u.zone, u.email"""
# A connection whose reading is planned or under way is not included.
FORGOTTEN = """
select id from calendar_connections c
where next_sync_at <= $1 and not exists (
    select from effects e where e.reaction = $2 and e.key = c.id::text and e.state in ('queued', 'running'))
order by next_sync_at limit $3"""
# A change that was told of during the reading may have come too late for it.
KEEP_SUCCESS = """
update calendar_connections c set synced_at = $3, next_sync_at = case when exists (
        select from calendar_channels h where h.connection_id = $1 and h.noticed_at > c.tried_at
    ) then least($4::timestamptz, $3::timestamptz + $6::interval) else $4 end,
    failures = 0, failing_since = null, told_at = null, last_error = null, lease = null, leased_until = null,
    addresses = $5
where id = $1 and lease = $2"""
KEEP_FAILURE = """
update calendar_connections set next_sync_at = $3, failures = $4, failing_since = coalesce(failing_since, $5),
    told_at = $6, last_error = $7, lease = null, leased_until = null
where id = $1 and lease = $2"""
# One that is gone has nothing to wait for.
WAS_READ = f"""
select not exists (select from calendar_connections c where id = $1 and not {HAS_READ_SINCE.format(since="$2")})"""
UPSERT_CALENDAR = f"""
insert into calendars as k (id, connection_id, owner_id, url, name, can_write, is_busy, receives)
values ($1, $2, $3, $4, $5, $6, true, false)
on conflict (connection_id, url) do update set name = excluded.name, can_write = excluded.can_write
returning {CALENDARS.columns}"""


async def insert_connection(db: Db, connection: CalendarConnection, secret: bytes, *, max_: int) -> bool:
    """Write a new connection; False if the owner has reached the limit."""
    return count_of(await db.execute(INSERT, *CONNECTIONS.values(connection), secret, max_)) == 1


async def list_connections(db: Db, owner_id: UUID | None) -> list[CalendarConnection]:
    return await _with_calendars(db, await _list_rows(db, owner_id))


async def list_next(db: Db, *, limit: int) -> list[ConnectionRef]:
    """List the connections that are read next, whoever's they are."""
    rows = await db.fetch("select id from calendar_connections order by next_sync_at limit $1", limit)
    return [ConnectionRef(row["id"]) for row in rows]


@custom_plans
async def _list_rows(db: Db, owner_id: UUID | None) -> list[Row]:
    statement = f"""select {CONNECTIONS.columns} from calendar_connections c where $1::uuid is null or c.owner_id = $1
        order by c.created_at, c.id"""
    return await db.fetch(statement, owner_id)


async def find_connection(db: Db, ref: ConnectionRef, *, lock: bool = False) -> CalendarConnection | None:
    ending = " for update" if lock else ""
    rows = await db.fetch(
        f"select {CONNECTIONS.columns} from calendar_connections c where {OWN}{ending}", ref.id, ref.owner_id
    )
    found = await _with_calendars(db, rows)
    return found[0] if found else None


async def find_secret(db: Db, ref: ConnectionRef) -> bytes | None:
    found: bytes | None = await db.fetchval(
        f"select c.secret from calendar_connections c where {OWN}", ref.id, ref.owner_id
    )
    return found


async def update_secret(db: Db, connection_id: UUID, secret: bytes) -> None:
    await db.execute("update calendar_connections set secret = $2 where id = $1", connection_id, secret)


async def find_feed(db: Db, user_id: UUID) -> datetime | None:
    found: datetime | None = await db.fetchval("select created_at from calendar_feeds where user_id = $1", user_id)
    return found


async def delete_connection(db: Db, connection_id: UUID) -> None:
    await db.execute("delete from calendar_connections where id = $1", connection_id)


async def update_trust(db: Db, connection_id: UUID, trust_hours: int | None) -> None:
    await db.execute("update calendar_connections set trust_hours = $2 where id = $1", connection_id, trust_hours)


async def update_invites(db: Db, connection_id: UUID, *, invites: bool) -> None:
    await db.execute("update calendar_connections set invites = $2 where id = $1", connection_id, invites)


async def update_busy(db: Db, connection_id: UUID, busy: Sequence[UUID]) -> None:
    """Write which calendars of a connection count as busy; one that begins to is read from the start."""
    statement = """update calendars set is_busy = (id = any($2::uuid[])), state = null, expanded_at = null
        where connection_id = $1 and is_busy <> (id = any($2::uuid[]))"""
    await db.execute(statement, connection_id, busy)


async def update_receiving(db: Db, owner_id: UUID, calendar_id: UUID | None) -> None:
    await db.execute("update calendars set receives = false where owner_id = $1 and receives", owner_id)
    await db.execute("update calendars set receives = true where owner_id = $1 and id = $2", owner_id, calendar_id)


async def has_receiving(db: Db, owner_id: UUID) -> bool:
    return bool(await db.fetchval("select exists (select from calendars where owner_id = $1 and receives)", owner_id))


async def make_due(db: Db, connection_id: UUID, *, now: datetime) -> None:
    """Make a connection due now; a reading that is under way can no longer write its results."""
    statement = """
        update calendar_connections set next_sync_at = $2, lease = null, leased_until = null, listed_at = null
        where id = $1"""
    await db.execute(statement, connection_id, now)


async def was_read(db: Db, connection_id: UUID, *, since: datetime) -> bool:
    """Return whether a reading of a connection that began at that time or later has ended."""
    return bool(await db.fetchval(WAS_READ, connection_id, since))


async def list_forgotten(db: Db, reaction: str, *, now: datetime, limit: int) -> list[UUID]:
    """Name the connections that are due and have no reading planned."""
    return [row["id"] for row in await db.fetch(FORGOTTEN, now, reaction, limit)]


async def find_lease(
    db: Db, connection_id: UUID, lease_id: UUID, *, now: datetime, until: datetime, unread_since: datetime | None = None
) -> Lease | None:
    """Take the lease to read a connection; None if another process has it, or has read it since then."""
    row = await db.fetchrow(LEASE, connection_id, lease_id, now, until, unread_since)
    if row is None:
        return None
    (connection,) = await _with_calendars(db, [row])
    return Lease(id=lease_id, connection=connection, secret=row["secret"], zone=row["zone"], owner_email=row["email"])


async def hold_lease(db: Db, lease: Lease) -> bool:
    """Keep the right to write what was read until the commit; False if it is lost, or the connection gone."""
    row = await db.fetchrow(
        "select id from calendar_connections where id = $1 and lease = $2 for update", lease.connection.id, lease.id
    )
    return row is not None


async def keep_listed(db: Db, connection_id: UUID, *, now: datetime) -> None:
    await db.execute("update calendar_connections set listed_at = $2 where id = $1", connection_id, now)


async def keep_success(
    db: Db, lease: Lease, addresses: Sequence[str], *, now: datetime, next_at: datetime, soon: timedelta
) -> None:
    """Write that a connection was read, and when it is read again: soon if a notice has come meanwhile."""
    await db.execute(KEEP_SUCCESS, lease.connection.id, lease.id, now, next_at, list(addresses), soon)


async def keep_failure(
    db: Db,
    lease: Lease,
    error: str,
    *,
    failing_since: datetime,
    failures: int,
    next_at: datetime,
    told_at: datetime | None,
) -> None:
    arguments = (lease.connection.id, lease.id, next_at, failures, failing_since, told_at, error)
    await db.execute(KEEP_FAILURE, *arguments)


async def upsert_calendar(
    db: Db, calendar_id: UUID, connection_id: UUID, owner_id: UUID, found: RemoteCalendar
) -> Calendar:
    row = await db.fetchrow(
        UPSERT_CALENDAR, calendar_id, connection_id, owner_id, found.ref, found.name, found.can_write
    )
    if row is None:
        raise LookupError("an upsert gives one row")
    return CALENDARS.read(row)


async def delete_calendars(db: Db, calendar_ids: Sequence[UUID]) -> None:
    await db.execute("delete from calendars where id = any($1::uuid[])", calendar_ids)


async def upsert_feed(db: Db, user_id: UUID, token_hash: bytes, *, now: datetime) -> None:
    statement = """insert into calendar_feeds (user_id, token_hash, created_at) values ($1, $2, $3)
        on conflict (user_id) do update set token_hash = excluded.token_hash, created_at = excluded.created_at"""
    await db.execute(statement, user_id, token_hash, now)


async def delete_feed(db: Db, user_id: UUID) -> bool:
    return count_of(await db.execute("delete from calendar_feeds where user_id = $1", user_id)) == 1


async def find_feed_owner(db: Db, token_hash: bytes) -> UUID | None:
    """Return whose secret link it is, unless the account is closed."""
    statement = """select f.user_id from calendar_feeds f join users u on u.id = f.user_id
        where f.token_hash = $1 and u.disabled_at is null"""
    found: UUID | None = await db.fetchval(statement, token_hash)
    return found


async def find_channel(db: Db, channel_id: UUID) -> CalendarChannel | None:
    row = await db.fetchrow(f"select {CHANNELS.columns} from calendar_channels c where c.id = $1", channel_id)
    return CHANNELS.read(row) if row else None


async def list_channels(db: Db, connection_id: UUID) -> list[CalendarChannel]:
    """List the channels of a connection, oldest first."""
    statement = f"select {CHANNELS.columns} from calendar_channels c where c.connection_id = $1 order by c.id"
    return [CHANNELS.read(row) for row in await db.fetch(statement, connection_id)]


async def insert_channel(db: Db, channel: CalendarChannel) -> None:
    statement = f"insert into calendar_channels ({CHANNELS.stored.columns}) values ({CHANNELS.stored.parameters()})"
    await db.execute(statement, *CHANNELS.values(channel))


async def confirm_channel(db: Db, channel_id: UUID, found: Watch, *, renew_at: datetime) -> None:
    """Write what the server has answered, which is also that a channel lasts longer."""
    statement = "update calendar_channels set resource_id = $2, expires_at = $3, renew_at = $4 where id = $1"
    await db.execute(statement, channel_id, found.resource_id, found.expires_at, renew_at)


async def plan_renewal(db: Db, channel_id: UUID, *, at: datetime) -> None:
    await db.execute("update calendar_channels set renew_at = $2 where id = $1", channel_id, at)


async def delete_channels(db: Db, channel_ids: Sequence[UUID]) -> None:
    await db.execute("delete from calendar_channels where id = any($1::uuid[])", channel_ids)


async def keep_notice(db: Db, channel_id: UUID, number: int | None, *, now: datetime) -> bool:
    """Write that a notice has come; False if it has a number that was seen before, or an older one."""
    statement = """
        update calendar_channels set message_no = coalesce($2, message_no), noticed_at = $3
        where id = $1 and ($2::bigint is null or message_no < $2)"""
    return count_of(await db.execute(statement, channel_id, number, now)) == 1


async def read_soon(db: Db, connection_id: UUID, *, now: datetime, every: timedelta) -> bool:
    """Make a connection due; False if it is being read, or fails and waits. A reading that is under way goes on."""
    statement = """
        update calendar_connections
        set next_sync_at = least(next_sync_at, greatest($2::timestamptz, tried_at + $3::interval))
        where id = $1 and failures = 0 and (leased_until is null or leased_until <= $2)"""
    return count_of(await db.execute(statement, connection_id, now, every)) == 1


async def _with_calendars(db: Db, rows: Sequence[Row]) -> list[CalendarConnection]:
    statement = f"""select {CALENDARS.columns} from calendars k where k.connection_id = any($1::uuid[])
        order by k.name, k.id"""
    found = [CALENDARS.read(row) for row in await db.fetch(statement, [row["id"] for row in rows])]
    return [
        CONNECTIONS.read(row, calendars=tuple(each for each in found if each.connection_id == row["id"]))
        for row in rows
    ]
