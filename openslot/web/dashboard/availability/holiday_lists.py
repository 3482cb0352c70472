"""Countries and regions whose public holidays are known, and the next holidays of a schedule."""

from datetime import date
from functools import lru_cache

import babel
from msgspec import Struct

from openslot.i18n.languages import Locale
from openslot.schedules.models import Schedule
from openslot.schedules.rules import find_override, holidays_of, list_holiday_countries, list_holiday_regions
from openslot.web.dates import Weekday

MOST_SHOWN = 12


class NextHoliday(Struct, frozen=True):
    """A public holiday that is coming."""

    on: date
    day: Weekday
    name: str
    is_worked: bool
    """Whether hours of its own open it."""


@lru_cache(maxsize=16)
def list_countries(locale: Locale) -> tuple[tuple[str, str], ...]:
    """List the countries by their names in the reader's language."""
    names = babel.Locale.parse(locale.formats).territories
    return tuple(sorted(((code, names.get(code, code)) for code in list_holiday_countries()), key=lambda each: each[1]))


def list_regions(country: str) -> tuple[tuple[str, str], ...]:
    """List the regions of a country that have holidays of their own, by name."""
    return tuple(sorted(list_holiday_regions(country).items(), key=lambda each: each[1]))


def next_holidays(schedule: Schedule, *, today: date) -> list[NextHoliday]:
    """List the next public holidays of a schedule."""
    if schedule.holidays is None:
        return []
    years = (today.year, today.year + 1)
    found = sorted((on, name) for year in years for on, name in holidays_of(schedule.holidays, year).items())
    return [
        NextHoliday(on, Weekday(on, today), name, bool((own := find_override(schedule, on)) and own.hours))
        for on, name in found
        if on >= today
    ][:MOST_SHOWN]
