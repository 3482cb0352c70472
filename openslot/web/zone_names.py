"""Time zones as people look for them: by region and city, in the page's language."""

from functools import lru_cache
from itertools import groupby
from zoneinfo import available_timezones

import babel
from babel.core import get_global
from msgspec import Struct

from openslot.i18n import Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize

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


@lru_cache(maxsize=16)
def zones_by_region(locale: Locale) -> tuple[Region, ...]:
    """List the zones that people use, by region, both sorted by the reader's alphabet."""
    names = sorted(name for name in available_timezones() if name.partition("/")[0] in REGIONS)
    regions = (
        Region(
            str(localize(REGIONS[region], locale)),
            tuple(sorted(((name, _city(name, locale)) for name in group), key=lambda zone: zone[1])),
        )
        for region, group in groupby(names, key=lambda name: name.partition("/")[0])
    )
    return tuple(sorted(regions, key=lambda region: region.name))


def zone_name(zone: str) -> str:
    """Write a zone's name with spaces between its words."""
    return zone.replace("_", " ")


def _city(zone: str, locale: Locale) -> str:
    aliases = get_global("zone_aliases")
    known = babel.Locale.parse(locale.formats).time_zones
    # CLDR keeps a city's name under the zone's oldest name; an alias shows its own, or the name would appear twice.
    names = [] if zone in aliases else [zone, *(old for old, new in aliases.items() if new == zone)]
    cities = (known[name].get("city") for name in names if name in known)
    return next((str(city) for city in cities if city), zone_name(zone.partition("/")[2]).replace("/", ", "))
