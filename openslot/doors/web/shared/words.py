"""Days, moments and time zones in words, as functions for handlers and as filters for templates.

Templates take nouns and instants: `{{ entry.last_met_at | moment }}`, `{{ booking | day_and_hours }}`. The filters know
the reader's zone and the time from the page (`user`, `now`); days and times are written in the reader's language.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from babel.dates import format_date, get_timezone_location, match_skeleton
from jinja2 import pass_context
from jinja2.runtime import Context

from openslot.domains.accounts.plans import Plan, PlanGrant, PlanOrigin, running, strongest
from openslot.platform.core.times import get_zone
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import Locale, first_weekday_of, parse_formats
from openslot.platform.i18n.localization import Localizable

PLANS = {Plan.FREE: Text("Free"), Plan.PRO: Text("Pro"), Plan.BUSINESS: Text("Business")}
SOON, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
WEEKDAY, MONTH = re.compile("E+|c+"), re.compile("M{3,}")


def day(instant: datetime, zone: str) -> date:
    return instant.astimezone(get_zone(zone)).date()


def moment(instant: datetime, zone: str, *, now: datetime) -> Text | date:
    """Write `Today, 14:32`, `Yesterday, 14:32`, or only the date if it is longer ago."""
    local, today = instant.astimezone(get_zone(zone)), day(now, zone)
    if local.date() == today:
        return Text("Today, %(time)s", time=local.time())
    if local.date() == today - timedelta(days=1):
        return Text("Yesterday, %(time)s", time=local.time())
    return local.date()


def wait(seconds: int) -> Text:
    if seconds > 90 * 60:
        return PluralText(
            "Wait %(count)s hour, then try again.", "Wait %(count)s hours, then try again.", count=-(-seconds // 3600)
        )
    if seconds > 90:
        return PluralText(
            "Wait %(count)s minute, then try again.", "Wait %(count)s minutes, then try again.", count=-(-seconds // 60)
        )
    return PluralText(
        "Wait %(count)s second, then try again.", "Wait %(count)s seconds, then try again.", count=seconds
    )


def plan(grants: Sequence[PlanGrant], *, zone: str, now: datetime) -> Text:
    """Describe which plan applies, and why if it is not the user's own."""
    counts, own = strongest(grants, now=now), grants[0]
    name = PLANS[running(counts.plan, counts.until, now=now)]
    if counts.origin is PlanOrigin.ORGANIZATION:
        return Text("%(plan)s, through %(organization)s", plan=name, organization=counts.organization)
    if counts.origin is PlanOrigin.TRIAL and counts.until is not None:
        return Text("%(plan)s, on trial until %(day)s", plan=name, day=day(counts.until, zone))
    if own.until is None or own.plan is Plan.FREE:
        return name
    if own.origin is PlanOrigin.SUBSCRIPTION and own.until > now:
        return name
    if own.until <= now:
        return Text(
            "%(plan)s, since %(former)s ended on %(day)s", plan=name, former=PLANS[own.plan], day=day(own.until, zone)
        )
    return Text("%(plan)s, until %(day)s", plan=name, day=day(own.until, zone))


class Weekday(Localizable, frozen=True):
    """A day such as `Tuesday 16 March`; with its year if that is not this year."""

    on: date
    today: date

    def localize(self, locale: Locale) -> str:
        return format_day(self.on, locale.formats, with_year=self.on.year != self.today.year)

    def __str__(self) -> str:
        return self.on.isoformat()


class MonthDay(Localizable, frozen=True):
    """A day such as `16 March`."""

    on: date

    def localize(self, locale: Locale) -> str:
        return format_date(
            self.on, _find_pattern(locale.formats, "MMMMd", "MMMd"), locale=parse_formats(locale.formats)
        )

    def __str__(self) -> str:
        return self.on.isoformat()


class City(Localizable, frozen=True):
    """A time zone as people call it, such as `Lagos`."""

    zone: str

    def localize(self, locale: Locale) -> str:
        return format_city(self.zone, locale.formats)

    def __str__(self) -> str:
        return self.zone


def format_city(zone: str, formats: str) -> str:
    """Write a zone as people call it: `Berlin`."""
    return get_timezone_location(zone, locale=parse_formats(formats), return_city=True) if "/" in zone else zone


# benchmarks/caches.py: write a day with its weekday, a hundred times in a page, 24 times
@lru_cache(maxsize=8192)
def format_day(on: date, formats: str, *, with_year: bool = False) -> str:
    """Write `Tuesday 16 March`."""
    skeletons = ("yMMMMEd", "yMMMEd") if with_year else ("MMMMEd", "MMMEd")
    pattern = MONTH.sub("MMMM", WEEKDAY.sub("EEEE", _find_pattern(formats, *skeletons)))
    return format_date(on, pattern, locale=parse_formats(formats))


