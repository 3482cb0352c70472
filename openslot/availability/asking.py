"""What is asked for: the days of a request, and what must be read to answer it."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from openslot.availability.intervals import Span
from openslot.availability.models import Days, Reach
from openslot.availability.slots import spans_of
from openslot.core.zones import (
    FIRST_YEAR,
    LAST_YEAR,
    at_second,
    date_of,
    floor_second,
    get_offsets,
    get_zone,
    local_day,
    spans_of_days,
)
from openslot.event_types.models import EventType
from openslot.schedules.models import Schedule

MOST_DAYS = 62

_WEEK = timedelta(days=7)


def default_days(*, first: date | None, last: date | None, zone: ZoneInfo, now: datetime) -> Days:
    """Fill in the dates that a request leaves out: from today, to a week after the later of today and its first."""
    today = now.astimezone(zone).date()
    first = first or today
    return Days(first, last or min(max(today, first), date.max - _WEEK) + _WEEK)


def find_days_faults(days: Days) -> dict[str, str]:
    """Tell what is wrong with the dates of a request, by the name of the query parameter."""
    faults = {
        name: f"must lie between {FIRST_YEAR} and {LAST_YEAR}"
        for name, on in (("startDate", days.first), ("endDate", days.last))
        if not FIRST_YEAR <= on.year <= LAST_YEAR
    }
    if faults:
        return faults
    if days.last < days.first:
        return {"endDate": "must not be before startDate"}
    if (days.last - days.first).days >= MOST_DAYS:
        return {"endDate": f"must be at most {MOST_DAYS - 1} days after startDate"}
    return {}


def find_reach(event_type: EventType, schedule: Schedule, days: Days, *, viewer: ZoneInfo) -> Reach | None:
    """Tell from when to when an answer about these days needs what is taken; None if no calendar shows them."""
    spans = spans_of(days, viewer)
    return _reach(event_type, schedule, (spans[0][0], spans[-1][1])) if spans else None


def find_reach_of_start(event_type: EventType, schedule: Schedule, starts_at: datetime) -> Reach:
    """Tell from when to when a verdict on this start needs what is taken."""
    start = floor_second(starts_at)
    return _reach(event_type, schedule, (start, start + 1))


def _reach(event_type: EventType, schedule: Schedule, asked: Span) -> Reach:
    zone = get_zone(schedule.zone)
    first_day, last_day = local_day(zone, asked[0]), local_day(zone, asked[1] - 1)
    monday, sunday = first_day - (first_day + 3) % 7, last_day + 6 - (last_day + 3) % 7
    counted = spans_of_days(get_offsets(zone, date_of(monday), date_of(sunday)), monday, sunday)
    return Reach(
        blocked_from=at_second(asked[0] - event_type.buffer_before * 60),
        blocked_until=at_second(asked[1] + (event_type.duration_minutes + event_type.buffer_after) * 60),
        counted_from=at_second(counted[0][0]),
        counted_until=at_second(counted[-1][1]),
    )
