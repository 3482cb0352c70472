"""Hours: when a schedule lets its host work, the holidays in it, and the stretches of starts that it gives."""

from collections.abc import Iterator
from datetime import date
from itertools import chain, pairwise

from msgspec import Struct

from openslot.domains.availability.grid import Interval, merge, subtract
from openslot.domains.event_types.models import EventType
from openslot.domains.schedules.models import Hours, Schedule
from openslot.domains.schedules.rules import holidays_of
from openslot.platform.core.times import (
    DAY,
    Offsets,
    date_of,
    day_number,
    get_offsets,
    get_zone,
    instant_of,
    local_day,
)

_MONDAY = 4  # 5 January 1970, the first Monday that day numbers know


class WorkedHours(Struct, frozen=True):
    """The working ranges around some days, and where starts are in them."""

    ranges: list[Interval]
    """The hours, weekly or override, merged where they touch or overlap."""

    stretches: list[Interval]
    """Runs of starts: from the first, which the step counts from, to the second after the last."""

    holidays: list[tuple[int, int, int]]
    """The parts of the ranges that public holidays close: start, end, and the day number of the holiday."""


def find_hours(schedule: Schedule, asked: Interval, *, duration: int) -> WorkedHours:
    """Find the hours of a host around a span in which meetings begin."""
    zone = get_zone(schedule.zone)
    first_day, last_day = local_day(zone, asked[0]), local_day(zone, asked[1] + duration) + 1
    offsets = get_offsets(zone, date_of(first_day), date_of(last_day))
    return hours_of_days(schedule, offsets, first_day, last_day, duration=duration)


def hours_of_days(schedule: Schedule, offsets: Offsets, first_day: int, last_day: int, *, duration: int) -> WorkedHours:
    """Find the hours of some days, such that the starts of a day do not depend on which days are asked."""
    # Hours that continue past midnight may have begun long ago, but their steps restart on the Monday after a full
    # week.
    lookback = (first_day + 3) % 7 + 8 if _run_late(schedule) else 1
    worked: list[Interval] = []
    shut: list[tuple[int, int, int]] = []
    own_hours = {day_number(override.on) for override in schedule.overrides if override.hours}
    days_off = find_holidays(schedule, first_day - lookback, last_day).keys() - own_hours
    for day, hours in _list_hours(schedule, first_day - lookback, last_day):
        spans = _as_instants(offsets, day, hours)
        if day in days_off:
            shut += [(start, end, day) for start, end in spans]
        else:
            worked += spans
    ranges = merge(worked + [(start, end) for start, end, _ in shut])
    closed = list(_close(shut, merge(worked))) if shut else []
    return WorkedHours(ranges, list(_stretch(offsets, ranges, duration)), closed)


def list_open_hours(schedule: Schedule, first_day: int, last_day: int) -> list[Interval]:
    """List the hours of some days of the schedule's calendar, by day number, without public holidays."""
    offsets = get_offsets(get_zone(schedule.zone), date_of(first_day), date_of(last_day))
    hours = hours_of_days(schedule, offsets, first_day, last_day, duration=60)
    return subtract(hours.ranges, merge(hours.holidays))


def step_of(event_type: EventType) -> int:
    """Return the seconds from one start of the grid to the next, the same for each duration."""
    return (event_type.slot_interval_minutes or event_type.duration_minutes) * 60


def find_holidays(schedule: Schedule, first_day: int, last_day: int) -> dict[int, str]:
    """Name the public holidays among some days by day number."""
    if schedule.holidays is None:
        return {}
    years = range(date_of(first_day).year, date_of(last_day).year + 1)
    named: dict[date, str] = {}
    for year in years:
        named |= holidays_of(schedule.holidays, year)
    return {day_number(on): name for on, name in named.items()}


def _run_late(schedule: Schedule) -> bool:
    """Return whether hours can reach the next day: no gap of a zone is so long that those until 20:00 do."""
    hours = chain(schedule.weekly_hours, (override.hours for override in schedule.overrides))
    return any(each.end_minute > 20 * 60 for day in hours for each in day)


def _list_hours(schedule: Schedule, first_day: int, last_day: int) -> Iterator[tuple[int, Hours]]:
    weekly = schedule.weekly_hours
    overrides = {day_number(override.on): override.hours for override in schedule.overrides}
    for day in range(first_day, last_day + 1):
        hours = overrides.get(day, weekly[(day + 3) % 7])
        if hours:
            yield day, hours


def _as_instants(offsets: Offsets, day: int, hours: Hours) -> list[Interval]:
    midnight = day * DAY
    spans = [
        (instant_of(offsets, midnight + each.start_minute * 60), instant_of(offsets, midnight + each.end_minute * 60))
        for each in hours
    ]
    return [span for span in spans if span[0] < span[1]]


def _stretch(offsets: Offsets, ranges: list[Interval], duration: int) -> Iterator[Interval]:
    for start, end in ranges:
        mondays = _list_mondays(offsets, start, end) if end - start >= 6 * DAY else ()
        for anchor, following in pairwise((start, *mondays, end)):
            if anchor + duration <= end:
                yield anchor, min(following, end - duration + 1)


def _list_mondays(offsets: Offsets, start: int, end: int) -> list[int]:
    """List the Mondays at which a range that was open for the whole week before restarts its steps."""
    first = (start // DAY - _MONDAY) // 7 * 7 + _MONDAY
    mondays = [instant_of(offsets, day * DAY) for day in range(first, end // DAY + 2, 7)]
    return [monday for before, monday in pairwise(mondays) if start <= before and monday < end]


def _close(shut: list[tuple[int, int, int]], worked: list[Interval]) -> Iterator[tuple[int, int, int]]:
    """Leave to a holiday what the hours of the days around it do not reach."""
    for start, end, day in shut:
        for begin, until in subtract([(start, end)], worked):
            yield begin, until, day
