"""The verbs of schedules, the only writers of its tables."""

from datetime import date, timedelta
from uuid import UUID

import asyncpg
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import lock_host
from openslot.domains.schedules import errors, store
from openslot.domains.schedules.models import (
    Absence,
    DateOverride,
    HolidayCalendar,
    Hours,
    OutOfOffice,
    Schedule,
    ScheduleOverview,
    TimeRange,
    WeeklyHours,
)
from openslot.domains.schedules.rules import find_out_of_office_faults, find_override, find_schedule_faults, version_of
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import find_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

MAX_SCHEDULES = 100
NINE_TO_FIVE = (TimeRange(9 * 60, 17 * 60),)
OFFICE_HOURS: WeeklyHours = (NINE_TO_FIVE, NINE_TO_FIVE, NINE_TO_FIVE, NINE_TO_FIVE, NINE_TO_FIVE, (), ())


async def add_schedule(
    work: Work, owner: User, *, name: str = "Working hours", zone: str | None = None, hours: WeeklyHours = OFFICE_HOURS
) -> Schedule:
    """Add a schedule for a host; by default, Monday to Friday from nine to five."""
    schedule = check_schedule(
        Schedule(id=new_id(), owner_id=owner.id, name=name, zone=zone or owner.zone, weekly_hours=hours)
    )
    if not await store.insert_schedule(work.db, schedule, max_=MAX_SCHEDULES, now=work.now):
        raise errors.ScheduleLimitExceeded(MAX_SCHEDULES)
    return schedule


async def get_schedule(work: Work, owner: User, schedule_id: UUID) -> Schedule:
    return require(await store.find_schedule(work.db, owner.id, schedule_id), errors.ScheduleNotFound)


async def list_schedules(work: Work, owner: User) -> list[Schedule]:
    """Read all of a host's schedules: the default, then the others from the oldest on."""
    return await store.list_schedules(work.db, owner.id)


async def list_schedule_overviews(work: Work, owner: User) -> list[ScheduleOverview]:
    return await store.list_overviews(work.db, owner.id)


async def change_schedule(work: Work, schedule: Schedule) -> Schedule:
    checked = check_schedule(schedule)
    await store.update_schedule(work.db, checked, now=work.now)
    return checked


async def duplicate_schedule(work: Work, owner: User, schedule_id: UUID, *, name: str) -> Schedule:
    source = await get_schedule(work, owner, schedule_id)
    made = await add_schedule(work, owner, name=name, zone=source.zone, hours=source.weekly_hours)
    return await change_schedule(work, replace(made, overrides=source.overrides, holidays=source.holidays))


async def make_schedule_default(work: Work, owner: User, schedule_id: UUID) -> None:
    if not await store.set_default(work.db, owner.id, schedule_id, now=work.now):
        raise errors.ScheduleNotFound


async def delete_schedule(work: Work, schedule: Schedule) -> None:
    """Delete a schedule that no event type uses, unless it is the host's last one."""
    # Without the lock, two windows could each delete the schedule that the other one relies on.
    await lock_host(work.db, schedule.owner_id)
    if await store.count_schedules(work.db, schedule.owner_id) == 1:
        raise errors.LastScheduleRequired
    try:
        gone = await store.delete_schedule(work.db, schedule.owner_id, schedule.id)
    except asyncpg.ForeignKeyViolationError:
        raise errors.ScheduleInUse from None
    if not gone:
        raise errors.ScheduleNotFound


async def add_out_of_office(work: Work, owner: User, away: OutOfOffice) -> UUID:
    """Add a time away, which applies to all schedules of a host."""
    faults = find_out_of_office_faults(away)
    if faults:
        raise Invalid(details=faults)
    return await store.insert_out_of_office(work.db, owner.id, away, now=work.now)


async def list_out_of_office(work: Work, owner: User) -> list[tuple[UUID, OutOfOffice]]:
    return await store.list_out_of_office(work.db, owner.id, ending_after=work.now)


