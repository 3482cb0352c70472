"""Values as a reader sees them: texts translated by catalogs, days and times as their place writes them."""

from datetime import date, datetime, time
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from babel.dates import format_date, format_time
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from msgspec import Struct

from openslot.platform.i18n.languages import ENGLISH, Hours, Language, Locale, parse_formats, usual_hours
from openslot.platform.i18n.texts import PluralText, Text

PATTERNS: dict[Hours, str] = {12: "h:mm a", 24: "HH:mm"}


# benchmarks/caches.py: booking page in German, 290 times
@cache
def get_catalog(language: Language) -> NullTranslations:
    """Read the catalog of a language; English needs none, its texts are what the catalogs are asked for."""
    if language is ENGLISH:
        return NullTranslations()
    source = files("openslot.platform.i18n") / "locales" / language.tag / "LC_MESSAGES" / "openslot.po"
    compiled = BytesIO()
    # Read as it is written, without a compiled copy beside it that could be older.
    write_mo(compiled, read_po(BytesIO(source.read_bytes()), locale=language.tag))
    compiled.seek(0)
    return GNUTranslations(compiled)


class Localizable(Struct, frozen=True):
    """A value that knows how a reader sees it."""

    def localize(self, locale: Locale) -> str:
        raise NotImplementedError


def localize(value: object, locale: Locale) -> object:
    """Show a value to a reader; a plain string is somebody's own words, and stays as it is.

    A day becomes `16 March 2026`; a time of day has 12 or 24 hours, as the reader wants it or the place counts them.
    """
    # Most of what a page shows is a plain string: hundreds in a month of times.
    if type(value) is str:
        return value
    if isinstance(value, Text):
        values = {name: localize(inner, locale) for name, inner in value.values.items()}
        found = translate(value, locale.language)
        return found % values if values else found
    if isinstance(value, Localizable):
        return value.localize(locale)
    if isinstance(value, datetime):
        raise TypeError("an instant has a day and a time only in a zone: show one of these")
    if isinstance(value, date):
        return format_date(value, "long", locale=parse_formats(locale.formats))
    if isinstance(value, time):
        return format_minute(value.hour * 60 + value.minute, locale.formats, locale.hours)
    return value


# benchmarks/caches.py: write a time of day, up to 400 times in a page, 26 times
@lru_cache(maxsize=8192)
def format_minute(minute: int, formats: str, hours: Hours | None = None) -> str:
    """Write a minute of a day: `09:00`, or `9:00 AM`."""
    usual = usual_hours(formats)
    pattern = "short" if (hours or usual) == usual else PATTERNS[hours or usual]
    return str(format_time(time(minute // 60, minute % 60), pattern, locale=parse_formats(formats)))


def translate(text: Text, language: Language) -> str:
    """Find a text in a language, without its values."""
    catalog = get_catalog(language)
    if isinstance(text, PluralText):
        return catalog.ngettext(text.msgid, text.plural, text.number)
    return catalog.gettext(text.msgid)
