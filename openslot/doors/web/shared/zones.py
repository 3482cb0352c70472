"""The time zones that people use, under the names of the reader's language."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from zoneinfo import available_timezones

from babel.core import get_global
from msgspec import Struct

from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, parse_formats
from openslot.platform.i18n.localization import localize

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


class Region(Struct, frozen=True):
    """A part of the world and its zones, each with the value to send and the name to show."""

    name: str
    zones: tuple[tuple[str, str], ...]


# benchmarks/caches.py: group the zones by region, in a booking page's list of them, 3,100 times
@lru_cache(maxsize=16)
def zones_by_region(locale: Locale) -> tuple[Region, ...]:
    """List the zones that people use, by region, both sorted by the reader's alphabet."""
    known = parse_formats(locale.formats).time_zones
    aliases = _cldr_aliases()
    names = sorted(name for name in _current_names() if name.partition("/")[0] in REGIONS)
    regions = (
        Region(
            str(localize(REGIONS[region], locale)),
            tuple(sorted(((name, _city(name, known, aliases)) for name in group), key=lambda zone: zone[1])),
        )
        for region, group in groupby(names, key=lambda name: name.partition("/")[0])
    )
    return tuple(sorted(regions, key=lambda region: region.name))


# benchmarks/caches.py: make the list of zones, 110 times
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
    return zone.replace("_", " ")


# benchmarks/caches.py: make what zones are found by, 69 times
@cache
def countries_of_zones() -> dict[str, tuple[str, ...]]:
    """Return the zones of the table of countries, at least one for each under its current name, and their countries.

    The table has the zones of a country in an order that puts those of most people first.
    """
    found, known = dict[str, tuple[str, ...]](), available_timezones()
    for line in _read("zone.tab"):
        if not line.startswith("#"):
            code, _, zone, *_ = line.split("\t")
            found[zone] = (*found.get(zone, ()), code)
    return {zone: codes for zone, codes in found.items() if zone in known}


def _current_names() -> AbstractSet[str]:
    return countries_of_zones().keys()


def _read(name: str) -> list[str]:
    return files("tzdata.zoneinfo").joinpath(name).read_text("utf-8").splitlines()


def _city(zone: str, known: Mapping[str, Mapping[str, str]], aliases: Mapping[str, Sequence[str]]) -> str:
    # CLDR keeps a city's name under the zone's oldest name; an alias shows its own, or the name would appear twice.
    names = [] if zone in get_global("zone_aliases") else [zone, *aliases.get(zone, ())]
    cities = (known[name].get("city") for name in names if name in known)
    return next((str(city) for city in cities if city), zone_name(zone.partition("/")[2]).replace("/", ", "))


def _cldr_aliases() -> dict[str, list[str]]:
    found = dict[str, list[str]]()
    for old, new in get_global("zone_aliases").items():
        found.setdefault(new, []).append(old)
    return found
