"""The engine: which starts may be booked, and one function for each rule that closes some."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from operator import itemgetter
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.grid import Grid, Interval, find_holidays, invert, lay_grid, pick_starts, step_of
from openslot.domains.availability.models import Busy, Claim, Code, Days, SlotInputs, Slots, Taken
from openslot.domains.event_types.models import BusinessDaysWindow, RangeWindow
from openslot.domains.schedules.models import Schedule
from openslot.platform.core.times import (
    DAY,
    FIRST_YEAR,
    FOREVER,
    LAST_YEAR,
    Offsets,
    ceil_second,
    date_of,
    day_number,
    floor_second,
    get_offsets,
    get_zone,
    local_day,
    offset_at,
    spans_of_days,
)

_KNOWN = (day_number(date(FIRST_YEAR, 1, 1)) * DAY, day_number(date(LAST_YEAR + 1, 1, 1)) * DAY)
_SECOND = timedelta(seconds=1)

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
    return close_days(query, query.inputs.taken.booked, query.inputs.event_type.limits.per_day)


def close_full_weeks(query: SlotQuery) -> list[Closed]:
    """Close the host's weeks that have as many bookings as a week may have; the cause is Monday's day number."""
    return close_weeks(query, query.inputs.taken.booked, query.inputs.event_type.limits.per_week)


def close_days(query: SlotQuery, booked: Iterable[int], max_: int | None) -> list[Closed]:
    """Close the days of the calendar on which so many of the starts are."""
    if max_ is None:
        return []
    counted = Counter(_list_days(query, booked))
    return [
        (start, end, day)
        for day, count in counted.items()
        if count >= max_
        for start, end in spans_of_days(query.offsets, day, day)
    ]


def close_weeks(query: SlotQuery, booked: Iterable[int], max_: int | None) -> list[Closed]:
    """Close the weeks of the calendar in which so many of the starts are."""
    if max_ is None:
        return []
    counted = Counter(day - (day + 3) % 7 for day in _list_days(query, booked))
    return [
        (start, end, monday)
        for monday, count in counted.items()
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
    return leave_sessions(_close_blocked(query, claims), claims)


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


def _list_days(query: SlotQuery, booked: Iterable[int]) -> list[int]:
    return [(start + offset_at(query.offsets, start)) // DAY for start in booked]


def _close_blocked(query: SlotQuery, spans: Iterable[Claim | Busy]) -> list[Closed]:
    reach, before = query.duration + query.after - 1, query.before
    return [(span.start - reach, span.end + before, index) for index, span in enumerate(spans) if span.start < span.end]


def leave_sessions(closed: list[Closed], claims: Iterable[Claim]) -> list[Closed]:
    """Leave out the starts of sessions, which are decided by their seats."""
    sessions = sorted(claim.session_start for claim in claims if claim.session_start is not None)
    return [part for each in closed for part in _cut(each, sessions)] if sessions else closed


def _cut(closed: Closed, sessions: list[int]) -> Iterator[Closed]:
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


def list_slots(inputs: SlotInputs, days: Days, *, viewer: ZoneInfo) -> Slots:
    spans = spans_of(days, viewer)
    duration = _count_seconds(inputs)
    if not spans:
        return Slots([], duration)
    query = make_query(inputs, asked=(spans[0][0], spans[-1][1]))
    closed = sorted(chain(invert(spans), *(close(query) for _, close in RULES)), key=itemgetter(0))
    starts = pick_starts(query.grid.stretches, closed, step=step_of(inputs.event_type))
    return Slots(starts, duration, find_session_ends(inputs, duration))


def list_taken(inputs: SlotInputs, days: Days, *, viewer: ZoneInfo) -> list[int]:
    """List the starts that are closed only because others have taken them or their limits."""
    free = replace(inputs, taken=Taken(busy=inputs.taken.busy))
    is_open = set(list_slots(inputs, days, viewer=viewer).starts)
    return [start for start in list_slots(free, days, viewer=viewer).starts if start not in is_open]


def find_session_ends(inputs: SlotInputs, duration: int) -> dict[int, int]:
    """Find the sessions that differ in length from their event type: an invitee who joins gets the session's end."""
    return {
        claim.session_start: claim.session_end
        for claim in inputs.taken.claims
        if claim.session_start is not None and claim.session_end not in {None, claim.session_start + duration}
    }


