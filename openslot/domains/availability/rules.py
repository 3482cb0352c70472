"""The rules: one function each, which closes some starts of an offer, or some of the time of one of its hosts."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.domains.availability.grid import Grid, Interval, Steps, invert, lay_steps, pick_starts
from openslot.domains.availability.hours import WorkedHours, find_holidays
from openslot.domains.availability.models import Busy, Claim, Code, HostInputs, SlotInputs
from openslot.domains.event_types.models import BusinessDaysWindow, RangeWindow
from openslot.domains.schedules.models import Schedule
from openslot.platform.core.times import (
    DAY,
    FOREVER,
    Offsets,
    ceil_second,
    day_number,
    floor_second,
    offset_at,
    spans_of_days,
)

Closed = tuple[int, int, int]
"""The first closed start, the first second after them, and which of the rule's causes it is."""


class SlotQuery(Struct, frozen=True):
    """An offer with all times as numbers, and the starts that are asked for."""

    inputs: SlotInputs
    own: HostInputs | None
    """The host whose own event type it is; None if hosts are chosen."""

    hours: WorkedHours
    """The hours of that host."""

    offsets: Offsets
    steps: Steps

    asked: Interval
    now: int
    today: int
    duration: int
    before: int
    after: int

    @property
    def zone(self) -> ZoneInfo:
        """The zone of the calendar that counts days and weeks."""
        return self.steps.zone

    @property
    def grid(self) -> Grid:
        """The starts: of a host's own event type the stretches of their hours, or else the steps of each day."""
        if self.own is None:
            return lay_steps(self.steps)
        return Grid(pick_starts(self.hours.stretches, invert([self.asked]), step=self.steps.step))

    def has_start(self, start: int) -> bool:
        """Return whether an instant is a start of the grid, without laying it out for one host."""
        if self.own is None:
            return self.grid.has(start)
        step = self.steps.step
        return any(anchor <= start < until and (start - anchor) % step == 0 for anchor, until in self.hours.stretches)


class HostQuery(Struct, frozen=True):
    """One of the hosts of an offer, with their hours."""

    query: SlotQuery
    host: HostInputs
    hours: WorkedHours


def close_past(query: SlotQuery) -> list[Closed]:
    return [(-FOREVER, query.now, 0)]


def close_outside_window(query: SlotQuery) -> list[Closed]:
    """Close what starts before or after the booking window, in the zone of the calendar."""
    first, last = find_window(query.inputs, query.today)
    return [(start, end, 0) for start, end in invert(spans_of_days(query.offsets, first, last)) if start < end]


def close_notice(query: SlotQuery) -> list[Closed]:
    """Close what starts sooner than the minimum notice, in elapsed minutes."""
    return [(query.now, query.now + query.inputs.event_type.min_notice_minutes * 60, 0)]


def close_full_days(query: SlotQuery) -> list[Closed]:
    """Close the days that have as many bookings as a day may have; the cause is the day number."""
    return _close_days(query, query.inputs.booked, query.inputs.event_type.limits.per_day)


def close_full_weeks(query: SlotQuery) -> list[Closed]:
    """Close the weeks that have as many bookings as a week may have; the cause is Monday's day number."""
    return _close_weeks(query, query.inputs.booked, query.inputs.event_type.limits.per_week)


def close_full_sessions(query: SlotQuery) -> list[Closed]:
    """Close the start of each group session that has no seat left, which is the cause."""
    return [(start, start + 1, start) for start, each in query.inputs.sessions.items() if each.seats_left < 1]


def close_out_of_office(asked: HostQuery) -> list[Closed]:
    """Close each start whose meeting would touch time away; its buffers may."""
    return [
        (floor_second(away.starts_at) - asked.query.duration + 1, ceil_second(away.ends_at), index)
        for index, away in enumerate(asked.host.schedule.out_of_office)
        if away.starts_at < away.ends_at
    ]


def close_holidays(asked: HostQuery) -> list[Closed]:
    """Close each meeting that would touch the hours of a public holiday; the cause is its day number."""
    return [(start - asked.query.duration + 1, end, day) for start, end, day in asked.hours.holidays]


