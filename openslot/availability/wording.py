"""Days, times, spans and lengths inside of a reason: short for programs, and in words for people."""

from datetime import date, datetime

from babel.dates import format_date, format_time, get_day_names
from babel.units import format_unit

from openslot.i18n.languages import Locale
from openslot.i18n.localization import Localizable
from openslot.schedules.models import WEEKDAYS, Hours
from openslot.schedules.rules import MINUTES_A_DAY, write_minute

_TO = "\N{EN DASH}"


class WeekdayName(Localizable, frozen=True):
    """The name of a weekday, Monday being 0."""

    weekday: int

    def localize(self, locale: Locale) -> str:
        """Write it as it stands alone."""
        return str(get_day_names("wide", "stand-alone", locale=locale.formats)[self.weekday])

    def __str__(self) -> str:
        """Write it in English."""
        return WEEKDAYS[self.weekday].capitalize()


class DayInWords(Localizable, frozen=True):
    """A day with its weekday."""

    on: date

    def localize(self, locale: Locale) -> str:
        """Write weekday, day, month and year."""
        return format_date(self.on, "full", locale=locale.formats)

    def __str__(self) -> str:
        """Write weekday and date."""
        return f"{WEEKDAYS[self.on.weekday()].capitalize()} {self.on}"


class LocalMoment(Localizable, frozen=True):
    """A date and a time of the host's clock."""

    at: datetime

    def localize(self, locale: Locale) -> str:
        """Write the day and the time."""
        return f"{format_date(self.at, 'long', locale=locale.formats)} {write_time(self.at, locale)}"

    def __str__(self) -> str:
        """Write the date and the time."""
        return f"{self.at:%Y-%m-%d %H:%M}"


class LocalSpan(Localizable, frozen=True):
    """From when to when by the host's clock, with dates only if they differ."""

    starts_at: datetime
    ends_at: datetime

    def localize(self, locale: Locale) -> str:
        """Write both ends."""
        if self.starts_at.date() == self.ends_at.date():
            return f"{write_time(self.starts_at, locale)}{_TO}{write_time(self.ends_at, locale)}"
        return f"{LocalMoment(self.starts_at).localize(locale)} {_TO} {LocalMoment(self.ends_at).localize(locale)}"

    def __str__(self) -> str:
        """Write both ends."""
        if self.starts_at.date() == self.ends_at.date():
            return f"{self.starts_at:%H:%M}{_TO}{self.ends_at:%H:%M}"
        return f"{LocalMoment(self.starts_at)} {_TO} {LocalMoment(self.ends_at)}"


class HoursInWords(Localizable, frozen=True):
    """The ranges of a day."""

    hours: Hours

    def localize(self, locale: Locale) -> str:
        """Write every range as the reader's clock shows it."""
        return ", ".join(
            f"{_write_minute(each.start_minute, locale)}{_TO}{_write_minute(each.end_minute, locale)}"
            for each in self.hours
        )

    def __str__(self) -> str:
        """Write every range."""
        return ", ".join(
            f"{write_minute(each.start_minute)}{_TO}{write_minute(each.end_minute)}" for each in self.hours
        )


class LengthOfTime(Localizable, frozen=True):
    """Days, hours and minutes."""

    minutes: int

    def localize(self, locale: Locale) -> str:
        """Write the units that are not zero."""
        parts = zip(self._split(), ("duration-day", "duration-hour", "duration-minute"), strict=True)
        written = [format_unit(count, unit, "short", locale=locale.formats) for count, unit in parts if count]
        return " ".join(written) or format_unit(0, "duration-minute", "short", locale=locale.formats)

    def __str__(self) -> str:
        """Write the units that are not zero, shortly."""
        parts = [f"{count} {unit}" for count, unit in zip(self._split(), ("d", "h", "min"), strict=True) if count]
        return " ".join(parts) or "0 min"

    def _split(self) -> tuple[int, int, int]:
        return self.minutes // 1440, self.minutes // 60 % 24, self.minutes % 60


def write_time(at: datetime, locale: Locale) -> str:
    """Write a time as the reader's clock shows it."""
    return format_time(at.time(), "short", locale=locale.formats)


def _write_minute(minute: int, locale: Locale) -> str:
    # No time of day is 24:00, which people read all the same.
    if minute == MINUTES_A_DAY:
        return write_minute(minute)
    within = minute % MINUTES_A_DAY
    return write_time(datetime(2000, 1, 1, within // 60, within % 60), locale)  # noqa: DTZ001 - only its clock is shown