def judge(inputs: SlotInputs, starts_at: datetime) -> Code:
    """Return whether a start may be booked, or the first rule that forbids it."""
    if not is_askable(starts_at):
        return Code.OFF_GRID
    start = floor_second(starts_at)
    causes = find_causes(make_query(inputs, asked=(start, start + 1)), start)
    return causes[0][0] if causes else Code.OPEN


def repeat_weekly(starts_at: datetime, zone: ZoneInfo, weeks: int) -> list[datetime]:
    """List a start and the same time of a zone's clock in the weeks after it, as calendars repeat it.

    A time that the clock skips is as much later as the clock is turned; of two, it is the first.
    """
    wall = starts_at.astimezone(zone).replace(tzinfo=None)
    later = ((wall + timedelta(weeks=week)).replace(tzinfo=zone).astimezone(UTC) for week in range(1, weeks))
    return [starts_at, *later]


def is_askable(starts_at: datetime) -> bool:
    """Return whether an instant is a whole second of the years that are known."""
    return not starts_at.microsecond and _KNOWN[0] <= floor_second(starts_at) < _KNOWN[1]


def find_causes(query: SlotQuery, start: int) -> list[tuple[Code, int]]:
    """List every rule that closes a start, each with its cause, in the order in which they count."""
    causes = [(code, cause) for code, close in RULES for first, until, cause in close(query) if first <= start < until]
    fault = find_grid_fault(query, start)
    if fault is not None:
        causes.insert(1 if causes and causes[0][0] is Code.PAST else 0, (fault, 0))
    return causes


def find_grid_fault(query: SlotQuery, start: int) -> Code | None:
    """Return why the schedule's hours do not give a start, if they do not."""
    if not any(begin <= start and start + query.duration <= end for begin, end in query.grid.ranges):
        return Code.OUTSIDE_HOURS
    step = step_of(query.inputs.event_type)
    if any(anchor <= start < until and (start - anchor) % step == 0 for anchor, until in query.grid.stretches):
        return None
    return Code.OFF_GRID


def make_query(inputs: SlotInputs, *, asked: Interval) -> SlotQuery:
    """Lay out all that decides about the starts of a span."""
    event_type, schedule = inputs.event_type, inputs.schedule
    zone = get_zone(schedule.zone)
    duration = _count_seconds(inputs)
    first_day, last_day = local_day(zone, asked[0]), local_day(zone, asked[1] + duration) + 1
    offsets = get_offsets(zone, date_of(first_day), date_of(last_day))
    return SlotQuery(
        inputs=inputs,
        zone=zone,
        offsets=offsets,
        grid=lay_grid(schedule, offsets, first_day=first_day, last_day=last_day, duration=duration),
        asked=asked,
        now=ceil_second(inputs.now),
        today=local_day(zone, floor_second(inputs.now)),
        duration=duration,
        before=event_type.buffer_before * 60,
        after=event_type.buffer_after * 60,
    )


def _count_seconds(inputs: SlotInputs) -> int:
    return inputs.duration // _SECOND


def spans_of(days: Days, zone: ZoneInfo) -> list[Interval]:
    """List when a zone's calendar shows some days, within the years that are known."""
    offsets = get_offsets(zone, days.first, days.last)
    spans = spans_of_days(offsets, day_number(days.first), day_number(days.last))
    clipped = [(max(start, _KNOWN[0]), min(end, _KNOWN[1])) for start, end in spans]
    return [(start, end) for start, end in clipped if start < end]
