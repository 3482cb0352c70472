"""Figures in words: numbers, shares and days as the reader's place writes them, and how a figure has changed."""

from datetime import date
from functools import lru_cache
from typing import Literal

from babel.dates import format_skeleton, get_day_names
from babel.numbers import format_decimal, format_percent
from msgspec import Struct

from openslot.doors.web.shared.templating import templates
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, parse_formats
from openslot.platform.i18n.localization import Localizable

PERCENT_FROM = 20
SOURCES = {"direct": Text("Direct, or from an email"), "other": Text("Other sources")}
"""The smallest number whose change is written in per cent; of a smaller one it would sound larger than it is."""


# To find and parse the patterns takes longer than all else of a page with many figures.
# benchmarks/caches.py: write a number, up to 200 times in a page, 31 times
@lru_cache(maxsize=4096)
def _format_number(value: float, formats: str) -> str:
    return format_decimal(value, "#,##0.##", locale=parse_formats(formats))


def _format_percent(share: float, formats: str) -> str:
    return format_percent(share, locale=parse_formats(formats))


def _list_short_weekdays(formats: str) -> dict[int, str]:
    return dict(get_day_names("abbreviated", "stand-alone", locale=parse_formats(formats)))


# benchmarks/caches.py: write a day of a chart, a hundred times in a page, 23 times
@lru_cache(maxsize=4096)
def _format_short_day(on: date, formats: str) -> str:
    return str(format_skeleton("MMMd", on, locale=parse_formats(formats)))


def _format_short_day_of_week(on: date, formats: str) -> str:
    return str(format_skeleton("MMMEd", on, locale=parse_formats(formats)))


class ShownNumber(Localizable, frozen=True):
    """A number such as `1,206` or `8.2`."""

    value: float

    def localize(self, locale: Locale) -> str:
        return _format_number(self.value, locale.formats)

    def __str__(self) -> str:
        return f"{self.value:g}" if self.value != int(self.value) else str(int(self.value))


templates.filters["number"] = ShownNumber


class Percent(Localizable, frozen=True):
    """A share such as `18%`."""

    share: float

    def localize(self, locale: Locale) -> str:
        return _format_percent(self.share, locale.formats)

    def __str__(self) -> str:
        return f"{self.share:.0%}"


class ShortDay(Localizable, frozen=True):
    """A day such as `20 Oct`."""

    on: date

    def localize(self, locale: Locale) -> str:
        return _format_short_day(self.on, locale.formats)

    def __str__(self) -> str:
        return self.on.isoformat()


class ShortDayOfWeek(Localizable, frozen=True):
    """A day such as `Tue, 20 Oct`."""

    on: date

    def localize(self, locale: Locale) -> str:
        return _format_short_day_of_week(self.on, locale.formats)

    def __str__(self) -> str:
        return self.on.isoformat()


class ShortWeekday(Localizable, frozen=True):
    """`Tue`; Monday is 0."""

    weekday: int

    def localize(self, locale: Locale) -> str:
        return _list_short_weekdays(locale.formats)[self.weekday]

    def __str__(self) -> str:
        return str(self.weekday)


class Delta(Struct, frozen=True, kw_only=True):
    """How a figure has changed, in words, and whether that is good."""

    words: Text
    tone: Literal["good", "warn", ""] = ""


def compare(value: float, before: float, *, better: Literal["more", "fewer", "neither"] = "neither") -> Delta:
    """Write `18% more`, `2 fewer`, `as before` or `none before`."""
    if value == before:
        return Delta(words=Text("as before"))
    change = abs(value - before)
    is_share = before >= PERCENT_FROM and round(100 * change / before) > 0
    amount = Percent(change / before) if is_share else ShownNumber(round(change, 1))
    is_more = value > before
    if better == "neither":
        tone: Literal["good", "warn", ""] = ""
    elif is_more:
        tone = "good" if better == "more" else "warn"
    else:
        tone = "good" if better == "fewer" else ""
    words = Text("%(amount)s more", amount=amount) if is_more else Text("%(amount)s fewer", amount=amount)
    return Delta(words=words if before else Text("none before"), tone=tone)
