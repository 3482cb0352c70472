"""The days that analytics tools are asked for, and their results. docs/analytics.md defines every figure."""

from datetime import date, timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct, field

from openslot.domains.accounts.plans import Plan
from openslot.domains.analytics.models import DayStep, FunnelStep, UtcDays
from openslot.doors.mcp.tools import ToolArguments
from openslot.platform.core.errors import Invalid
from openslot.platform.core.moments import Moment, read_span
from openslot.platform.core.times import Instant

MAX_DAYS, USUAL_DAYS, MAX_SOURCES = 366, 30, 50
_WHOLE_DAYS = "A date in UTC; of a date-time the whole day counts"
RecordedSince = Annotated[
    dict[str, date], Meta(description="Figures that are not known of before a day, each with that day")
]


class DayRange(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which days."""

    from_: Annotated[Moment | None, Meta(description=f"First day. {_WHOLE_DAYS}. 29 days before `to` if left out")] = (
        field(default=None, name="from")
    )
    to: Annotated[Moment | None, Meta(description=f"Last day, included. {_WHOLE_DAYS}. Today if left out")] = None

    def read(self, today: date, *, usual: int = USUAL_DAYS) -> UtcDays:
        """Read the days, or refuse them with what is wrong."""
        span = read_span(self.from_, self.to)
        last = (span.ends_before - timedelta(milliseconds=1)).date() if span.ends_before else today
        first = span.starts_at.date() if span.starts_at else last - timedelta(days=usual - 1)
        if first > last:
            raise Invalid(details={"from": "must not be after to, which is today if it is left out"})
        if (last - first).days >= MAX_DAYS:
            raise Invalid(details={"from": f"must be at most {MAX_DAYS - 1} days before to"})
        return UtcDays(first=first, last=last)


class CountedDays(Struct, frozen=True, kw_only=True, rename="camel"):
    """The days that were counted, in UTC, both included."""

    from_: date = field(name="from")
    to: date


class Compared(Struct, frozen=True, kw_only=True, rename="camel"):
    """A figure, and the same of as many days before."""

    value: int
    previous: int


class RevenueSum(Struct, frozen=True, kw_only=True, rename="camel"):
    """What hosts have received and given back in one currency; amounts are in its smallest unit, such as cents."""

    currency: Annotated[str, Meta(examples=["EUR"])]
    mode: Annotated[Literal["live", "test"], Meta(description="test: no real money")]
    received: int
    refunded: int
    net: Annotated[int, Meta(description="received without refunded; refunds count on the day on which they were made")]
    payments: Annotated[int, Meta(description="How many payments were received")]


class KpiDashboard(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """The main figures of a period, each with that of as many days before."""

    period: str
    previous: CountedDays
    bookings: Compared
    cancellations: Compared
    meetings: Compared
    no_shows: Compared
    sign_ups: Compared
    active_hosts: Compared
    visits: Compared
    revenue: list[RevenueSum]
    previous_revenue: list[RevenueSum]
    recorded_since: RecordedSince


class RevenuePart(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """A day, week or month."""

    revenue: Annotated[list[RevenueSum], Meta(description="Empty if no money was moved")]


class Subscriptions(Struct, frozen=True, kw_only=True, rename="camel"):
    plan: str
    status: Annotated[str, Meta(examples=["active"])]
    mode: str
    subscriptions: int


class Revenue(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """RevenueSum of hosts by day, week or month, and subscriptions of the platform's plans."""

    granularity: DayStep
    totals: list[RevenueSum]
    data: list[RevenuePart]
    subscriptions: Annotated[list[Subscriptions], Meta(description="As they are now; their past is not recorded")]
    recorded_since: RecordedSince


class TrafficPart(CountedDays, frozen=True, kw_only=True, rename="camel"):
    visits: int
    bookings: Annotated[int, Meta(description="Bookings whose source is known")]


class TrafficSource(Struct, frozen=True, kw_only=True, rename="camel"):
    source: Annotated[str, Meta(description="A host name or a word such as direct, other or internal")]
    visits: int
    bookings: int


class Traffic(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """Visits of public pages, and what came of them."""

    granularity: DayStep
    visits: Annotated[int, Meta(description="Without those that come from another page of the same host (internal)")]
    bookings: int
    data: list[TrafficPart]
    sources: Annotated[list[TrafficSource], Meta(description=f"Most visits first, {MAX_SOURCES} at most")]
    recorded_since: RecordedSince


class BookingPart(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """Figures of bookings."""

    bookings: Annotated[int, Meta(description="Made on these days, also if they were cancelled later")]
    cancellations: Annotated[int, Meta(description="Cancelled on these days")]
    meetings: Annotated[int, Meta(description="That begin on these days and are not cancelled")]
    no_shows: Annotated[int, Meta(description="Of these meetings, those that the host has marked as no-show")]


class BookingMetrics(BookingPart, frozen=True, kw_only=True, rename="camel"):
    """Figures of bookings, in all and by day, week or month."""

    granularity: DayStep
    event_type_id: UUID | None
    data: list[BookingPart]
    recorded_since: RecordedSince


class ReachedStep(Struct, frozen=True, kw_only=True, rename="camel"):
    step: FunnelStep
    count: int
    of_hundred: Annotated[float | None, Meta(description="Of those who took the first step; null if nobody did")]


class SignupFunnel(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """How often each step was taken by those who sign up by the form, each on its own day."""

    steps: list[ReachedStep]
    recorded_since: RecordedSince


class RetentionPeriod(CountedDays, frozen=True, kw_only=True, rename="camel"):
    number: Annotated[int, Meta(description="0: the week or month in which they signed up")]
    active: Annotated[int, Meta(description="Users with whom at least one booking was made in it")]
    percent: float


class Cohort(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """Users who signed up in the same week or month and still have their account."""

    users: int
    periods: list[RetentionPeriod]


class Retention(CountedDays, frozen=True, kw_only=True, rename="camel"):
    cohort: Literal["week", "month"]
    data: list[Cohort]


class PlanUsers(Struct, frozen=True, kw_only=True, rename="camel"):
    plan: Plan
    users: Annotated[int, Meta(description="Whose plan this is in effect: own plan, running trial or organization")]
    own: Annotated[int, Meta(description="Of all users, those whose own plan it is, lapsed ones too")]
    on_trial: Annotated[int, Meta(description="Of `users`, those with a running trial")]


class PlanDistribution(Struct, frozen=True, kw_only=True, rename="camel"):
    """Users by plan, as they are now."""

    as_of: Instant
    total: int
    plans: list[PlanUsers]
    subscriptions: list[Subscriptions]


class TopType(Struct, frozen=True, kw_only=True, rename="camel"):
    event_type_id: str
    user_id: str
    name: str
    slug: str
    bookings: int
    visits: Annotated[int, Meta(description="Of its page, from everywhere")]


class TopEventTypes(CountedDays, frozen=True, kw_only=True, rename="camel"):
    """The event types with the most bookings, those first."""

    data: list[TopType]


class ChannelMetrics(Struct, frozen=True, kw_only=True, rename="camel"):
    channel: Annotated[str, Meta(examples=["sms"])]
    total: int
    outbound: Annotated[dict[str, int], Meta(description="How many are in each state by now; for voice, calls")]
    inbound: dict[str, int]
    seconds: Annotated[int, Meta(description="Length of calls; 0 elsewhere")]


class MessagingMetrics(CountedDays, frozen=True, kw_only=True, rename="camel"):
    data: list[ChannelMetrics]
    recorded_since: RecordedSince
