"""The nouns of schedules: hours, overrides, time away and public holidays."""

from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class TimeRange(Struct, frozen=True, order=True):
    """A stretch of wall time that belongs to the day on which it starts."""

    start_minute: int
    """Minutes after that day's 00:00, from 0 to 1439."""

    end_minute: int
    """Minutes after the same 00:00: 1440 is 24:00, more reaches into the next day."""


Hours = tuple[TimeRange, ...]
WeeklyHours = tuple[Hours, Hours, Hours, Hours, Hours, Hours, Hours]


class DateOverride(Struct, frozen=True):
    """The hours of one date, instead of those of its weekday; none close the day."""

    on: date
    hours: Hours = ()


class OutOfOffice(Struct, frozen=True):
    """A span of instants in which no meeting may take place."""

    starts_at: datetime
    ends_at: datetime
    reason: str = ""


class Absence(Struct, frozen=True, kw_only=True):
    id: UUID
    away: OutOfOffice
    bookings: int
    """How many upcoming bookings are in this time; they stay."""


class HolidayCalendar(Struct, frozen=True):
    """The public holidays of a country, or of one of its regions."""

    country: str
    """Two letters, ISO 3166-1."""

    region: str | None = None
    """The name in the country's own list of holidays, mostly ISO 3166-2 without the country."""


class Schedule(Struct, frozen=True, kw_only=True):
    """When a host works, by the wall clock of one zone."""

    id: UUID
    owner_id: UUID
    name: str
    zone: str
    weekly_hours: WeeklyHours
    """Seven entries, Monday first."""

    overrides: tuple[DateOverride, ...] = ()
    out_of_office: tuple[OutOfOffice, ...] = ()
    holidays: HolidayCalendar | None = None


class ScheduleUse(Struct, frozen=True):
    id: UUID
    name: str
    active: bool


class ScheduleOverview(Struct, frozen=True, kw_only=True):
    schedule: Schedule
    uses: tuple[ScheduleUse, ...]
    is_default: bool
