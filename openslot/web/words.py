"""Days, moments and time zones in words."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from zoneinfo import available_timezones

import babel
from babel.core import get_global
from babel.dates import format_date, get_timezone_location, match_skeleton
from msgspec import Struct

from openslot.accounts.plans import Plan, PlanGrant, PlanOrigin, running, strongest
from openslot.core.zones import get_zone
from openslot.i18n import PluralText, Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import Localizable, localize

PLANS = {Plan.FREE: Text("Free"), Plan.PRO: Text("Pro"), Plan.BUSINESS: Text("Business")}
WEEKDAY, MONTH = re.compile("E+|c+"), re.compile("M{3,}")
REGIONS = {
    "Africa": Text("Africa"),
    "America": Text("America"),
    "Antarctica": Text("Antarctica"),
    "Arctic": Text("Arctic"),
    "Asia": Text("Asia"),
    "Atlantic": Text("Atlantic"),
    "Australia": Text("Australia"),
    "Europe": Text("Europe"),
    "Indian": Text("Indian Ocean"),
    "Pacific": Text("Pacific"),
}


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
    """Describe how long to wait."""
    if seconds > 90 * 60:
        return PluralText(
            "Wait %(count)s hour, then try again.",
            "Wait %(count)s hours, then try again.",
            count=-(-seconds // 3600),
        )
    if seconds > 90:
        return PluralText(
            "Wait %(count)s minute, then try again.",
            "Wait %(count)s minutes, then try again.",
            count=-(-seconds // 60),
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
        """Write the weekday and the month in full."""
        return format_date(self.on, _pattern(locale.formats, self.on.year != self.today.year), locale=locale.formats)

    def __str__(self) -> str:
        """Write the day for programs."""
        return self.on.isoformat()


class MonthDay(Localizable, frozen=True):
    """A day such as `16 March`."""

    on: date

    def localize(self, locale: Locale) -> str:
        """Write the day and the month in full."""
        skeletons = babel.Locale.parse(locale.formats).datetime_skeletons
        pattern = skeletons[match_skeleton("MMMMd", skeletons) or "MMMd"].pattern
        return format_date(self.on, pattern, locale=locale.formats)

    def __str__(self) -> str:
        return self.on.isoformat()


class City(Localizable, frozen=True):
    """A time zone as people call it, such as `Lagos`."""

    zone: str

    def localize(self, locale: Locale) -> str:
        return _name_city(self.zone, locale.formats) if "/" in self.zone else self.zone

    def __str__(self) -> str:
        """Write the zone for programs."""
        return self.zone


@lru_cache(maxsize=2048)
def _name_city(zone: str, formats: str) -> str:
    return get_timezone_location(zone, locale=formats, return_city=True)


@lru_cache(maxsize=64)
def _pattern(formats: str, with_year: bool) -> str:
    skeletons = babel.Locale.parse(formats).datetime_skeletons
    wanted, usual = ("yMMMMEd", "yMMMEd") if with_year else ("MMMMEd", "MMMEd")
    pattern = skeletons[match_skeleton(wanted, skeletons) or usual].pattern
    return MONTH.sub("MMMM", WEEKDAY.sub("EEEE", pattern))


class Region(Struct, frozen=True):
    """A part of the world and its zones, each with the value to send and the name to show."""

    name: str
    zones: tuple[tuple[str, str], ...]


@lru_cache(maxsize=16)
def zones_by_region(locale: Locale) -> tuple[Region, ...]:
    """List the zones that people use, by region, both sorted by the reader's alphabet."""
    names = sorted(name for name in _current_names() if name.partition("/")[0] in REGIONS)
    regions = (
        Region(
            str(localize(REGIONS[region], locale)),
            tuple(sorted(((name, _city(name, locale)) for name in group), key=lambda zone: zone[1])),
        )
        for region, group in groupby(names, key=lambda name: name.partition("/")[0])
    )
    return tuple(sorted(regions, key=lambda region: region.name))


@cache
def former_names() -> dict[str, tuple[str, ...]]:
    """Return the outdated names of each zone that has some: browsers and older data still use them."""
    current, former = _current_names(), dict[str, list[str]]()
    for line in _read("tzdata.zi"):
        kind, _, names = line.partition(" ")
        zone, _, link = names.partition(" ")
        if kind == "L" and zone in current and link not in current:
            former.setdefault(zone, []).append(link)
    return {zone: tuple(sorted(links)) for zone, links in former.items()}


def zone_name(zone: str) -> str:
    """Write a zone's name with spaces between its words."""
    return zone.replace("_", " ")


@cache
def _current_names() -> frozenset[str]:
    """Name the zones that the table of countries has: at least one for each, under its current name."""
    named = {line.split("\t")[2] for line in _read("zone.tab") if not line.startswith("#")}
    return frozenset(named & available_timezones())


def _read(name: str) -> list[str]:
    return files("tzdata.zoneinfo").joinpath(name).read_text("utf-8").splitlines()


def _city(zone: str, locale: Locale) -> str:
    aliases = get_global("zone_aliases")
    known = babel.Locale.parse(locale.formats).time_zones
    # CLDR keeps a city's name under the zone's oldest name; an alias shows its own, or the name would appear twice.
    names = [] if zone in aliases else [zone, *(old for old, new in aliases.items() if new == zone)]
    cities = (known[name].get("city") for name in names if name in known)
    return next((str(city) for city in cities if city), zone_name(zone.partition("/")[2]).replace("/", ", "))
