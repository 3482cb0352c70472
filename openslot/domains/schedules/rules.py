"""Decisions about schedules: what is valid, and which hours and holidays a date has."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from hashlib import sha256

import msgspec
from msgspec import Struct

from openslot.domains.schedules.models import (
    WEEKDAYS,
    DateOverride,
    HolidayCalendar,
    Hours,
    OutOfOffice,
    Schedule,
    TimeRange,
)
from openslot.platform.core import times
from openslot.platform.core.text import is_line
from openslot.platform.i18n import Text

MINUTES_A_DAY = 1440
MAX_RANGES_A_DAY = 24
MAX_OVERRIDES = 1000
MAX_OUT_OF_OFFICE = 1000

_COUNTRY = re.compile(r"[A-Z]{2}", re.ASCII)


def write_minute(minute: int) -> str:
    """Write minutes after midnight as a clock shows them; only midnight at a day's end is 24:00."""
    if minute > MINUTES_A_DAY:
        minute -= MINUTES_A_DAY
    return f"{minute // 60:02d}:{minute % 60:02d}"


def version_of(part: object) -> str:
    """Name the current state of a part of a schedule; another state has another name."""
    return sha256(msgspec.json.encode(part)).hexdigest()[:16]


def find_override(schedule: Schedule, on: date) -> DateOverride | None:
    return next((each for each in schedule.overrides if each.on == on), None)


def hours_on(schedule: Schedule, on: date) -> Hours:
    override = find_override(schedule, on)
    return schedule.weekly_hours[on.weekday()] if override is None else override.hours


# benchmarks/caches.py: find 7 days of slots with holidays, 4.5 times
@lru_cache(maxsize=2048)
def holidays_of(calendar: HolidayCalendar, year: int) -> Mapping[date, str]:
    """List a year's public holidays with their names, days off in lieu included."""
    found = _load(calendar, years=year, language="en_US")
    return {on: name for on, name in found.items() if on.year == year}


def list_holiday_countries() -> tuple[str, ...]:
    from holidays import list_supported_countries  # noqa: PLC0415

    return tuple(sorted(code for code in list_supported_countries() if _COUNTRY.fullmatch(code)))


def list_holiday_regions(country: str) -> Mapping[str, str]:
    """Name the regions of a country that have public holidays of their own, by their codes."""
    from holidays import country_holidays  # noqa: PLC0415

    aliases = country_holidays(country).get_subdivision_aliases()
    return {code: names[0] if names else code for code, names in aliases.items()}


def find_schedule_faults(schedule: Schedule) -> dict[str, str]:
    """Name every invalid field of a schedule, and what is wrong with it."""
    return {
        **_name_faults(schedule),
        **dict(_weekly_faults(schedule.weekly_hours)),
        **dict(_override_faults(schedule.overrides)),
        **dict(_out_of_office_faults(schedule.out_of_office)),
        **find_holiday_faults(schedule.holidays),
    }


def find_holiday_faults(calendar: HolidayCalendar | None) -> dict[str, str]:
    if calendar is None:
        return {}
    if not _COUNTRY.fullmatch(calendar.country) or not _has_holidays(HolidayCalendar(calendar.country)):
        return {"holidays.country": Text("must be a country with known holidays, in two letters such as US or DE")}
    if not _has_holidays(calendar):
        return {
            "holidays.region": Text(
                "must be a region of %(country)s with holidays of its own", country=calendar.country
            )
        }
    return {}


def _has_holidays(calendar: HolidayCalendar) -> bool:
    try:
        _load(calendar)
    except NotImplementedError:
        return False
    return True


def _load(calendar: HolidayCalendar, *, years: int | None = None, language: str | None = None) -> Mapping[date, str]:
    # Loaded for the first schedule that has holidays: every start of a process would wait for the library.
    from holidays import country_holidays  # noqa: PLC0415

    return country_holidays(calendar.country, subdiv=calendar.region, years=years, language=language)


def _name_faults(schedule: Schedule) -> dict[str, str]:
    faults: dict[str, str] = {}
    if not schedule.name.strip() or len(schedule.name) > 200:
        faults["name"] = Text("must be 1 to 200 characters")
    if times.find_zone(schedule.zone) is None:
        faults["timezone"] = times.NOT_A_ZONE
    return faults


