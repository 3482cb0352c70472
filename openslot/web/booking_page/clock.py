"""Days and times as a reader's place writes them, each written once."""

import re
from datetime import date, datetime, time
from functools import lru_cache
from typing import Literal

import babel
from babel.dates import format_date, format_skeleton, format_time, get_timezone_location, match_skeleton

from openslot.core.zones import get_zone

Hours = Literal[12, 24]

PATTERNS: dict[Hours, str] = {12: "h:mm a", 24: "HH:mm"}
WEEKDAY, MONTH = re.compile("E+|c+"), re.compile("M{3,}")


@lru_cache(maxsize=64)
def usual_hours(formats: str) -> Hours:
    """Return whether a place counts 12 or 24 hours."""
    return 12 if "a" in babel.Locale.parse(formats).time_formats["short"].pattern else 24


@lru_cache(maxsize=8192)
def say_minute(minute: int, formats: str, hours: Hours) -> str:
    """Write a minute of a day: `09:00`, or `9:00 AM`."""
    pattern = "short" if hours == usual_hours(formats) else PATTERNS[hours]
    return format_time(time(minute // 60, minute % 60), pattern, locale=formats)


@lru_cache(maxsize=8192)
def say_day(on: date, formats: str) -> str:
    """Write `Tuesday 16 March`."""
    return format_date(on, _day_pattern(formats), locale=formats)


@lru_cache(maxsize=1024)
def say_month(month: date, formats: str) -> str:
    """Write `March 2027`, as a heading begins."""
    text = format_skeleton("yMMMM", month, locale=formats)
    return text[:1].upper() + text[1:]


@lru_cache(maxsize=64)
def list_weekdays(formats: str) -> tuple[tuple[int, str, str], ...]:
    """List the weekdays in the place's order, from Monday as 0, each with its short and its full name."""
    locale = babel.Locale.parse(formats)
    short, full = locale.days["stand-alone"]["short"], locale.days["stand-alone"]["wide"]
    order = [(locale.first_week_day + place) % 7 for place in range(7)]
    return tuple((day, short[day].rstrip("."), full[day]) for day in order)


def say_city(zone: str, formats: str) -> str:
    """Write a zone as people call it: `Berlin`."""
    return _city(zone, formats) if "/" in zone else zone


def say_now(zone: str, formats: str, hours: Hours, *, now: datetime) -> str:
    """Write what a clock in a zone shows."""
    local = now.astimezone(get_zone(zone))
    return say_minute(local.hour * 60 + local.minute, formats, hours)


@lru_cache(maxsize=2048)
def _city(zone: str, formats: str) -> str:
    return get_timezone_location(zone, locale=formats, return_city=True)


@lru_cache(maxsize=64)
def _day_pattern(formats: str) -> str:
    skeletons = babel.Locale.parse(formats).datetime_skeletons
    pattern = skeletons[match_skeleton("MMMMEd", skeletons) or "MMMEd"].pattern
    return MONTH.sub("MMMM", WEEKDAY.sub("EEEE", pattern))
