"""Where a calendar shows what: days of wall time, meetings side by side, and the hours that are worth showing.

Times are whole seconds since 1970; spans are minutes of a day's clock, from 0 to 1440. On a day on which clocks are
turned back, an hour is shown once and has what happens in both; where clocks are turned forward, the skipped hour
belongs to what goes on around it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from msgspec import Struct

from openslot.platform.core.times import DAY, FOREVER, Offsets, offset_at, spans_of_days

MINUTES_A_DAY = 1440
SHORTEST = 25
"""Minutes that a meeting is shown with at least, so that it can be read and pressed."""
MAX_LANES = 8
USUAL_HOURS, FEWEST_HOURS = (8, 18), 8


def _list_classes(hour: str, ten: str, one: str) -> list[str]:
    """List the classes of every minute of a day; what is 0 needs none."""
    parts = (
        [(hour, minute // 60), (ten, minute % 60 // 10), (one, minute % 10)] for minute in range(MINUTES_A_DAY + 1)
    )
    return ["".join(f" {letter}{number}" for letter, number in each if number) for each in parts]


STARTS, LENGTHS = _list_classes("h", "m", "n"), _list_classes("H", "M", "N")


class DaySpan(Struct, frozen=True, order=True):
    """From one minute of a day to another."""

    start: int
    end: int

    @property
    def classes(self) -> str:
        """The classes by which the stylesheet knows this span: hours, tens of minutes and minutes."""
        length = self.end - self.start
        return f"at{STARTS[self.start]}{LENGTHS[length]}"


class Lane(Struct, frozen=True):
    """Which part of a day's width a meeting gets, from 0, and how many parts there are."""

    number: int
    of: int

    @property
    def classes(self) -> str:
        return f" in{self.number} of{self.of}" if self.of > 1 else ""


def span_on(offsets: Offsets, day: int, start: int, end: int) -> DaySpan | None:
    """Find the minutes of a day's clock that a span covers; None if it is on other days."""
    midnight, found = day * DAY, list[tuple[int, int]]()
    for begin, until, offset in _list_periods(offsets, day):
        first, last = max(start, begin) + offset - midnight, min(end, until) + offset - midnight
        if max(first, 0) < min(last, DAY):
            found.append((max(first, 0), min(last, DAY)))
    if not found:
        return None
    return DaySpan(min(first for first, _ in found) // 60, -(-max(last for _, last in found) // 60))


def spans_by_day(offsets: Offsets, days: range, start: int, end: int) -> Iterator[tuple[int, DaySpan]]:
    """Find where a span is shown on each of some days, by day number."""
    period = bisect_right(offsets.starts, start)
    if period == bisect_right(offsets.starts, end):
        yield from _spans_in_period(offsets.seconds[max(period - 1, 0)], days, start, end)
        return
    # A change of the clock moves an edge by less than a day.
    first = (start + offset_at(offsets, start)) // DAY - 1
    last = (end + offset_at(offsets, end)) // DAY + 1
    for day in range(max(first, days.start), min(last + 1, days.stop)):
        if span := span_on(offsets, day, start, end):
            yield day, span


def _spans_in_period(offset: int, days: range, start: int, end: int) -> Iterator[tuple[int, DaySpan]]:
    """Place a span during which no clock changes, as nearly all are."""
    first, last = start + offset, end + offset
    for day in range(max(first // DAY, days.start), min((last - 1) // DAY + 1, days.stop)):
        midnight = day * DAY
        yield day, DaySpan(max(first - midnight, 0) // 60, -(-min(last - midnight, DAY) // 60))


def find_now(offsets: Offsets, instant: int) -> tuple[int, DaySpan]:
    """Find the day number and the minute that a clock shows."""
    day, second = divmod(instant + offset_at(offsets, instant), DAY)
    return day, DaySpan(second // 60, second // 60)


def assign_lanes(spans: Sequence[DaySpan]) -> list[Lane]:
    """Put meetings that overlap side by side; all of a group are equally wide. The spans must be in order."""
    lanes: list[Lane] = []
    group: list[int] = []
    ends: list[int] = []
    for span in spans:
        end = max(span.end, span.start + SHORTEST)
        if ends and span.start >= max(ends):
            lanes += [Lane(number, len(ends)) for number in group]
            group, ends = [], []
        free = next((number for number, until in enumerate(ends) if until <= span.start), len(ends))
        if free == len(ends) < MAX_LANES:
            ends.append(end)
        free = min(free, MAX_LANES - 1)
        ends[free] = max(ends[free], end)
        group.append(free)
    return lanes + [Lane(number, len(ends)) for number in group]


def join_named_spans(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Join the spans that overlap, with the names of all of them, each once."""
    joined: list[tuple[int, int, dict[str, None]]] = []
    for start, end, name in sorted(spans):
        if joined and start < joined[-1][1]:
            begin, until, names = joined.pop()
            joined.append((begin, max(until, end), {**names, name: None}))
        else:
            joined.append((start, end, {name: None}))
    return [(start, end, ", ".join(name for name in names if name)) for start, end, names in joined]


def pick_hours(spans: Iterable[DaySpan]) -> range:
    """Choose the hours to show: all in which something may happen or does, and one on either side."""
    known = list(spans)
    if not known:
        return range(*USUAL_HOURS)
    first = max(min(span.start for span in known) // 60 - 1, 0)
    last = min(-(-max(span.end for span in known) // 60) + 1, 24)
    last = min(max(last, first + FEWEST_HOURS), 24)
    return range(min(first, last - FEWEST_HOURS), last)


def clip_span(span: DaySpan, hours: range) -> DaySpan | None:
    """Leave out what is before and after the hours that are shown."""
    start, end = max(span.start, hours.start * 60), min(span.end, hours.stop * 60)
    return DaySpan(start, end) if start < end else None


def begin_week(on: date, first_weekday: int) -> date:
    """Return the first day of a date's week; weekdays count from Monday as 0."""
    return on - timedelta(days=(on.weekday() - first_weekday) % 7)


def count_minutes(offsets: Offsets, day: int) -> int:
    """Return how long a day lasts: 24 hours, unless clocks change on it."""
    return sum(end - start for start, end in spans_of_days(offsets, day, day)) // 60


def _list_periods(offsets: Offsets, day: int) -> Iterator[tuple[int, int, int]]:
    """List the periods of one offset in which a clock may show this day."""
    first = max(bisect_right(offsets.starts, (day - 1) * DAY) - 1, 0)
    last = bisect_right(offsets.starts, (day + 2) * DAY)
    for period in range(first, last):
        until = offsets.starts[period + 1] if period + 1 < len(offsets.starts) else FOREVER
        yield offsets.starts[period], until, offsets.seconds[period]
