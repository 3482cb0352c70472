"""All SQL of connected CRMs: connections, which meeting is which booking, and what was not taken."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.crm.models import CrmConnection, CrmFailure, CrmTarget
from openslot.platform.core.actor import EffectAttempt
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.rows import Rows

WRITE_CRM = "crm.write"
CONNECTIONS = Rows(CrmConnection, "crm_connections c")
RENEWED = CONNECTIONS.stored.only("label", "secret", "connected_at", "used_at")
# `offset 0` keeps the planner from reading all connections in order to look one up among them.
HAS_CRM = "exists (select from crm_connections c where c.owner_id = v.tenant_id offset 0)"
TARGET = f"""
select {CONNECTIONS.columns}, u.name as host_name, u.email as host_email, m.meeting_id
from crm_connections c join users u on u.id = c.owner_id
left join crm_meetings m on m.connection_id = c.id and m.booking_id = $2
where c.id = $1"""
# If several people connect the same account in the same moment, the last one is kept.
UPSERT = f"""
insert into crm_connections as c ({CONNECTIONS.stored.columns}) values ({CONNECTIONS.stored.parameters()})
on conflict on constraint crm_connections_account do update set
    {", ".join(f"{name} = excluded.{name}" for name in RENEWED.names)},
    last_error = null, failing_since = null, is_refused = false, told_at = null
returning {CONNECTIONS.columns}"""
# Its secret may have been replaced since: what the old one was told does not concern the new one.
REFUSE = "update crm_connections set is_refused = true where id = $1 and secret = $2"
SUCCEED = """
update crm_connections set used_at = $2, last_error = null, failing_since = null, is_refused = false, told_at = null,
    label = coalesce($3, label)
where id = $1"""
KEEP_MEETING = """
insert into crm_meetings (booking_id, connection_id, meeting_id)
select $1, $2, $3 from bookings b join crm_connections c on c.id = $2 where b.id = $1
on conflict (booking_id, connection_id) do update set meeting_id = excluded.meeting_id"""
FAILURES = f"""
select f.id as effect_id, split_part(f.target, '/', 1)::uuid as connection_id, v.subject_id as booking_id,
       b.invitee_name, b.starts_at, f.finished_at as failed_at, coalesce(f.last_error, '') as reason
from events v join effects f on f.event_id = v.id left join bookings b on b.id = v.subject_id and b.host_id = $1
where v.tenant_id = $1 and f.state = 'dead' and f.reaction = '{WRITE_CRM}' and f.finished_at > $2
order by f.finished_at desc, f.no desc limit $3"""
WAITING = f"""
select id, round from effects
where state = 'queued' and reaction = '{WRITE_CRM}' and starts_with(target, $1::uuid::text || '/')"""
DEAD_BECAUSE = f"""
select id from effects
where state = 'dead' and reaction = '{WRITE_CRM}' and starts_with(target, $1::uuid::text || '/')
  and last_error = any($2::text[])"""


async def list_of_owner(db: Db, owner_id: UUID) -> list[CrmConnection]:
    statement = f"""select {CONNECTIONS.columns} from crm_connections c where c.owner_id = $1
        order by c.connected_at, c.id"""
    return [CONNECTIONS.read(row) for row in await db.fetch(statement, owner_id)]


async def list_all(db: Db) -> list[CrmConnection]:
    statement = f"select {CONNECTIONS.columns} from crm_connections c order by c.connected_at, c.id limit 10000"
    return [CONNECTIONS.read(row) for row in await db.fetch(statement)]


async def find(db: Db, connection_id: UUID) -> CrmConnection | None:
    row = await db.fetchrow(f"select {CONNECTIONS.columns} from crm_connections c where c.id = $1", connection_id)
    return CONNECTIONS.read(row) if row else None


async def lock_owner(db: Db, owner_id: UUID) -> None:
    """Let nobody else connect for this user until the commit."""
    await db.execute("select id from users where id = $1 for no key update", owner_id)


async def upsert(db: Db, connection: CrmConnection) -> CrmConnection:
    """Keep a connection, or the new secret of one to the same account."""
    row = await db.fetchrow(UPSERT, *CONNECTIONS.values(connection))
    assert row is not None  # noqa: S101 - it returns what it writes
    return CONNECTIONS.read(row)


async def update_options(db: Db, connection: CrmConnection) -> None:
    part = CONNECTIONS.stored.only("options")
    await db.execute(
        f"update crm_connections set {part.assign(first=2)} where id = $1", connection.id, *part.values(connection)
    )


async def delete(db: Db, connection_id: UUID) -> bool:
    return count_of(await db.execute("delete from crm_connections where id = $1", connection_id)) == 1


async def keep_success(db: Db, connection_id: UUID, *, now: datetime, label: str | None = None) -> None:
    """Write that a CRM can be used."""
    await db.execute(SUCCEED, connection_id, now, label)


async def keep_refusal(db: Db, connection: CrmConnection) -> bool:
    """Write that the secret is refused; False if it was replaced meanwhile."""
    return count_of(await db.execute(REFUSE, connection.id, connection.secret)) == 1


async def find_target(db: Db, connection_id: UUID, booking_id: UUID) -> CrmTarget | None:
    row = await db.fetchrow(TARGET, connection_id, booking_id)
    if row is None:
        return None
    told = {name: row[name] for name in ("host_name", "host_email", "meeting_id")}
    return CrmTarget(connection=CONNECTIONS.read(row), **told)


async def keep_meeting(db: Db, booking_id: UUID, connection_id: UUID, meeting_id: str) -> None:
    """Keep which meeting a booking is, unless the booking or the connection is gone."""
    await db.execute(KEEP_MEETING, booking_id, connection_id, meeting_id)


async def list_failures(db: Db, owner_id: UUID, *, since: datetime, limit: int) -> list[CrmFailure]:
    return [CrmFailure(**row) for row in await db.fetch(FAILURES, owner_id, since, limit)]


async def list_waiting(db: Db, connection_id: UUID) -> list[EffectAttempt]:
    """List what waits to be written to a CRM."""
    return [EffectAttempt(row["id"], row["round"]) for row in await db.fetch(WAITING, connection_id)]


async def list_dead_because(db: Db, connection_id: UUID, reasons: list[str]) -> Sequence[UUID]:
    """List what was given up for one of these reasons."""
    return [row["id"] for row in await db.fetch(DEAD_BECAUSE, connection_id, reasons)]
