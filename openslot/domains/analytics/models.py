"""The nouns of analytics."""

from datetime import date, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID

from msgspec import Struct, field

from openslot.domains.accounts.plans import Plan

DayStep = Literal["day", "week", "month"]


class PageView(Struct, frozen=True, kw_only=True):
    """One visit of a public page, without anything about the visitor."""

    username: str
    """The host's; of a team's event type, whatever stands there in the address."""

    event_type_id: UUID | None
    """None is the host's own page."""

    on: date
    """The day in the time zone of the host, or of the team."""

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
    """The sum of every step, in order, including steps that nobody has taken."""
    days: tuple[FunnelCount, ...]
    """The steps that were taken, the first day first; days and steps without any are missing."""


class DailySum(Struct, frozen=True, kw_only=True):
    """The sum of a figure over some days."""

    index: int
    """The index of these days among the days that were asked for."""
    name: str
    key: str
    amount: int


class RetainedHosts(Struct, frozen=True, kw_only=True):
    """How many users of a group have signed up, or had bookings later."""

    cohort: int
    index: int | None
    """The index of the days in which they had bookings; None if this counts who signed up."""
    hosts: int


class LogCount(Struct, frozen=True, kw_only=True):
    """How many entries of a log one day has, in UTC."""

    on: date
    channel: str
    """`email`, `sms`, `whatsapp`, `voice`, `webhook` or `spend`."""
    direction: str
    status: str
    amount: int
    seconds: int = 0
    """The length of calls; 0 for everything else."""


class TopEventType(Struct, frozen=True, kw_only=True):
    id: UUID
    owner_id: UUID
    name: str
    slug: str
    bookings: int
    visits: int


class PlanCount(Struct, frozen=True, kw_only=True):
    """How many users have the same plans."""

    own: Plan
    effective: Plan
    on_trial: bool
    users: int


class SubscriptionCount(Struct, frozen=True, kw_only=True):
    plan: str
    status: str
    mode: str
    subscriptions: int


class UtcDays(Struct, frozen=True, kw_only=True):
    """Days in UTC, both included."""

    first: date
    last: date

    @property
    def length(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "UtcDays":
        """As many days, directly before them."""
        return UtcDays(first=self.first - timedelta(days=self.length), last=self.first - timedelta(days=1))

    def split(self, step: DayStep) -> list["UtcDays"]:
        """Split into days, weeks from Monday, or months; the first and the last may be shorter."""
        starts = [self.first]
        while (start := _next_start(starts[-1], step)) <= self.last:
            starts.append(start)
        ends = [start - timedelta(days=1) for start in starts[1:]]
        return [UtcDays(first=first, last=last) for first, last in zip(starts, [*ends, self.last], strict=True)]


def _next_start(on: date, step: DayStep) -> date:
    if step == "day":
        return on + timedelta(days=1)
    if step == "week":
        return on + timedelta(days=7 - on.weekday())
    return (on.replace(day=1) + timedelta(days=31)).replace(day=1)


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
    """The visits of all pages together, by day; a day without any is missing."""
    bookings: int
    """How many bookings were made in the same days."""
    busy: list[tuple[int, int]]
    """When connected calendars say that the host is busy, in whole seconds since 1970."""
