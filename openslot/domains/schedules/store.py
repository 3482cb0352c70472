"""All SQL of schedules."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.schedules.models import Absence, OutOfOffice, Schedule, ScheduleOverview, ScheduleUse
from openslot.platform.core.db import Db
from openslot.platform.core.ids import new_id
from openslot.platform.core.rows import Rows

SCHEDULES = Rows(Schedule, "schedules s", prefix="s_", given={"out_of_office"})
CHANGEABLE = SCHEDULES.stored.without("id", "owner_id")

BOOKED_WHILE_AWAY = """(
    select count(*) from bookings b where b.host_id = o.owner_id and b.status = 'CONFIRMED'
      and b.starts_at > greatest(o.starts_at, $2) - interval '1 day'
      and b.ends_at > greatest(o.starts_at, $2) and b.starts_at < o.ends_at)"""
ABSENCES = Rows(Absence, "out_of_office o", spread={"away": ""}, computed={"bookings": BOOKED_WHILE_AWAY})

_uses = msgspec.json.Decoder(tuple[ScheduleUse, ...])

# The schedule to start from comes first: the one that was made the default last, or else the oldest.
_ORDER = "s.default_at desc nulls last, s.id"


async def find_schedule(db: Db, owner_id: UUID, schedule_id: UUID, *, lock: bool = False) -> Schedule | None:
    """Look an owner's schedule up, and with a lock keep others from changing it until the commit."""
    statement = f"""select {SCHEDULES.columns} from schedules s where s.owner_id = $1 and s.id = $2
        {"for no key update" if lock else ""}"""
    row = await db.fetchrow(statement, owner_id, schedule_id)
    return SCHEDULES.read(row) if row else None


async def list_schedules(db: Db, owner_id: UUID) -> list[Schedule]:
    """List an owner's schedules: the default, which is the one to start from, and the others from the oldest on."""
    rows = await db.fetch(
        f"select {SCHEDULES.columns} from schedules s where s.owner_id = $1 order by {_ORDER}", owner_id
    )
    return [SCHEDULES.read(row) for row in rows]


async def list_overviews(db: Db, owner_id: UUID) -> list[ScheduleOverview]:
    statement = f"""select {SCHEDULES.columns}, (
            select coalesce(json_agg(json_build_object('id', e.id, 'name', e.name, 'active', e.active)
                order by e.position, e.id), '[]')::text
            from event_types e where e.schedule_id = s.id) as uses
        from schedules s where s.owner_id = $1 order by {_ORDER}"""
    rows = await db.fetch(statement, owner_id)
    return [
        ScheduleOverview(schedule=SCHEDULES.read(row), uses=_uses.decode(row["uses"]), is_default=index == 0)
        for index, row in enumerate(rows)
    ]


async def count_schedules(db: Db, owner_id: UUID) -> int:
    return int(await db.fetchval("select count(*) from schedules where owner_id = $1", owner_id))


async def set_default(db: Db, owner_id: UUID, schedule_id: UUID, *, now: datetime) -> bool:
    found = await db.fetchval(
        "update schedules set default_at = $3 where owner_id = $1 and id = $2 returning id", owner_id, schedule_id, now
    )
    return found is not None


async def insert_schedule(db: Db, schedule: Schedule, *, max_: int, now: datetime) -> bool:
    """Write a new schedule; False where its owner has as many as one may have."""
    statement = f"""
        insert into schedules ({SCHEDULES.stored.columns}, created_at, updated_at)
        select {SCHEDULES.stored.parameters(first=3)}, $1, $1
        where (select count(*) from schedules where owner_id = $4) < $2 returning id"""
    made = await db.fetchval(statement, now, max_, *SCHEDULES.values(schedule))
    return made is not None


async def update_schedule(db: Db, schedule: Schedule, *, now: datetime) -> None:
    statement = f"""
        update schedules set updated_at = $3, {CHANGEABLE.assign(first=4)} where id = $1 and owner_id = $2"""
    await db.execute(statement, schedule.id, schedule.owner_id, now, *CHANGEABLE.values(schedule))


async def delete_schedule(db: Db, owner_id: UUID, schedule_id: UUID) -> bool:
    gone = await db.fetchval(
        "delete from schedules where owner_id = $1 and id = $2 returning id", owner_id, schedule_id
    )
    return gone is not None


async def insert_out_of_office(db: Db, owner_id: UUID, away: OutOfOffice, *, now: datetime) -> UUID:
    away_id = new_id()
    statement = """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values ($1, $2, $3, $4, $5, $6)"""
    await db.execute(statement, away_id, owner_id, away.starts_at, away.ends_at, away.reason, now)
    return away_id


async def list_out_of_office(db: Db, owner_id: UUID, *, ending_after: datetime) -> list[tuple[UUID, OutOfOffice]]:
    """List an owner's times away that are not over, soonest first."""
    statement = """select id, starts_at, ends_at, reason from out_of_office
        where owner_id = $1 and ends_at > $2 order by starts_at, id limit 1000"""
    rows = await db.fetch(statement, owner_id, ending_after)
    return [(row["id"], OutOfOffice(row["starts_at"], row["ends_at"], row["reason"])) for row in rows]


async def list_absences(db: Db, owner_id: UUID, *, now: datetime) -> list[Absence]:
    statement = f"""select {ABSENCES.columns} from out_of_office o
        where o.owner_id = $1 and o.ends_at > $2 order by o.starts_at, o.id limit 1000"""
    rows = await db.fetch(statement, owner_id, now)
    return [ABSENCES.read(row) for row in rows]


async def delete_out_of_office(db: Db, owner_id: UUID, away_id: UUID) -> bool:
    gone = await db.fetchval(
        "delete from out_of_office where owner_id = $1 and id = $2 returning id", owner_id, away_id
    )
    return gone is not None
