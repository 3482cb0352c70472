"""Finds time zones by what people call them: a city, a country, an abbreviation such as CET, an offset from UTC.

Names are those of the reader's language, and of English.
"""

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from babel.core import get_global
from msgspec import Struct

from openslot.doors.web.shared.zones import countries_of_zones, former_names, zones_by_region
from openslot.platform.core.times import NOT_A_ZONE, Zone, find_zone, get_zone
from openslot.platform.i18n.cities import SHORT_NAMES, list_cities
from openslot.platform.i18n.languages import ENGLISH, LANGUAGES, Language, Locale, parse_formats

LONGEST_SEARCH = 60
# Whose winter and summer name the times of the zones.
YEAR = 2026
MAX_FOUND = 30
# From this length on, a text is also searched for within names.
LONG_ENOUGH = 3
OFFSET = re.compile(r"(?:utc|gmt)? ?([+\u2212-]) ?([0-9]{1,2})(?::?([0-5][0-9]))?")
# What a field shows after a zone such as CET, which others share with it: that zone itself is meant.
ITSELF = " (IANA)"
BETWEEN_WORDS = re.compile(r"[\s_/,()\u3001\u060c]+")


class FoundZone(Struct, frozen=True, kw_only=True):
    zone: str
    city: str
    country: str = ""

    @property
    def label(self) -> str:
        """What a field shows and reads."""
        return f"{self.city} ({self.country})" if self.country not in {"", self.city} else self.city


class _Entry(Struct, frozen=True, kw_only=True):
    shown: FoundZone
    names: tuple[str, ...]
    """The names by which it is found, as `fold` writes them."""
    shared: tuple[str, ...]
    """Names of its country and of its time, which others have too."""
    order: int
    """Where it stands among those that are found equally well."""
    is_extra: bool
    """Whether its zone is called after another city, which stands for the country and the time."""
    own_words: tuple[str, ...]
    shared_words: tuple[str, ...]


def fold(text: str) -> str:
    """Write a text without accents, letter case, controls, and differences between what separates words."""
    parts = BETWEEN_WORDS.sub(" ", unicodedata.normalize("NFKD", text[:LONGEST_SEARCH]))
    plain = "".join(each for each in parts if each.isprintable() and not unicodedata.combining(each))
    return " ".join(plain.casefold().split())


def find_zones(search: str, locale: Locale, *, now: datetime) -> list[FoundZone]:
    """List what a search means, the best first; nothing if it is empty."""
    wanted = fold(search)
    entries = list_entries(locale.language)
    if match := OFFSET.fullmatch(wanted):
        found = _with_offset(entries, match, now)
    else:
        ranked = [(rank, each.order, each) for each in entries if wanted and (rank := _rank(each, wanted)) is not None]
        found = [each for _, _, each in sorted(ranked, key=lambda one: one[:2])]
    return [each.shown for each in found[:MAX_FOUND]]


def read_zone(text: str) -> str | None:
    """Return the zone that a text names: its name in the database of zones, or a name that no other zone has."""
    typed = text.strip()
    known = find_zone(typed.removesuffix(ITSELF))
    if known and ("/" in str(known) or typed.endswith(ITSELF)):
        return str(known)
    wanted = fold(text)
    for language in LANGUAGES.values():
        entries = list_entries(language)
        exact = {
            each.shown.zone for each in entries if wanted in each.names or (not each.is_extra and wanted in each.shared)
        }
        if exact:
            return exact.pop() if len(exact) == 1 else None
    return str(known) if known else None


