"""Days and places as a page writes them, in the reader's language."""

import re
from datetime import date
from functools import lru_cache

import babel
from babel.dates import format_date, get_timezone_location, match_skeleton

from openslot.i18n.languages import Locale
from openslot.i18n.localization import Localizable

WEEKDAY, MONTH = re.compile("E+|c+"), re.compile("M{3,}")


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
        """Write the day for programs."""
        return self.on.isoformat()


class City(Localizable, frozen=True):
    """A time zone as people call it, such as `Lagos`."""

    zone: str

    def localize(self, locale: Locale) -> str:
        """Write the zone's city."""
        return _city(self.zone, locale.formats) if "/" in self.zone else self.zone

    def __str__(self) -> str:
        """Write the zone for programs."""
        return self.zone


@lru_cache(maxsize=2048)
def _city(zone: str, formats: str) -> str:
    return get_timezone_location(zone, locale=formats, return_city=True)


@lru_cache(maxsize=64)
def _pattern(formats: str, with_year: bool) -> str:
    skeletons = babel.Locale.parse(formats).datetime_skeletons
    wanted, usual = ("yMMMMEd", "yMMMEd") if with_year else ("MMMMEd", "MMMEd")
    pattern = skeletons[match_skeleton(wanted, skeletons) or usual].pattern
    return MONTH.sub("MMMM", WEEKDAY.sub("EEEE", pattern))
