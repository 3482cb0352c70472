"""Days on which clocks are changed during a schedule's hours: a range is shorter or longer than it looks."""

from datetime import date, datetime, timedelta

from msgspec import Struct

from openslot.core.zones import DAY, Offsets, at_second, day_number, get_offsets, get_zone, instant_of
from openslot.schedules.models import Schedule, TimeRange
from openslot.schedules.rules import hours_on


class ChangedRange(Struct, frozen=True):
    """A range of hours during which clocks are changed, and how many minutes it really lasts."""

    hours: TimeRange
    minutes: int


class ClockChange(Struct, frozen=True, kw_only=True):
    """A change of a zone's clock that falls into a schedule's hours."""

    on: date
    from_time: datetime
    """What clocks show when they are changed."""
    to_time: datetime
    """What they show then."""
    ranges: tuple[ChangedRange, ...]

    @property
    def is_forward(self) -> bool:
        """Whether some local times are skipped."""
        return self.to_time > self.from_time


def find_clock_changes(schedule: Schedule, *, first: date, last: date) -> tuple[ClockChange, ...]:
    """List the changes on some days that make a range of hours shorter or longer."""
    offsets = get_offsets(get_zone(schedule.zone), first, last)
    changes = zip(offsets.starts[1:], offsets.seconds, offsets.seconds[1:], strict=False)
    found = (_describe(schedule, offsets, at, before, after) for at, before, after in changes)
    return tuple(each for each in found if first <= each.on <= last and each.ranges)


def _describe(schedule: Schedule, offsets: Offsets, at: int, before: int, after: int) -> ClockChange:
    from_time, to_time = (at_second(at + offset).replace(tzinfo=None) for offset in (before, after))
    on = min(from_time, to_time).date()
    days = (on - timedelta(days=1), on)
    ranges = (_measure(offsets, each_day, each) for each_day in days for each in hours_on(schedule, each_day))
    return ClockChange(on=on, from_time=from_time, to_time=to_time, ranges=tuple(each for each in ranges if each))


def _measure(offsets: Offsets, on: date, hours: TimeRange) -> ChangedRange | None:
    midnight = day_number(on) * DAY
    start, end = (instant_of(offsets, midnight + minute * 60) for minute in (hours.start_minute, hours.end_minute))
    minutes = max(end - start, 0) // 60
    return None if minutes == hours.end_minute - hours.start_minute else ChangedRange(hours, minutes)
