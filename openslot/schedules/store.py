"""All SQL of schedules."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.core.db import Db, Row
from openslot.core.ids import new_id
from openslot.schedules.models import DateOverride, HolidayCalendar, OutOfOffice, Schedule, WeeklyHours

# The columns have unique names, so that other statements can read a schedule beside their own columns.
SCHEDULE_COLUMNS = """
s.id as schedule_id, s.owner_id as schedule_owner_id, s.name as schedule_name, s.zone as schedule_zone,
s.weekly_hours, s.overrides, s.holidays"""

_weekly = msgspec.json.Decoder(WeeklyHours)
_overrides = msgspec.json.Decoder(tuple[DateOverride, ...])
_holidays = msgspec.json.Decoder(HolidayCalendar)


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


async def find_schedule(db: Db, owner_id: UUID, schedule_id: UUID) -> Schedule | None:
    """Look an owner's schedule up."""
    row = await db.fetchrow(
        f"select {SCHEDULE_COLUMNS} from schedules s where s.owner_id = $1 and s.id = $2", owner_id, schedule_id
    )
    return to_schedule(row) if row else None


async def list_schedules(db: Db, owner_id: UUID) -> list[Schedule]:
    """List an owner's schedules, oldest first: the first is the one to start from."""
    rows = await db.fetch(f"select {SCHEDULE_COLUMNS} from schedules s where s.owner_id = $1 order by s.id", owner_id)
    return [to_schedule(row) for row in rows]


async def insert_schedule(db: Db, schedule: Schedule, *, now: datetime) -> None:
    """Write a new schedule."""
    await db.execute(
        """insert into schedules (id, owner_id, name, zone, weekly_hours, overrides, holidays, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $8)""",
        schedule.id,
        schedule.owner_id,
        *_columns(schedule),
        now,
    )


async def update_schedule(db: Db, schedule: Schedule, *, now: datetime) -> None:
    """Write what may change of a schedule."""
    await db.execute(
        """update schedules set name = $3, zone = $4, weekly_hours = $5, overrides = $6, holidays = $7, updated_at = $8
        where id = $1 and owner_id = $2""",
        schedule.id,
        schedule.owner_id,
        *_columns(schedule),
        now,
    )


async def delete_schedule(db: Db, owner_id: UUID, schedule_id: UUID) -> bool:
    """Delete an owner's schedule; False where there is none."""
    gone = await db.fetchval(
        "delete from schedules where owner_id = $1 and id = $2 returning id", owner_id, schedule_id
    )
    return gone is not None


async def insert_out_of_office(db: Db, owner_id: UUID, away: OutOfOffice, *, now: datetime) -> UUID:
    """Write a time away."""
    away_id = new_id()
    await db.execute(
        """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values ($1, $2, $3, $4, $5, $6)""",
        away_id,
        owner_id,
        away.starts_at,
        away.ends_at,
        away.reason,
        now,
    )
    return away_id


async def list_out_of_office(db: Db, owner_id: UUID, *, ending_after: datetime) -> list[tuple[UUID, OutOfOffice]]:
    """List an owner's times away that are not over, soonest first."""
    rows = await db.fetch(
        """select id, starts_at, ends_at, reason from out_of_office
        where owner_id = $1 and ends_at > $2 order by starts_at, id limit 1000""",
        owner_id,
        ending_after,
    )
    return [(row["id"], OutOfOffice(row["starts_at"], row["ends_at"], row["reason"])) for row in rows]


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
