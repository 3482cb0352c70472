"""A second opinion on which starts are open: minute by minute in UTC, sharing no code with the engine."""

from array import array
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

DAY = 1440
LOOKBACK, LOOKAHEAD = 24, 8
EPOCH = date(1970, 1, 1)

Minutes = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A question in plain values; instants are minutes since 1970 in UTC, hours are minutes after midnight."""

    zone: str
    viewer: str
    first: date
    last: date
    now: int
    weekly: tuple[tuple[Minutes, ...], ...]
    overrides: dict[date, tuple[Minutes, ...]] = field(default_factory=dict)
    away: tuple[Minutes, ...] = ()
    holidays: frozenset[date] = frozenset()
    duration: int = 30
    before: int = 0
    after: int = 0
    interval: int | None = None
    notice: int = 0
    window: tuple[str, int] | tuple[date, date] = ("rolling", 60)
    per_day: int | None = None
    per_week: int | None = None
    claims: tuple[Minutes, ...] = ()
    sessions: tuple[tuple[int, int, int, int], ...] = ()  # claimed from, claimed to, start, seats left
    busy: tuple[Minutes, ...] = ()
    booked: tuple[int, ...] = ()
    default: int | None = None  # the event type's default duration, if another one is asked for


@dataclass(frozen=True)
class Opinion:
    """Every start that the hours give, and those of them that are open."""

    grid: list[int]
    open: list[int]


@lru_cache(maxsize=20_000)
def wall_clock(zone: str, day: int) -> "array[int]":
    """Read the zone's clock at every minute of a UTC day, as minutes since 1970 by that clock."""
    first, last = day * DAY, (day + 1) * DAY
    begin, end = read_clock(zone, first), read_clock(zone, last)
    # No zone changes its clocks there and back within a day.
    if end - begin == DAY:
        return array("i", range(begin, end))
    return array("i", (read_clock(zone, minute) for minute in range(first, last)))


def read_clock(zone: str, minute: int) -> int:
    """Read the zone's clock at a minute since 1970 in UTC, as minutes since 1970 by that clock."""
    shown = datetime.fromtimestamp(minute * 60, ZoneInfo(zone))
    return (shown.toordinal() - EPOCH.toordinal()) * DAY + shown.hour * 60 + shown.minute