def _weekly_faults(weekly: tuple[Hours, ...]) -> Iterator[tuple[str, str]]:
    if len(weekly) != len(WEEKDAYS):
        yield "weeklyHours", Text("must have seven days, Monday first")
    for weekday, hours in zip(WEEKDAYS, weekly, strict=False):
        yield from _hours_faults(f"weeklyHours.{weekday}", hours)


def _override_faults(overrides: tuple[DateOverride, ...]) -> Iterator[tuple[str, str]]:
    if len(overrides) > MAX_OVERRIDES:
        yield "dateOverrides", Text("must have at most %(count)s dates", count=MAX_OVERRIDES)
    seen: set[date] = set()
    for index, override in enumerate(overrides):
        if override.on in seen:
            yield f"dateOverrides.{index}.date", Text("is used twice")
        seen.add(override.on)
        yield from _hours_faults(f"dateOverrides.{index}.hours", override.hours)


def _hours_faults(path: str, hours: Hours) -> Iterator[tuple[str, str]]:
    if len(hours) > MAX_RANGES_A_DAY:
        yield path, Text("must have at most %(count)s ranges a day", count=MAX_RANGES_A_DAY)
    for index, each in enumerate(hours):
        if not 0 <= each.start_minute < MINUTES_A_DAY:
            yield f"{path}.{index}.start", Text("must be from 00:00 to 23:59")
        if not each.start_minute < each.end_minute < each.start_minute + MINUTES_A_DAY + (each.start_minute == 0):
            yield f"{path}.{index}.end", Text("must be later than the start and within 24 hours of it")


def _out_of_office_faults(spans: tuple[OutOfOffice, ...]) -> Iterator[tuple[str, str]]:
    if len(spans) > MAX_OUT_OF_OFFICE:
        yield "outOfOffice", Text("must have at most %(max)s entries", max=MAX_OUT_OF_OFFICE)
    for index, span in enumerate(spans):
        if span.starts_at.tzinfo is None or span.ends_at.tzinfo is None:
            yield f"outOfOffice.{index}.from", Text("must have an offset, such as Z")
        elif span.ends_at <= span.starts_at:
            yield f"outOfOffice.{index}.to", Text("must be later than from")


def find_out_of_office_faults(away: OutOfOffice) -> dict[str, str]:
    faults = {path.rpartition(".")[2]: words for path, words in _out_of_office_faults((away,))}
    if len(away.reason) > 200 or not is_line(away.reason):
        faults["reason"] = Text("must be at most 200 characters on one line")
    return faults


class ChangedRange(Struct, frozen=True):
    """A range of hours during which clocks are changed, and how many minutes it really lasts."""

    hours: TimeRange
    minutes: int


class ClockChange(Struct, frozen=True, kw_only=True):
    """A change of a zone's clock that falls into a schedule's hours."""

    on: date
    from_time: datetime
    """The time that clocks show just before the change."""
    to_time: datetime
    """The time that they show just after it."""
    ranges: tuple[ChangedRange, ...]

    @property
    def is_forward(self) -> bool:
        """Whether some local times are skipped."""
        return self.to_time > self.from_time


def find_clock_changes(schedule: Schedule, *, first: date, last: date) -> tuple[ClockChange, ...]:
    """List the changes on some days that make a range of hours shorter or longer."""
    offsets = times.get_offsets(times.get_zone(schedule.zone), first, last)
    changes = zip(offsets.starts[1:], offsets.seconds, offsets.seconds[1:], strict=False)
    found = (_describe(schedule, offsets, at, before, after) for at, before, after in changes)
    return tuple(each for each in found if first <= each.on <= last and each.ranges)


def _describe(schedule: Schedule, offsets: times.Offsets, at: int, before: int, after: int) -> ClockChange:
    from_time, to_time = (times.at_second(at + offset).replace(tzinfo=None) for offset in (before, after))
    on = min(from_time, to_time).date()
    days = (on - timedelta(days=1), on)
    ranges = (_measure(offsets, each_day, each) for each_day in days for each in hours_on(schedule, each_day))
    return ClockChange(on=on, from_time=from_time, to_time=to_time, ranges=tuple(each for each in ranges if each))


def _measure(offsets: times.Offsets, on: date, hours: TimeRange) -> ChangedRange | None:
    midnight = times.day_number(on) * times.DAY
    start, end = (
        times.instant_of(offsets, midnight + minute * 60) for minute in (hours.start_minute, hours.end_minute)
    )
    minutes = max(end - start, 0) // 60
    return None if minutes == hours.end_minute - hours.start_minute else ChangedRange(hours, minutes)
