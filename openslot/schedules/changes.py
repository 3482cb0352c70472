"""Changes of one part of a schedule, which leave the others alone and do not undo what another window has saved."""

from datetime import date, timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.schedules import store
from openslot.schedules.errors import OverrideExists, OverrideNotFound, ScheduleChanged, ScheduleNotFound
from openslot.schedules.models import DateOverride, HolidayCalendar, Hours, Schedule, WeeklyHours
from openslot.schedules.operations import check_schedule
from openslot.schedules.rules import find_override, version_of

MOST_DAYS = 366


async def change_hours(work: Work, owner: User, schedule_id: UUID, hours: WeeklyHours, *, version: str) -> Schedule:
    """Save the weekly hours, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    _check_version(schedule.weekly_hours, version)
    return await _save(work, replace(schedule, weekly_hours=hours))


async def change_details(work: Work, owner: User, schedule_id: UUID, *, name: str, zone: str, version: str) -> Schedule:
    """Save the name and the time zone, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    _check_version((schedule.name, schedule.zone), version)
    return await _save(work, replace(schedule, name=name, zone=zone))


async def change_holidays(
    work: Work, owner: User, schedule_id: UUID, holidays: HolidayCalendar | None, *, version: str
) -> Schedule:
    """Save whose public holidays are free, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    _check_version(schedule.holidays, version)
    return await _save(work, replace(schedule, holidays=holidays))


async def add_overrides(
    work: Work, owner: User, schedule_id: UUID, *, first: date, last: date, hours: Hours
) -> Schedule:
    """Give some dates hours of their own; none of them may have any."""
    schedule = await _lock(work, owner, schedule_id)
    if not timedelta() <= last - first < timedelta(days=MOST_DAYS):
        raise Invalid(details={"last": Text("must be at most a year after the first day, and not before it")})
    days = [first + timedelta(days=each) for each in range((last - first).days + 1)]
    for override in schedule.overrides:
        if first <= override.on <= last:
            raise OverrideExists(override.on)
    added = (*schedule.overrides, *(DateOverride(on, hours) for on in days))
    return await _save(work, replace(schedule, overrides=tuple(sorted(added, key=lambda each: each.on))))


async def change_override(
    work: Work, owner: User, schedule_id: UUID, override: DateOverride, *, version: str
) -> Schedule:
    """Save the hours of one date, unless they are not those whose version was read."""
    schedule = await _lock(work, owner, schedule_id)
    found = find_override(schedule, override.on)
    if found is None:
        raise OverrideNotFound
    _check_version(found.hours, version)
    kept = tuple(override if each.on == override.on else each for each in schedule.overrides)
    return await _save(work, replace(schedule, overrides=kept))


async def remove_override(work: Work, owner: User, schedule_id: UUID, on: date) -> Schedule:
    """Let a date have the hours of its weekday again."""
    schedule = await _lock(work, owner, schedule_id)
    if find_override(schedule, on) is None:
        raise OverrideNotFound
    kept = tuple(each for each in schedule.overrides if each.on != on)
    return await _save(work, replace(schedule, overrides=kept))


async def _lock(work: Work, owner: User, schedule_id: UUID) -> Schedule:
    schedule = await store.find_schedule(work.db, owner.id, schedule_id, lock=True)
    if schedule is None:
        raise ScheduleNotFound
    return schedule


def _check_version(part: object, version: str) -> None:
    if version_of(part) != version:
        raise ScheduleChanged


async def _save(work: Work, schedule: Schedule) -> Schedule:
    checked = check_schedule(schedule)
    await store.update_schedule(work.db, checked, now=work.now)
    return checked