@lru_cache(maxsize=200_000)
def first_minute(zone: str, wall: int) -> int:
    """Find the first minute at which a zone's clock shows this time or a later one, no clock being 15 hours off."""
    for day in range((wall - 15 * 60) // DAY, (wall + 15 * 60) // DAY + 1):
        shown = wall_clock(zone, day)
        if shown[-1] - shown[0] == DAY - 1:
            minute = max(wall - shown[0], 0)
        else:
            minute = next((minute for minute, clock in enumerate(shown) if clock >= wall), DAY)
        if minute < DAY:
            return day * DAY + minute
    raise AssertionError(f"a clock in {zone} is 15 hours off")


class Look:
    """One case with its minutes laid out."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.zone = ZoneInfo(case.zone)
        self.day0 = (case.first - EPOCH).days - LOOKBACK
        self.days = (case.last - EPOCH).days + LOOKAHEAD - self.day0
        self.clock = array("i")
        for day in range(self.day0, self.day0 + self.days):
            self.clock += wall_clock(case.zone, day)
        self.size = self.days * DAY
        self.base = self.day0 * DAY
        inner = range(self.day0 + 1, self.day0 + self.days - 1)
        self.mondays = [self.first_minute(day * DAY) for day in inner if self._is_monday(day)]

    def first_minute(self, wall: int) -> int:
        """Find the first minute at which the clock shows this time or a later one."""
        return min(max(first_minute(self.case.zone, wall) - self.base, 0), self.size)

    def _is_monday(self, day: int) -> bool:
        return (EPOCH + timedelta(days=day)).isoweekday() == 1

    def hours(self, on: date) -> tuple[Minutes, ...]:
        return self.case.overrides.get(on, self.case.weekly[on.weekday()])

    def host_date(self, at: int) -> date:
        return EPOCH + timedelta(days=self.clock[at] // DAY)

    def date_of(self, instant: int) -> date:
        return datetime.fromtimestamp(instant * 60, self.zone).date()

    def mark(self, spans: tuple[Minutes, ...]) -> bytearray:
        marked = bytearray(self.size)
        for start, end in spans:
            low, high = max(start - self.base, 0), min(end - self.base, self.size)
            marked[low:high] = b"\1" * (high - low)
        return marked


def is_marked(minutes: bytearray, start: int, end: int) -> bool:
    """Tell whether each of these minutes is marked."""
    return minutes.find(0, start, end) < 0


def is_touched(minutes: bytearray, start: int, end: int) -> bool:
    """Tell whether any of these minutes is marked."""
    return minutes.find(1, start, end) >= 0


def consult(case: Case) -> Opinion:
    """List the starts of the grid on the asked days, and which of them are open."""
    look = Look(case)
    working, plain = bytearray(look.size), bytearray(look.size)
    for number in range(look.days - 3):
        on = EPOCH + timedelta(days=look.day0 + 1 + number)
        for opens, closes in look.hours(on):
            start = look.first_minute((look.day0 + 1 + number) * DAY + opens)
            end = look.first_minute((look.day0 + 1 + number) * DAY + closes)
            working[start:end] = b"\1" * max(end - start, 0)
            if on not in case.holidays or case.overrides.get(on):
                plain[start:end] = b"\1" * max(end - start, 0)
    grid = [at for at in list_grid(look, working) if is_asked(look, at)]
    away, busy = look.mark(case.away), look.mark(case.busy)
    taken = look.mark(case.claims + tuple((start, end) for start, end, _, _ in case.sessions))
    last = last_of_window(look)
    opened = [
        at
        for at in grid
        if is_marked(plain, at, at + case.duration)
        and not is_touched(away, at, at + case.duration)
        and is_free(look, at, taken, busy)
        and is_in_time(look, at, last)
        and is_within_limits(look, at)
    ]
    return Opinion([at + look.base for at in grid], [at + look.base for at in opened])


def list_grid(look: Look, working: bytearray) -> list[int]:
    """Count steps from the beginning of each unbroken stretch of working minutes."""
    case, starts = look.case, list[int]()
    step = case.interval or case.default or case.duration
    end = 0
    while (start := working.find(1, end)) >= 0:
        end = working.find(0, start)
        anchor = start
        for monday in find_mondays(look, start, end):
            starts += range(anchor, min(monday, end - case.duration + 1), step)
            anchor = monday
        starts += range(anchor, end - case.duration + 1, step)
    return starts


def find_mondays(look: Look, start: int, end: int) -> list[int]:
    """Find the Mondays whose whole week before was worked without a break."""
    return [monday for before, monday in pairwise([-1, *look.mondays]) if start <= before and monday < end]


def is_asked(look: Look, at: int) -> bool:
    if not (LOOKBACK - 2) * DAY <= at < look.size - (LOOKAHEAD - 3) * DAY:
        return False  # no calendar is two days off; this spares the look at it
    viewer = ZoneInfo(look.case.viewer)
    instant = datetime.fromtimestamp((look.base + at) * 60, viewer)
    return look.case.first <= instant.date() <= look.case.last


def is_free(look: Look, at: int, taken: bytearray, busy: bytearray) -> bool:
    case = look.case
    blocked = at - case.before, at + case.duration + case.after
    if is_touched(busy, *blocked):
        return False
    for _, _, start, seats_left in case.sessions:
        if start == look.base + at:
            return seats_left > 0
    return not is_touched(taken, *blocked)


def is_in_time(look: Look, at: int, last: date) -> bool:
    case = look.case
    first = case.window[0] if isinstance(case.window[0], date) else look.date_of(case.now)
    return look.base + at >= case.now + case.notice and first <= look.host_date(at) <= last


def last_of_window(look: Look) -> date:
    kind, extent = look.case.window
    today = look.date_of(look.case.now)
    if isinstance(extent, date):
        return extent
    if kind == "rolling":
        return today + timedelta(days=extent)
    while extent:
        today += timedelta(days=1)
        if today.isoweekday() < 6 and today not in look.case.holidays:
            extent -= 1
    return today


def is_within_limits(look: Look, at: int) -> bool:
    case, on = look.case, look.host_date(at)
    booked = [look.date_of(start) for start in case.booked]
    same_day = sum(each == on for each in booked)
    same_week = sum(each.isocalendar()[:2] == on.isocalendar()[:2] for each in booked)
    return (case.per_day is None or same_day < case.per_day) and (case.per_week is None or same_week < case.per_week)
