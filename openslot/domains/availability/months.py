"""Days, months and durations that are asked about: what is filled in, and what is wrong with them."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.domains.availability.models import (
    ByBooking,
    Days,
    Drafted,
    EventTypeRef,
    SlotContext,
    SlotInputs,
    Slots,
)
from openslot.domains.availability.rules import find_window
from openslot.domains.availability.slots import spans_of
from openslot.domains.event_types.links.rules import check_open
from openslot.domains.event_types.rules import check_duration
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR, at_second, date_of, floor_second, get_zone, local_day

MONTHS_AHEAD = 12
_DAY = timedelta(days=1)


class MonthOfSlots(Struct, frozen=True, kw_only=True):
    found: SlotContext
    slots: Slots
    zone: ZoneInfo
    """The zone of the calendar."""

    today: date
    """The current day in that zone."""

    month: date
    """The first day of the month."""

    has_earlier: bool
    """Whether the month before is not over."""

    has_later: bool
    """Whether the booking window reaches the month after."""


class NearestSlots(Struct, frozen=True, kw_only=True):
    """Whether a start is open, and which open starts are nearest to it."""

    found: SlotContext
    starts: list[int]
    """The nearest open starts in order, in whole seconds since 1970."""

    is_open: bool


def begin_month(on: date, *, later: int = 0) -> date:
    months = min(on.year * 12 + on.month - 1 + later, LAST_YEAR * 12 + 11)
    return date(months // 12, months % 12 + 1, 1)


def end_month(on: date) -> date:
    return (on.replace(day=28) + 4 * _DAY).replace(day=1) - _DAY


def days_to_read(month: date | None, *, today: date) -> Days:
    """Choose the days to look at first: the month asked for, or this month and the next."""
    if month is None:
        return Days(today, end_month(begin_month(today, later=1)))
    first = max(begin_month(month), today)
    return Days(first, end_month(first))


def days_after(inputs: SlotInputs, days: Days) -> Days | None:
    """Choose the days to look at when the first ones have no open start; None where the booking window ends."""
    first, last = _window(inputs)
    later = begin_month(max(days.last + _DAY, first))
    if later > last:
        return None
    return Days(later, end_month(begin_month(later, later=MONTHS_AHEAD - 1)))


def split_months(days: Days) -> Iterator[Days]:
    first = days.first
    while first <= days.last:
        last = min(end_month(first), days.last)
        yield Days(first, last)
        first = last + _DAY


def pick_month(found: SlotContext, slots: Slots, *, month: date, zone: ZoneInfo, today: date) -> MonthOfSlots:
    """Keep the starts of one month, and return whether there are others around it."""
    spans = spans_of(Days(month, end_month(month)), zone)
    first, last = bisect_left(slots.starts, spans[0][0]), bisect_left(slots.starts, spans[-1][1])
    _, window_ends = _window(found.inputs)
    return MonthOfSlots(
        found=found,
        slots=Slots(slots.starts[first:last], slots.duration, slots.session_ends),
        zone=zone,
        today=today,
        month=month,
        has_earlier=month > today,
        has_later=end_month(month) < window_ends,
    )


def month_of(start: int, zone: ZoneInfo) -> date:
    return begin_month(at_second(start).astimezone(zone).date())


def nearest(slots: Slots, wanted: int, *, max_: int) -> list[int]:
    """Pick the starts that are nearest to one that can't be had, in order."""
    others = (start for start in slots.starts if start != wanted)
    return sorted(sorted(others, key=lambda start: abs(start - wanted))[:max_])


def _window(inputs: SlotInputs) -> tuple[date, date]:
    """Return the first and last day of the booking window, plus a day, as the visitor's calendar may be a day ahead."""
    today = local_day(get_zone(inputs.calendar.zone), floor_second(inputs.now))
    first, last = find_window(inputs, today)
    bounds = date(LAST_YEAR, 12, 31)
    return date_of(first), min(date_of(last), bounds - _DAY) + _DAY


def check_asked(which: EventTypeRef | Drafted, found: SlotContext) -> None:
    """Refuse a link that is closed, and a duration that invitees can't choose; a booking keeps its own."""
    if found.link is not None:
        check_open(found.link, now=found.inputs.now)
    if not isinstance(which, ByBooking):
        check_duration(found.inputs.event_type, which.minutes)


MAX_DAYS = 62

_WEEK = timedelta(days=7)


def default_days(*, first: date | None, last: date | None, zone: ZoneInfo, now: datetime) -> Days:
    """Fill in the dates that a request leaves out: from today, to a week after the later of today and its first."""
    today = now.astimezone(zone).date()
    first = first or today
    return Days(first, last or min(max(today, first), date.max - _WEEK) + _WEEK)


def find_days_faults(days: Days) -> dict[str, str]:
    """Return what is wrong with the dates of a request, by the name of the query parameter."""
    faults = {
        name: f"must be between {FIRST_YEAR} and {LAST_YEAR}"
        for name, on in (("startDate", days.first), ("endDate", days.last))
        if not FIRST_YEAR <= on.year <= LAST_YEAR
    }
    if faults:
        return faults
    if days.last < days.first:
        return {"endDate": "must not be before startDate"}
    if (days.last - days.first).days >= MAX_DAYS:
        return {"endDate": f"must be at most {MAX_DAYS - 1} days after startDate"}
    return {}