def close_host_days(asked: HostQuery) -> list[Closed]:
    """Close the days on which a host has as many bookings as they may have; the cause is the day number."""
    host, limits = asked.host, asked.query.inputs.choice.rules
    closed = _close_days(asked.query, host.taken.booked, limits.host_per_day)
    closed += _close_days(asked.query, host.booked_in_all, limits.host_total_per_day)
    return _leave_sessions(closed, host.taken.claims) if closed else closed


def close_host_weeks(asked: HostQuery) -> list[Closed]:
    """Close the weeks in which a host has as many bookings as they may have; the cause is Monday's number."""
    host, limits = asked.host, asked.query.inputs.choice.rules
    closed = _close_weeks(asked.query, host.taken.booked, limits.host_per_week)
    closed += _close_weeks(asked.query, host.booked_in_all, limits.host_total_per_week)
    return _leave_sessions(closed, host.taken.claims) if closed else closed


def close_claims(asked: HostQuery) -> list[Closed]:
    """Close what would overlap a claim, except the start of a session itself; the cause is the claim's index."""
    claims = asked.host.taken.claims
    return _leave_sessions(_close_blocked(asked.query, claims), claims)


def close_busy(asked: HostQuery) -> list[Closed]:
    """Close what would overlap a busy span of an external calendar; the cause is its index."""
    return _close_blocked(asked.query, asked.host.taken.busy)


OFFER_RULES: tuple[tuple[Code, Callable[[SlotQuery], list[Closed]]], ...] = (
    (Code.PAST, close_past),
    (Code.WINDOW, close_outside_window),
    (Code.NOTICE, close_notice),
    (Code.DAY_LIMIT, close_full_days),
    (Code.WEEK_LIMIT, close_full_weeks),
    (Code.FULL, close_full_sessions),
)
"""The rules that are judged once, whoever is free."""

HOST_RULES: tuple[tuple[Code, Callable[[HostQuery], list[Closed]]], ...] = (
    (Code.OUT_OF_OFFICE, close_out_of_office),
    (Code.HOLIDAY, close_holidays),
    (Code.DAY_LIMIT, close_host_days),
    (Code.WEEK_LIMIT, close_host_weeks),
    (Code.TAKEN, close_claims),
    (Code.BUSY, close_busy),
)
"""The rules that are judged for each host."""

ORDER = {code: place for place, code in enumerate(Code)}
"""The places of the rules: of several that close a start, the first one counts."""


def close_offer(query: SlotQuery) -> Iterator[Closed]:
    """List what is closed whoever is free."""
    return (span for _, close in OFFER_RULES for span in close(query))


def close_host(asked: HostQuery) -> Iterator[Closed]:
    """List what is closed of a host's hours."""
    return (span for _, close in HOST_RULES for span in close(asked))


def find_window(inputs: SlotInputs, today: int) -> tuple[int, int]:
    """Return the first and the last day number of the booking window, by the number of the calendar's day."""
    window = inputs.event_type.booking_window
    if isinstance(window, RangeWindow):
        return day_number(window.first), day_number(window.last)
    if isinstance(window, BusinessDaysWindow):
        return today, _count_business_days(inputs.calendar, today, window.days)
    return today, today + window.days


def _close_days(query: SlotQuery, booked: Iterable[int], max_: int | None) -> list[Closed]:
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


def _close_weeks(query: SlotQuery, booked: Iterable[int], max_: int | None) -> list[Closed]:
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


def _list_days(query: SlotQuery, booked: Iterable[int]) -> list[int]:
    return [(start + offset_at(query.offsets, start)) // DAY for start in booked]


def _close_blocked(query: SlotQuery, spans: Iterable[Claim | Busy]) -> list[Closed]:
    reach, before = query.duration + query.after - 1, query.before
    return [(span.start - reach, span.end + before, index) for index, span in enumerate(spans) if span.start < span.end]


def _leave_sessions(closed: list[Closed], claims: Iterable[Claim]) -> list[Closed]:
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