class TypedZone(Zone):
    """A zone as people type it, such as Tokyo."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> str:
        zone = read_zone(text)
        if zone is None:
            raise ValueError(NOT_A_ZONE)
        return zone


# benchmarks/caches.py: name 20 zones, 2,000 times
@lru_cache(maxsize=16)
def list_offered(language: Language) -> dict[str, FoundZone]:
    """Return the zones that people choose from, by their names, in the order of the table of countries."""
    locale = Locale(language=language, formats=language.formats)
    cities = {zone: city for region in zones_by_region(locale) for zone, city in region.zones}
    offered = {"UTC": FoundZone(zone="UTC", city="UTC")}
    for zone, codes in countries_of_zones().items():
        if zone in cities:
            offered[zone] = FoundZone(zone=zone, city=cities[zone], country=_country(codes[0], language.formats))
    return offered


def name_zone(zone: str, locale: Locale) -> FoundZone:
    """Name a zone; one that is not offered, and what is no zone, as it is."""
    return list_offered(locale.language).get(zone) or FoundZone(zone=zone, city=zone)


def write_zone(zone: str, locale: Locale) -> str:
    """Write a zone for a field, so that `read_zone` finds the same one; what is no zone as it is."""
    if zone in list_offered(locale.language) or "/" in zone or not find_zone(zone):
        return name_zone(zone, locale).label
    return f"{zone}{ITSELF}"


def _with_offset(entries: tuple[_Entry, ...], match: re.Match[str], now: datetime) -> list[_Entry]:
    sign = 1 if match[1] == "+" else -1
    wanted = sign * timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    fitting = (each for each in entries if now.astimezone(get_zone(each.shown.zone)).utcoffset() == wanted)
    return sorted((each for each in fitting if not each.is_extra), key=lambda each: each.order)


def _rank(entry: _Entry, wanted: str) -> int | None:
    """Return how well an entry fits, from 0; None if it does not."""
    names = entry.names if entry.is_extra else entry.names + entry.shared
    if wanted in names:
        return 0
    if any(name.startswith(wanted) for name in names):
        return 1
    words = wanted.split()
    own, known = entry.own_words, entry.shared_words
    if any(_begins(word, own) for word in words) and all(_begins(word, own) or _begins(word, known) for word in words):
        return 2
    if len(wanted) >= LONG_ENOUGH or not wanted.isascii():
        return 3 if any(wanted in name for name in names) else None
    return None


def _words(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for name in names for word in name.split())


def _begins(beginning: str, words: tuple[str, ...]) -> bool:
    return any(word.startswith(beginning) for word in words)


# benchmarks/caches.py: search a zone, 12 times
@lru_cache(maxsize=16)
def list_entries(language: Language) -> tuple[_Entry, ...]:
    """List everything that can be found, once for each language."""
    english = list_offered(ENGLISH)
    # A name in brackets is that of a neighbour with the same time.
    main = {_current(zone) for name, zone in get_global("windows_zone_mapping").items() if "(" not in name}
    entries = dict[str, _Entry]()
    for index, (zone, shown) in enumerate(list_offered(language).items()):
        names = (shown.city, shown.label, english[zone].city, zone, *former_names().get(zone, ()))
        shared = (*_countries(zone, language.formats), *_names_of_time(zone, language.formats))
        entries[zone] = _make_entry(
            shown,
            tuple({*map(fold, names)}),
            tuple({*map(fold, shared)}),
            order=index if zone in main or zone == "UTC" else index + len(english),
        )
    extra = (_make_extra(entries[city.zone], city.name_in(language.tag), city.name) for city in list_cities())
    return (*entries.values(), *extra)


def _make_extra(entry: _Entry, name: str, english: str) -> _Entry:
    shown = FoundZone(zone=entry.shown.zone, city=name, country=entry.shown.country)
    names = tuple({fold(name), fold(english), fold(shown.label)})
    return _make_entry(shown, names, entry.shared, order=entry.order, is_extra=True)


def _make_entry(
    shown: FoundZone, names: tuple[str, ...], shared: tuple[str, ...], *, order: int, is_extra: bool = False
) -> _Entry:
    return _Entry(
        shown=shown,
        names=names,
        shared=shared,
        order=order,
        is_extra=is_extra,
        own_words=_words(names if is_extra else names + shared),
        shared_words=_words(shared),
    )


def _country(code: str, formats: str) -> str:
    return str(parse_formats(formats).territories.get(code, code))


def _countries(zone: str, formats: str) -> list[str]:
    codes = countries_of_zones().get(zone, ())
    names = [_country(code, each) for code in codes for each in (formats, ENGLISH.formats)]
    return [*names, *(name for code in codes for name in SHORT_NAMES.get(code, ()))]


def _names_of_time(zone: str, formats: str) -> list[str]:
    """List what clocks show in winter and in summer: PST, CET, Central European Summer Time."""
    dates = (datetime(YEAR, month, 1, tzinfo=UTC).astimezone(get_zone(zone)) for month in (1, 7))
    names = [name for each in dates if (name := each.tzname()) and name.isalpha()]
    known = get_global("meta_zones")
    meta = next((known[each] for each in (zone, *former_names().get(zone, ())) if each in known), "")
    for each in (formats, "en"):
        widths = parse_formats(each).meta_zones.get(meta, {})
        names += [name for width in ("long", "short") for name in widths.get(width, {}).values()]
    return names


def _current(zone: str) -> str:
    return next((current for current, former in former_names().items() if zone in former), zone)
