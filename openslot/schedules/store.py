"""All SQL of schedules."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.core.db import Db, Row
from openslot.core.ids import new_id
from openslot.schedules.models import (
    Absence,
    DateOverride,
    HolidayCalendar,
    OutOfOffice,
    Schedule,
    ScheduleOverview,
    ScheduleUse,
    WeeklyHours,
)

# The columns have unique names, so that other statements can read a schedule beside their own columns.
SCHEDULE_COLUMNS = """
s.id as schedule_id, s.owner_id as schedule_owner_id, s.name as schedule_name, s.zone as schedule_zone,
s.weekly_hours, s.overrides, s.holidays"""

_weekly = msgspec.json.Decoder(WeeklyHours)
_overrides = msgspec.json.Decoder(tuple[DateOverride, ...])
_holidays = msgspec.json.Decoder(HolidayCalendar)
_uses = msgspec.json.Decoder(tuple[ScheduleUse, ...])

# The schedule to start from comes first: the one that was made the default last, or else the oldest.
_ORDER = "s.default_at desc nulls last, s.id"


def to_schedule(row: Row, out_of_office: tuple[OutOfOffice, ...] = ()) -> Schedule:
    """Make a schedule of a row that has `SCHEDULE_COLUMNS`."""
    return Schedule(
        id=row["schedule_id"],
        owner_id=row["schedule_owner_id"],
        name=row["schedule_name"],
        zone=row["schedule_zone"],
        weekly_hours=_weekly.decode(row["weekly_hours"]),
        overrides=_overrides.decode(row["overrides"]),
        out_of_office=out_of_office,
        holidays=_holidays.decode(row["holidays"]) if row["holidays"] else None,
    )


async def find_schedule(db: Db, owner_id: UUID, schedule_id: UUID, *, lock: bool = False) -> Schedule | None:
    """Look an owner's schedule up, and with a lock keep others from changing it until the commit."""
    statement = f"""select {SCHEDULE_COLUMNS} from schedules s where s.owner_id = $1 and s.id = $2
        {"for no key update" if lock else ""}"""
    row = await db.fetchrow(statement, owner_id, schedule_id)
    return to_schedule(row) if row else None


async def list_schedules(db: Db, owner_id: UUID) -> list[Schedule]:
    """List an owner's schedules: the default, which is the one to start from, and the others from the oldest on."""
    rows = await db.fetch(
        f"select {SCHEDULE_COLUMNS} from schedules s where s.owner_id = $1 order by {_ORDER}", owner_id
    )
    return [to_schedule(row) for row in rows]


async def list_overviews(db: Db, owner_id: UUID) -> list[ScheduleOverview]:
    """List an owner's schedules with the event types that use each, the default first."""
    statement = f"""select {SCHEDULE_COLUMNS}, (
            select coalesce(json_agg(json_build_object('id', e.id, 'name', e.name, 'active', e.active)
                order by e.position, e.id), '[]')::text
            from event_types e where e.schedule_id = s.id) as uses
        from schedules s where s.owner_id = $1 order by {_ORDER}"""
    rows = await db.fetch(statement, owner_id)
    return [
        ScheduleOverview(schedule=to_schedule(row), uses=_uses.decode(row["uses"]), is_default=place == 0)
        for place, row in enumerate(rows)
    ]


async def count_schedules(db: Db, owner_id: UUID) -> int:
    count: int = await db.fetchval("select count(*) from schedules where owner_id = $1", owner_id)
    return count


async def set_default(db: Db, owner_id: UUID, schedule_id: UUID, *, now: datetime) -> bool:
    """Write which schedule is the default; False where there is none."""
    found = await db.fetchval(
        "update schedules set default_at = $3 where owner_id = $1 and id = $2 returning id", owner_id, schedule_id, now
    )
    return found is not None


async def insert_schedule(db: Db, schedule: Schedule, *, max_: int, now: datetime) -> bool:
    """Write a new schedule; False where its owner has as many as one may have."""
    statement = """
        insert into schedules (id, owner_id, name, zone, weekly_hours, overrides, holidays, created_at, updated_at)
        select $1::uuid, $2::uuid, $3::text, $4::text, $5::jsonb, $6::jsonb, $7::jsonb, $8::timestamptz, $8
        where (select count(*) from schedules where owner_id = $2) < $9 returning id"""
    made = await db.fetchval(statement, schedule.id, schedule.owner_id, *_columns(schedule), now, max_)
    return made is not None


async def update_schedule(db: Db, schedule: Schedule, *, now: datetime) -> None:
    """Write what may change of a schedule."""
    statement = """
        update schedules set name = $3, zone = $4, weekly_hours = $5, overrides = $6, holidays = $7, updated_at = $8
        where id = $1 and owner_id = $2"""
    await db.execute(statement, schedule.id, schedule.owner_id, *_columns(schedule), now)


async def delete_schedule(db: Db, owner_id: UUID, schedule_id: UUID) -> bool:
    """Delete an owner's schedule; False where there is none."""
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
    """List an owner's times away that are not over, soonest first, each with how many upcoming bookings are in it."""
    statement = """select o.id, o.starts_at, o.ends_at, o.reason, (
            select count(*) from bookings b where b.host_id = o.owner_id and b.status = 'CONFIRMED'
              and b.starts_at > greatest(o.starts_at, $2) - interval '1 day'
              and b.ends_at > greatest(o.starts_at, $2) and b.starts_at < o.ends_at) as bookings
        from out_of_office o where o.owner_id = $1 and o.ends_at > $2 order by o.starts_at, o.id limit 1000"""
    rows = await db.fetch(statement, owner_id, now)
    return [
        Absence(
            id=row["id"],
            away=OutOfOffice(row["starts_at"], row["ends_at"], row["reason"]),
            bookings=row["bookings"],
        )
        for row in rows
    ]


async def delete_out_of_office(db: Db, owner_id: UUID, away_id: UUID) -> bool:
    """Delete an owner's time away; False where there is none."""
    gone = await db.fetchval(
        "delete from out_of_office where owner_id = $1 and id = $2 returning id", owner_id, away_id
    )
    return gone is not None


def _columns(schedule: Schedule) -> tuple[object, ...]:
    holidays = None if schedule.holidays is None else msgspec.json.encode(schedule.holidays).decode()
    return (
        schedule.name,
        schedule.zone,
        msgspec.json.encode(schedule.weekly_hours).decode(),
        msgspec.json.encode(schedule.overrides).decode(),
        holidays,
    )
