"""What closes a start: one function a rule, each listing the starts that it closes."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.availability.grid import Grid, find_holidays
from openslot.availability.intervals import Interval, invert
from openslot.availability.models import Busy, Claim, Code, SlotInputs
from openslot.core.times import (
    DAY,
    FOREVER,
    Offsets,
    ceil_second,
    day_number,
    floor_second,
    offset_at,
    spans_of_days,
)
from openslot.event_types.models import BusinessDaysWindow, RangeWindow
from openslot.schedules.models import Schedule

Closed = tuple[int, int, int]
"""The first closed start, the first second after them, and which of the rule's causes it is."""


class SlotQuery(Struct, frozen=True):
    """A setting with all times as numbers, and the starts that are asked for."""

    inputs: SlotInputs
    zone: ZoneInfo
    offsets: Offsets
    grid: Grid
    asked: Interval
    now: int
    today: int
    duration: int
    before: int
    after: int


def close_past(query: SlotQuery) -> list[Closed]:
    return [(-FOREVER, query.now, 0)]


def close_out_of_office(query: SlotQuery) -> list[Closed]:
    """Close each start whose meeting would touch time away; its buffers may."""
    return [
        (floor_second(away.starts_at) - query.duration + 1, ceil_second(away.ends_at), index)
        for index, away in enumerate(query.inputs.schedule.out_of_office)
        if away.starts_at < away.ends_at
    ]


def close_holidays(query: SlotQuery) -> list[Closed]:
    """Close each meeting that would touch the hours of a public holiday; the cause is its day number."""
    return [(start - query.duration + 1, end, day) for start, end, day in query.grid.holidays]


def close_outside_window(query: SlotQuery) -> list[Closed]:
    """Close what starts before or after the booking window, in the host's zone."""
    first, last = find_window(query.inputs, query.today)
    return [(start, end, 0) for start, end in invert(spans_of_days(query.offsets, first, last)) if start < end]


def close_notice(query: SlotQuery) -> list[Closed]:
    """Close what starts sooner than the minimum notice, in elapsed minutes."""
    return [(query.now, query.now + query.inputs.event_type.min_notice_minutes * 60, 0)]


def close_full_days(query: SlotQuery) -> list[Closed]:
    """Close the host's days that have as many bookings as a day may have; the cause is the day number."""
    max_ = query.inputs.event_type.limits.per_day
    if max_ is None:
        return []
    booked = Counter(_list_booked_days(query))
    return [
        (start, end, day)
        for day, count in booked.items()
        if count >= max_
        for start, end in spans_of_days(query.offsets, day, day)
    ]


def close_full_weeks(query: SlotQuery) -> list[Closed]:
    """Close the host's weeks that have as many bookings as a week may have; the cause is Monday's day number."""
    max_ = query.inputs.event_type.limits.per_week
    if max_ is None:
        return []
    booked = Counter(day - (day + 3) % 7 for day in _list_booked_days(query))
    return [
        (start, end, monday)
        for monday, count in booked.items()
        if count >= max_
        for start, end in spans_of_days(query.offsets, monday, monday + 6)
    ]


def close_full_sessions(query: SlotQuery) -> list[Closed]:
    """Close the start of each group session that has no seat left; the cause is the claim's index."""
    return [
        (claim.session_start, claim.session_start + 1, index)
        for index, claim in enumerate(query.inputs.taken.claims)
        if claim.session_start is not None and claim.seats_left < 1
    ]


def close_claims(query: SlotQuery) -> list[Closed]:
    """Close what would overlap a claim, except the start of a session itself; the cause is the claim's index."""
    claims = query.inputs.taken.claims
    closed = _close_blocked(query, claims)
    sessions = sorted(claim.session_start for claim in claims if claim.session_start is not None)
    return [part for each in closed for part in _cut(each, sessions)] if sessions else closed


def close_busy(query: SlotQuery) -> list[Closed]:
    """Close what would overlap a busy span of an external calendar; the cause is its index."""
    return _close_blocked(query, query.inputs.taken.busy)


def find_window(inputs: SlotInputs, today: int) -> tuple[int, int]:
    """Return the first and the last day number of the booking window, by the number of the host's day."""
    window = inputs.event_type.booking_window
    if isinstance(window, RangeWindow):
        return day_number(window.first), day_number(window.last)
    if isinstance(window, BusinessDaysWindow):
        return today, _count_business_days(inputs.schedule, today, window.days)
    return today, today + window.days


RULES: tuple[tuple[Code, Callable[[SlotQuery], list[Closed]]], ...] = (
    (Code.PAST, close_past),
    (Code.OUT_OF_OFFICE, close_out_of_office),
    (Code.HOLIDAY, close_holidays),
    (Code.WINDOW, close_outside_window),
    (Code.NOTICE, close_notice),
    (Code.DAY_LIMIT, close_full_days),
    (Code.WEEK_LIMIT, close_full_weeks),
    (Code.FULL, close_full_sessions),
    (Code.TAKEN, close_claims),
    (Code.BUSY, close_busy),
)


def _list_booked_days(query: SlotQuery) -> Iterable[int]:
    return [(start + offset_at(query.offsets, start)) // DAY for start in query.inputs.taken.booked]


def _close_blocked(query: SlotQuery, spans: Iterable[Claim | Busy]) -> list[Closed]:
    """Close each start whose meeting with its buffers would overlap a span."""
    reach, before = query.duration + query.after - 1, query.before
    return [(span.start - reach, span.end + before, index) for index, span in enumerate(spans) if span.start < span.end]


def _cut(closed: Closed, sessions: list[int]) -> Iterator[Closed]:
    """Leave out the starts of sessions, which are decided by their seats."""
    first, until, cause = closed
    for start in sessions[bisect_left(sessions, first) : bisect_left(sessions, until)]:
        if first < start:
            yield first, start, cause
        first = start + 1
    if first < until:
        yield first, until, cause


def _count_business_days(schedule: Schedule, today: int, days: int) -> int:
    """Find the day so many business days after today: Monday to Friday, without the schedule's holidays."""
    holidays = find_holidays(schedule, today, today + days * 2 + 30)
    day = today
    while days > 0:
        day += 1
        if (day + 3) % 7 < 5 and day not in holidays:
            days -= 1
    return day