# benchmarks/caches.py: say a day, 19 times
@lru_cache(maxsize=256)
def _find_pattern(formats: str, wanted: str, usual: str) -> str:
    """Find how a place writes some parts of a date; the usual ones if it has no way to write those that are wanted."""
    skeletons = parse_formats(formats).datetime_skeletons
    return str(skeletons[match_skeleton(wanted, skeletons) or usual].pattern)


def begin_day(on: date, zone: str) -> datetime:
    return datetime.combine(on, time.min, get_zone(zone))


def day_heading(on: date, *, today: date) -> Text | Weekday:
    """Write `Today, 16 March`, `Tomorrow, 17 March`, or `Thursday 19 March`."""
    if on == today:
        return Text("Today, %(day)s", day=MonthDay(on))
    if on == today + DAY:
        return Text("Tomorrow, %(day)s", day=MonthDay(on))
    return Weekday(on, today)


def hours(starts_at: datetime, ends_at: datetime, zone: str) -> Text:
    start, end = (each.astimezone(get_zone(zone)).time() for each in (starts_at, ends_at))
    return Text("%(start)s \u2013 %(end)s", start=start, end=end)


def day_and_hours(starts_at: datetime, ends_at: datetime, zone: str, *, now: datetime) -> Text:
    """Write `Tuesday 16 March`, and from when to when."""
    on = Weekday(day(starts_at, zone), day(now, zone))
    return Text("%(day)s, %(time)s", day=on, time=hours(starts_at, ends_at, zone))


def at(instant: datetime, zone: str, *, now: datetime) -> Text:
    """Write `today, 08:12`, and `Monday 15 March, 08:12` otherwise."""
    local, today = instant.astimezone(get_zone(zone)), day(now, zone)
    if local.date() == today:
        return Text("today, %(time)s", time=local.time())
    return Text("%(day)s, %(time)s", day=Weekday(local.date(), today), time=local.time())


def retry_in(wait: timedelta) -> Text:
    """Write `retry in 4 min`."""
    if wait < SOON:
        return Text("retry in less than a minute")
    if wait < HOUR:
        return PluralText("retry in %(count)s min", "retry in %(count)s min", count=round(wait / SOON))
    if wait < 2 * DAY:
        return PluralText("retry in %(count)s h", "retry in %(count)s h", count=round(wait / HOUR))
    return PluralText("retry in %(count)s day", "retry in %(count)s days", count=round(wait / DAY))


def length(minutes: int) -> Text:
    """Write `1 h`, or `5 h 30 min`."""
    if minutes % 60:
        return Text("%(hours)s h %(minutes)s min", hours=minutes // 60, minutes=minutes % 60)
    return Text("%(hours)s h", hours=minutes // 60)


def is_elsewhere(zone: str, host_zone: str, *, at_time: datetime) -> bool:
    """Return whether the clock shows another time in a zone than in the host's."""
    return _offset(at_time, get_zone(zone)) != _offset(at_time, get_zone(host_zone))


def elsewhere(zone: str, host_zone: str, *, at_time: datetime) -> Text | City:
    """Write `Lagos, 1 h behind`."""
    difference = _offset(at_time, get_zone(zone)) - _offset(at_time, get_zone(host_zone))
    time_apart = length(int(abs(difference) / SOON))
    if difference > timedelta():
        return Text("%(city)s, %(time)s ahead", city=City(zone), time=time_apart)
    if difference < timedelta():
        return Text("%(city)s, %(time)s behind", city=City(zone), time=time_apart)
    return Text("%(city)s, same time", city=City(zone)) if zone != host_zone else City(zone)


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()


@pass_context
def _day_filter(context: Context, instant: datetime) -> date:
    return day(instant, context["user"].zone)


@pass_context
def _moment_filter(context: Context, instant: datetime) -> Text | date:
    return moment(instant, context["user"].zone, now=context["now"])


@pass_context
def _at_filter(context: Context, instant: datetime) -> Text:
    return at(instant, context["user"].zone, now=context["now"])


@pass_context
def _day_and_hours_filter(context: Context, noun: Any) -> Text:
    return day_and_hours(noun.starts_at, noun.ends_at, context["user"].zone, now=context["now"])


@pass_context
def _week_filter(context: Context, days: Sequence[Any]) -> list[Any]:
    """Let the seven days of a week, Monday first, begin with the day that the reader's weeks begin with."""
    first = first_weekday_of(context["locale"])
    return [*days[first:], *days[:first]]


FILTERS: Mapping[str, Callable[..., object]] = {
    "at": _at_filter,
    "day": _day_filter,
    "day_and_hours": _day_and_hours_filter,
    "from_first_weekday": _week_filter,
    "moment": _moment_filter,
}