async def list_absences(work: Work, owner: User) -> list[Absence]:
    """Read a host's times away that are not over, with how many upcoming bookings are in each."""
    return await store.list_absences(work.db, owner.id, now=work.now)


async def remove_out_of_office(work: Work, owner: User, away_id: UUID) -> None:
    if not await store.delete_out_of_office(work.db, owner.id, away_id):
        raise errors.OutOfOfficeNotFound


def check_schedule(schedule: Schedule) -> Schedule:
    """Return a schedule as it is stored, or refuse it with every fault."""
    faults = find_schedule_faults(schedule)
    if faults:
        raise Invalid(details=faults)
    return replace(schedule, name=schedule.name.strip(), zone=str(find_zone(schedule.zone)))


MAX_DAYS = 366


async def change_schedule_hours(
    work: Work, owner: User, schedule_id: UUID, hours: WeeklyHours, *, version: str
) -> Schedule:
    """Save the weekly hours, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    _check_version(schedule.weekly_hours, version)
    return await _save(work, replace(schedule, weekly_hours=hours))


async def change_schedule_details(
    work: Work, owner: User, schedule_id: UUID, *, name: str, zone: str, version: str
) -> Schedule:
    """Save the name and the time zone, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    _check_version((schedule.name, schedule.zone), version)
    return await _save(work, replace(schedule, name=name, zone=zone))


async def change_schedule_holidays(
    work: Work, owner: User, schedule_id: UUID, holidays: HolidayCalendar | None, *, version: str
) -> Schedule:
    """Save whose public holidays are free, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    _check_version(schedule.holidays, version)
    return await _save(work, replace(schedule, holidays=holidays))


async def add_schedule_overrides(
    work: Work, owner: User, schedule_id: UUID, *, first: date, last: date, hours: Hours
) -> Schedule:
    """Give some dates hours of their own; none of them may have any."""
    schedule = await _lock(work, owner, schedule_id)
    if not timedelta() <= last - first < timedelta(days=MAX_DAYS):
        raise Invalid(details={"last": Text("must be at most a year after the first day, and not before it")})
    days = [first + timedelta(days=each) for each in range((last - first).days + 1)]
    for override in schedule.overrides:
        if first <= override.on <= last:
            raise errors.OverrideAlreadyExists(override.on)
    added = (*schedule.overrides, *(DateOverride(on, hours) for on in days))
    return await _save(work, replace(schedule, overrides=tuple(sorted(added, key=lambda each: each.on))))


async def change_schedule_override(
    work: Work, owner: User, schedule_id: UUID, override: DateOverride, *, version: str
) -> Schedule:
    """Save the hours of one date, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    found = require(find_override(schedule, override.on), errors.OverrideNotFound)
    _check_version(found.hours, version)
    kept = tuple(override if each.on == override.on else each for each in schedule.overrides)
    return await _save(work, replace(schedule, overrides=kept))


async def remove_schedule_override(work: Work, owner: User, schedule_id: UUID, on: date) -> Schedule:
    """Let a date have the hours of its weekday again."""
    schedule = await _lock(work, owner, schedule_id)
    if find_override(schedule, on) is None:
        raise errors.OverrideNotFound
    kept = tuple(each for each in schedule.overrides if each.on != on)
    return await _save(work, replace(schedule, overrides=kept))


async def _lock(work: Work, owner: User, schedule_id: UUID) -> Schedule:
    return require(await store.find_schedule(work.db, owner.id, schedule_id, lock=True), errors.ScheduleNotFound)


def _check_version(part: object, version: str) -> None:
    if version_of(part) != version:
        raise errors.ScheduleChanged


async def _save(work: Work, schedule: Schedule) -> Schedule:
    checked = check_schedule(schedule)
    await store.update_schedule(work.db, checked, now=work.now)
    return checked
