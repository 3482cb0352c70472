"""The days that a request asks about: what is filled in, and what is wrong with them."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from openslot.availability.models import Days
from openslot.core.zones import FIRST_YEAR, LAST_YEAR

MOST_DAYS = 62

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
    if (days.last - days.first).days >= MOST_DAYS:
        return {"endDate": f"must be at most {MOST_DAYS - 1} days after startDate"}
    return {}
