"""The languages that Openslot speaks, and which of them a person reads."""

import re
from functools import cache, lru_cache
from typing import Literal

import babel
from babel.localedata import exists
from msgspec import Struct

Direction = Literal["ltr", "rtl"]
Hours = Literal[12, 24]
"""How many hours a clock has."""


class Language(Struct, frozen=True, kw_only=True):
    tag: str
    name: str
    """The name that its speakers use."""
    formats: str
    """The CLDR locale for dates and times if no region is given."""
    direction: Direction = "ltr"


# English without a region is the international one: 16 March 2026, 14:30.
ENGLISH = Language(tag="en", name="English", formats="en_GB")
LANGUAGES = {
    language.tag: language
    for language in (
        ENGLISH,
        Language(tag="de", name="Deutsch", formats="de"),
        Language(tag="fr", name="Français", formats="fr"),
        Language(tag="es", name="Español", formats="es"),
        Language(tag="pt", name="Português", formats="pt_BR"),
        Language(tag="ja", name="日本語", formats="ja"),
        Language(tag="ar", name="العربية", formats="ar", direction="rtl"),
    )
}


class Locale(Struct, frozen=True, kw_only=True):
    """A language, the place whose dates and times go with it, and what a reader wants otherwise."""

    language: Language
    formats: str
    """The CLDR locale, such as `de_AT`."""
    hours: Hours | None = None
    """None if it is as the place counts them."""
    first_weekday: int | None = None
    """The weekday's number, from Monday as 0; None if it is as the place begins its weeks."""


DEFAULT = Locale(language=ENGLISH, formats=ENGLISH.formats)


LONGEST_HEADER = 1000
# One language of `Accept-Language`: a tag, and how much it is wanted.
RANGE = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")
REGION = re.compile(r"[A-Z]{2}|[0-9]{3}")


def negotiate(setting: str | None, accept_language: str = "") -> Locale:
    """Choose the locale to show a page in."""
    wanted = ([setting] if setting else []) + _tags(accept_language[:LONGEST_HEADER])
    return next((locale for tag in wanted if (locale := find_locale(tag)) is not None), DEFAULT)


# benchmarks/caches.py: find a language, several times in every page, 19 times
@lru_cache(maxsize=1000)
def find_locale(tag: str) -> Locale | None:
    """Find the locale of a tag such as `de`, `pt-BR` or `en_US`, or None if there is no catalog for its language."""
    name, *parts = tag.replace("_", "-").split("-")
    language = LANGUAGES.get(name.lower())
    if language is None:
        return None
    region = next((part.upper() for part in parts if REGION.fullmatch(part.upper())), None)
    formats = f"{language.tag}_{region}"
    return Locale(language=language, formats=formats if region and exists(formats) else language.formats)


def choose_locale(*tags: str | None) -> Locale:
    """Choose the first language that there is a catalog for."""
    return next((locale for tag in tags if tag and (locale := find_locale(tag)) is not None), DEFAULT)


def _tags(accept_language: str) -> list[str]:
    """List what a browser accepts, what it wants most first; what is no language is passed over."""
    ranges = [match for part in accept_language.split(",") if (match := RANGE.fullmatch(part)) is not None]
    weighed = [(float(match[2] or 1), match[1]) for match in ranges]
    return [tag for weight, tag in sorted(weighed, key=lambda pair: -pair[0]) if weight > 0]


# benchmarks/caches.py: tell how a place counts hours, in every booking page, 4.9 times
@cache
def parse_formats(formats: str) -> babel.Locale:
    """Return how a place writes days, times and numbers: Babel parses its name again each time."""
    return babel.Locale.parse(formats)


def usual_hours(formats: str) -> Hours:
    return 12 if "a" in parse_formats(formats).time_formats["short"].pattern else 24


def first_weekday_of(locale: Locale) -> int:
    """Return the day with which weeks begin, from Monday as 0."""
    chosen = locale.first_weekday
    return _usual_first_weekday(locale.formats) if chosen is None else chosen


def _usual_first_weekday(formats: str) -> int:
    return int(parse_formats(formats).first_week_day)
