"""The nouns of analytics."""

from datetime import date, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct, field


class PageView(Struct, frozen=True, kw_only=True):
    """One visit of a public page, without anything about the visitor."""

    username: str
    """The host's."""

    event_type_id: UUID | None
    """None is the host's own page."""

    on: date
    """In the host's time zone."""

    source: str


class CountedViews(Struct, frozen=True, kw_only=True):
    event_type_id: UUID | None
    on: date
    source: str
    views: int


class FunnelStep(StrEnum):
    """How far somebody has come who signs up by the form, in order."""

    VISITED = "visited"
    SIGNED_UP = "signed_up"
    VERIFIED = "verified"
    CALENDAR_CONNECTED = "calendar_connected"
    EVENT_TYPE_MADE = "event_type_made"
    FIRST_BOOKING = "first_booking"


class FunnelCount(Struct, frozen=True, kw_only=True):
    """How often a step was taken on one day, in UTC."""

    on: date
    step: FunnelStep
    count: int


class Funnel(Struct, frozen=True, kw_only=True):
    first: date
    last: date
    total: dict[FunnelStep, int]
    """Every step, in order, those that nobody has taken too."""
    days: tuple[FunnelCount, ...]
    """Only what was taken, the first day first."""


class DayOfPlatform(Struct, frozen=True, kw_only=True):
    """What happened on the whole platform on one day, in UTC."""

    on: date
    bookings: int = 0
    """Made on this day, also those that were cancelled later."""
    mail_sent: int = 0
    mail_failed: int = 0
    webhooks_delivered: int = 0
    webhooks_failed: int = 0
    """Tries that failed; each may have been repeated."""
    spent_micros: int = 0
    """By all agents together."""


class SourceCount(Struct, frozen=True, kw_only=True):
    source: str
    views: int


class HostPeriod(Struct, frozen=True, kw_only=True):
    """Days of a host, both included, in the host's time zone."""

    first: date
    last: date

    @property
    def length(self) -> int:
        """How many days."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "HostPeriod":
        """As many days, directly before it."""
        return HostPeriod(first=self.first - timedelta(days=self.length), last=self.first - timedelta(days=1))

    @property
    def days(self) -> list[date]:
        return list(map(date.fromordinal, range(self.first.toordinal(), self.last.toordinal() + 1)))


class HostFigures(Struct, kw_only=True):
    """What was counted for a host: by day over a period and the one before it, the rest over the period alone."""

    days: dict[str, dict[date, int]] = field(default_factory=dict)
    """`made`, `kept`, `no_shows`, `cancelled` and `visits`; a day without any is missing."""
    event_types: dict[UUID, dict[str, int]] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    """Visits by where they come from."""
    booked: dict[str, int] = field(default_factory=dict)
    """Bookings by where the visitor who booked came from."""
    sources_since: date | None = None
    """The day of the first booking whose source is known."""
    hours: dict[tuple[int, int], int] = field(default_factory=dict)
    """Meetings by weekday, Monday being 0, and hour."""
    ahead: dict[str, int] = field(default_factory=dict)
    """The median of seconds from a booking to its start, in the period and in the one before it."""

    def list_days(self, kind: str, period: HostPeriod) -> list[int]:
        counted = self.days.get(kind, {})
        days = [0] * period.length
        for on, count in counted.items():
            if period.first <= on <= period.last:
                days[(on - period.first).days] = count
        return days

    def total(self, kind: str, period: HostPeriod) -> int:
        return sum(self.list_days(kind, period))


class HostOverview(Struct, frozen=True, kw_only=True):
    """What the first screen says about a host besides bookings."""

    visits: dict[date, int]
    """Of all pages together, by day; a day without any is missing."""
    bookings: int
    """Made in the same days."""
    busy: list[tuple[int, int]]
    """When connected calendars say that the host is busy, in whole seconds since 1970."""
