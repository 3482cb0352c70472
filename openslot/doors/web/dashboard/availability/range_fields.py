"""Hours as pairs of fields: read as typed, checked field by field, and shown again with notes and faults."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.reasons import HoursInWords, LengthOfTime, WeekdayName
from openslot.domains.schedules.models import Hours, TimeRange, WeeklyHours
from openslot.domains.schedules.rules import MAX_RANGES_A_DAY, MINUTES_A_DAY, write_minute
from openslot.platform.i18n import Text

NOT_A_TIME = Text("must be a time, such as 09:00")
NOT_A_START = Text("must be from 00:00 to 23:59")
NO_LENGTH = Text("must differ from the start. For the whole day, use 00:00 to 24:00")
MAX_TYPED = 20

_CLOCK = re.compile(r"(\d{1,2})(?:[:.h](\d{2}))? ?(?:(a|p)\.?m\.?)?")


class RangeFields(Struct, frozen=True, kw_only=True):
    name: str
    start: str = ""
    end: str = ""
    note: Text | None = None
    start_fault: Text | None = None
    end_fault: Text | None = None


class DayFields(Struct, frozen=True, kw_only=True):
    prefix: str
    name: WeekdayName | None
    ranges: tuple[RangeFields, ...]
    hours: Hours
    """The hours of the valid ranges."""

    @property
    def is_full(self) -> bool:
        """Whether there can't be another range."""
        return len(self.ranges) >= MAX_RANGES_A_DAY


Typed = tuple[str, str]


def find_clock(text: str) -> int | None:
    """Read a clock time as people type it, such as 9, 9:30, 17.30, 5 pm or 24:00, as minutes after midnight."""
    found = _CLOCK.fullmatch(unicodedata.normalize("NFKC", text).strip().lower())
    if found is None:
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    total = hour * 60 + minute
    return total if minute < 60 and total <= MINUTES_A_DAY else None


def read_typed(values: Mapping[str, str], prefix: str) -> list[Typed]:
    """Return what was typed into the fields of a day, in their order, without pairs that are empty."""
    shape = re.compile(rf"{re.escape(prefix)}\.(\d{{1,3}})\.(?:start|end)", re.ASCII)
    places = sorted({int(found[1]) for name in values if (found := shape.fullmatch(name))})
    pairs = [
        (values.get(f"{prefix}.{place}.start", "").strip(), values.get(f"{prefix}.{place}.end", "").strip())
        for place in places[: MAX_RANGES_A_DAY + 1]
    ]
    return [(start[:MAX_TYPED], end[:MAX_TYPED]) for start, end in pairs]


def write_hours(hours: Hours) -> list[Typed]:
    """Write hours as they would be typed."""
    return [(write_minute(each.start_minute), write_minute(each.end_minute)) for each in hours]


def fill_day(
    prefix: str, typed: Iterable[Typed], *, weekday: int | None = None, before: Hours = (), may_be_empty: bool = True
) -> DayFields:
    """Check and describe what was typed for a day, given the hours of the day before, which may reach into it."""
    late = [TimeRange(0, each.end_minute - MINUTES_A_DAY) for each in before if each.end_minute > MINUTES_A_DAY]
    earlier: list[TimeRange] = []
    fields: list[RangeFields] = []
    for index, (start, end) in enumerate(typed):
        blank = RangeFields(name=f"{prefix}.{index}", start=start, end=end)
        checked, hours = (
            _check(blank, [*late, *earlier], weekday) if start or end or not may_be_empty else (blank, None)
        )
        fields.append(checked)
        if hours is not None:
            earlier.append(hours)
    name = None if weekday is None else WeekdayName(weekday)
    return DayFields(prefix=prefix, name=name, ranges=tuple(fields), hours=tuple(sorted(earlier)))


def fill_week(typed: list[list[Typed]], *, may_be_empty: bool = True) -> tuple[DayFields, ...]:
    """Check and describe what was typed for a week, Monday first."""
    alone = [fill_day(f"d{day}", each) for day, each in enumerate(typed)]
    return tuple(
        fill_day(f"d{day}", each, weekday=day, before=alone[day - 1].hours, may_be_empty=may_be_empty)
        for day, each in enumerate(typed)
    )


def find_faults(days: Iterable[DayFields]) -> dict[str, str]:
    return {
        f"{each.name}.{part}": fault
        for day in days
        for each in day.ranges
        for part, fault in (("start", each.start_fault), ("end", each.end_fault))
        if fault
    }


def week_of(days: tuple[DayFields, ...]) -> WeeklyHours:
    """Return the hours of a week without faults."""
    return cast("WeeklyHours", tuple(day.hours for day in days))


def _check(fields: RangeFields, others: list[TimeRange], weekday: int | None) -> tuple[RangeFields, TimeRange | None]:
    """Find the faults of a range, or the note that describes it."""
    start, end = find_clock(fields.start), find_clock(fields.end)
    start_fault = NOT_A_TIME if start is None else NOT_A_START if start == MINUTES_A_DAY else None
    end_fault = NOT_A_TIME if end is None else NO_LENGTH if start == end and start_fault is None else None
    if start is None or end is None or start_fault or end_fault:
        return replace(fields, start_fault=start_fault, end_fault=end_fault), None
    hours = TimeRange(start, end if end > start else end + MINUTES_A_DAY)
    hit = next((each for each in others if each.start_minute < hours.end_minute and start < each.end_minute), None)
    if hit is not None:
        return replace(fields, start_fault=Text("overlaps %(hours)s", hours=HoursInWords((hit,)))), None
    return replace(fields, note=next(_notes(hours, others, weekday), None)), hours


def _notes(hours: TimeRange, others: list[TimeRange], weekday: int | None) -> Iterator[Text]:
    if hours.end_minute > MINUTES_A_DAY:
        yield (
            Text("Ends on the next day")
            if weekday is None
            else Text("Ends on %(day)s", day=WeekdayName((weekday + 1) % 7))
        )
    ends = [each.end_minute for each in others if each.end_minute <= hours.start_minute]
    if ends and max(ends) == hours.start_minute:
        yield Text("Starts right after the previous range")
    elif ends:
        yield Text("After a break of %(length)s", length=LengthOfTime(hours.start_minute - max(ends)))
