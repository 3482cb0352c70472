"""Which language a person reads: their own setting, then what the browser asks for, then English."""

import re
from functools import lru_cache

from babel.localedata import exists

from openslot.i18n.languages import DEFAULT, LANGUAGES, Locale

LONGEST_HEADER = 1000
# One language of `Accept-Language`: a tag, and how much it is wanted.
RANGE = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")
REGION = re.compile(r"[A-Z]{2}|[0-9]{3}")


def negotiate(setting: str | None, accept_language: str = "") -> Locale:
    """Choose the locale to show a page in."""
    wanted = ([setting] if setting else []) + _tags(accept_language[:LONGEST_HEADER])
    return next((locale for tag in wanted if (locale := find_locale(tag)) is not None), DEFAULT)


@lru_cache(maxsize=1000)
def find_locale(tag: str) -> Locale | None:
    """Find the locale of a tag such as `de`, `pt-BR` or `en_US`, or None where there is no catalog for its language."""
    name, *parts = tag.replace("_", "-").split("-")
    language = LANGUAGES.get(name.lower())
    if language is None:
        return None
    region = next((part.upper() for part in parts if REGION.fullmatch(part.upper())), None)
    formats = f"{language.tag}_{region}"
    return Locale(language=language, formats=formats if region and exists(formats) else language.formats)


def _tags(accept_language: str) -> list[str]:
    """List what a browser accepts, what it wants most first; what is no language is passed over."""
    ranges = [match for part in accept_language.split(",") if (match := RANGE.fullmatch(part)) is not None]
    weighed = [(float(match[2] or 1), match[1]) for match in ranges]
    return [tag for weight, tag in sorted(weighed, key=lambda pair: -pair[0]) if weight > 0]
