"""Tools: figures about the platform. docs/analytics.md defines each of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta

from openslot.domains.accounts.plans import RANK
from openslot.domains.analytics import funnel, platform
from openslot.domains.analytics.models import DailySum, DayStep, LogCount, SubscriptionCount, TopEventType, UtcDays
from openslot.doors.agents.registry import about, tool
from openslot.doors.agents.tools.analytics_shapes import (
    MAX_DAYS,
    MAX_SOURCES,
    BookingMetrics,
    BookingPart,
    ChannelMetrics,
    Cohort,
    Compared,
    CountedDays,
    DayRange,
    KpiDashboard,
    MessagingMetrics,
    PlanDistribution,
    PlanUsers,
    ReachedStep,
    Retention,
    RetentionPeriod,
    Revenue,
    RevenuePart,
    RevenueSum,
    SignupFunnel,
    Subscriptions,
    TopEventTypes,
    TopType,
    Traffic,
    TrafficPart,
    TrafficSource,
)
from openslot.doors.mcp.tools import naming
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import LINE
from openslot.platform.core.times import iso
from openslot.platform.core.work import Work

USUAL_COHORTS = {"week": 12, "month": 6}
PERIODS = {"today": 1, "7d": 7, "30d": 30, "90d": 90}

Granularity = Annotated[DayStep, Meta(description="How the days are summed up; weeks begin on Monday")]


CHANNELS = ("sms", "whatsapp", "voice", "email")
_show_top = Shape(TopType, TopEventType, names={"event_type_id": "id", "user_id": "owner_id"}).show
_show_subscriptions = Shape(Subscriptions, SubscriptionCount).show


@tool(scope="analytics:read")
async def get_kpi_dashboard(
    work: Work,
    *,
    period: Annotated[
        Literal["today", "7d", "30d", "90d"], Meta(description="Days up to today, which is not over yet; in UTC")
    ] = "30d",
) -> KpiDashboard:
    """Get the main figures of the platform, each beside that of as many days before.

    Bookings, cancellations, meetings, no-shows, sign-ups, active hosts, visits and revenue. Use it first, to see what
    has changed; the other analytics tools show a figure by day, week or month. Figures are of this moment. It costs
    nothing and changes nothing.
    """
    today = _today(work)
    days = UtcDays(first=today - timedelta(days=PERIODS[period] - 1), last=today)
    parts = [days.before, days]
    names = (*platform.BOOKING_FIGURES, "sign_ups", "visits")
    sums = await platform.sum_figures(work, parts, (*names, *platform.MONEY_FIGURES), keyed=platform.MONEY_FIGURES)
    active = await platform.count_active_hosts(work, parts)
    counted = {(each.index, each.name): each.amount for each in sums}
    compared: dict[str, Any] = {
        name: Compared(value=counted.get((1, name), 0), previous=counted.get((0, name), 0)) for name in names
    }
    return KpiDashboard(
        **_days(days),
        period=period,
        previous=CountedDays(**_days(days.before)),
        **compared,
        active_hosts=Compared(value=active.get(1, 0), previous=active.get(0, 0)),
        revenue=_show_money(each for each in sums if each.index == 1),
        previous_revenue=_show_money(each for each in sums if each.index == 0),
        recorded_since=await _since(work, "noShows", "visits", "payments"),
    )


@tool(scope="analytics:read")
async def get_revenue(work: Work, *, arguments: DayRange, granularity: Granularity = "day") -> Revenue:
    """Get what hosts have received from invitees and given back, by currency, and subscriptions of the plans.

    Amounts are in the smallest unit of their currency (1250 EUR is 12.50 euros) and never added across currencies. A
    refund counts on its own day, so a net amount can be negative. Payments in test mode are listed apart. It costs
    nothing and changes nothing.
    """
    days = arguments.read(_today(work))
    parts = days.split(granularity)
    sums = await platform.sum_figures(work, parts, platform.MONEY_FIGURES, keyed=platform.MONEY_FIGURES)
    by_index: dict[int, list[DailySum]] = {}
    for each in sums:
        by_index.setdefault(each.index, []).append(each)
    return Revenue(
        **_days(days),
        granularity=granularity,
        totals=_show_money(sums),
        data=[
            RevenuePart(**_days(part), revenue=_show_money(by_index.get(index, ()))) for index, part in enumerate(parts)
        ],
        subscriptions=[_show_subscriptions(each) for each in await platform.count_subscriptions(work)],
        recorded_since=await _since(work, "payments", "subscriptions"),
    )


@tool(scope="analytics:read")
async def get_traffic(
    work: Work,
    *,
    arguments: DayRange,
    granularity: Granularity = "day",
    source: Annotated[
        Annotated[str, Meta(pattern=LINE, min_length=1, max_length=60)] | None,
        Meta(description="Only visits from here, as `sources` names it", examples=["direct", "example.com"]),
    ] = None,
) -> Traffic:
    """Get visits of public booking pages, where they come from, and how many bookings came from there.

    Visits are counted without anything about visitors, by days of the host's time zone; programs that name themselves
    are left out. It costs nothing and changes nothing.
    """
    days = arguments.read(_today(work))
    parts = days.split(granularity)
    sums = await platform.sum_figures(work, parts, ("visits", "bookings"), keyed=("visits", "bookings"))
    known = [each for each in sums if (each.key == source if source else each.key)]
    # Whoever goes from one page of a host to another has come once.
    shown = known if source else [each for each in known if each.key != "internal"]
    counted, by_source = Counter[tuple[int, str]](), Counter[tuple[str, str]]()
    for each in shown:
        counted[each.index, each.name] += each.amount
    for each in known:
        by_source[each.key, each.name] += each.amount
    sources = [
        TrafficSource(source=name, visits=by_source[name, "visits"], bookings=by_source[name, "bookings"])
        for name in {name for name, _ in by_source}
    ]
    sources.sort(key=lambda each: (-each.visits, -each.bookings, each.source))
    indexes = range(len(parts))
    return Traffic(
        **_days(days),
        granularity=granularity,
        visits=sum(counted[index, "visits"] for index in indexes),
        bookings=sum(counted[index, "bookings"] for index in indexes),
        data=[
            TrafficPart(**_days(part), visits=counted[index, "visits"], bookings=counted[index, "bookings"])
            for index, part in enumerate(parts)
        ],
        sources=sources[:MAX_SOURCES],
        recorded_since=await _since(work, "visits", "sources"),
    )


@tool(scope="analytics:read", target=about("event_type", "event_type_id"))
async def get_booking_metrics(
    work: Work,
    *,
    arguments: DayRange,
    granularity: Granularity = "day",
    event_type_id: Annotated[UUID | None, Meta(description="Only bookings of this event type")] = None,
) -> BookingMetrics:
    """Get how many bookings were made and cancelled, how many meetings took place, and how many were no-shows.

    Each counts on its own day in UTC: a booking when it was made, a cancellation when it was cancelled, a meeting and
    its no-show when it begins. A range may reach into the future: meetings are known then. Bookings of deleted accounts
    are not counted. It costs nothing and changes nothing.
    """
    days = arguments.read(_today(work))
    parts = days.split(granularity)
    if event_type_id is None:
        sums = await platform.sum_figures(work, parts, platform.BOOKING_FIGURES)
    else:
        with naming("eventTypeId"):
            sums = await platform.sum_event_type(work, event_type_id, parts)
    counted = Counter[tuple[int, str]]()
    for each in sums:
        counted[each.index, each.name] += each.amount

    def show(*indexes: int) -> dict[str, Any]:
        return {name: sum(counted[index, name] for index in indexes) for name in platform.BOOKING_FIGURES}

    return BookingMetrics(
        **_days(days),
        **show(*range(len(parts))),
        granularity=granularity,
        event_type_id=event_type_id,
        data=[BookingPart(**_days(part), **show(index)) for index, part in enumerate(parts)],
        recorded_since=await _since(work, "noShows"),
    )


@tool(scope="analytics:read")
async def get_signup_funnel(work: Work, *, arguments: DayRange) -> SignupFunnel:
    """Get how far people come who sign up by the form: from the visit of the form to the first booking.

    Each step counts on the day on which it was taken, once for each account; accounts that came another way do not
    count. Nothing is known of those who only visit. It costs nothing and changes nothing.
    """
    days = arguments.read(_today(work))
    found = await funnel.read_funnel(work, first=days.first, last=days.last)
    first = next(iter(found.total.values()))
    return SignupFunnel(
        **_days(days),
        steps=[
            ReachedStep(step=step, count=count, of_hundred=round(100 * count / first, 1) if first else None)
            for step, count in found.total.items()
        ],
        recorded_since=await _since(work, "signUpSteps"),
    )


@tool(scope="analytics:read")
async def get_retention(
    work: Work,
    *,
    arguments: DayRange,
    cohort: Annotated[
        Literal["week", "month"], Meta(description="Whether users are grouped by week, from Monday, or by month")
    ] = "week",
) -> Retention:
    """Get how many users are active again in later weeks or months, by when they signed up.

    Active means that at least one booking was made with them in that week or month; signing in does not count. The
    range chooses who: users who signed up in it, by default in the last 12 weeks or 6 months. The newest week or month
    is not over yet. It costs nothing and changes nothing.
    """
    today = _today(work)
    days = arguments.read(today, usual=_usual_days(today, cohort))
    cohorts = days.split(cohort)
    periods = UtcDays(first=days.first, last=max(days.last, today)).split(cohort)
    found = await platform.list_retained(work, cohorts, periods)
    users = {each.cohort: each.hosts for each in found if each.index is None}
    active = {(each.cohort, each.index): each.hosts for each in found if each.index is not None}
    return Retention(
        **_days(days),
        cohort=cohort,
        data=[
            Cohort(
                **_days(group),
                users=users.get(index, 0),
                periods=[
                    RetentionPeriod(
                        **_days(period),
                        number=number,
                        active=(count := active.get((index, index + number), 0)),
                        percent=round(100 * count / users[index], 1) if index in users else 0.0,
                    )
                    for number, period in enumerate(periods[index:])
                ],
            )
            for index, group in enumerate(cohorts)
        ],
    )


@tool(scope="analytics:read")
async def get_plan_distribution(work: Work) -> PlanDistribution:
    """Get how many users have each plan now, by the plan in effect and by their own, and all subscriptions.

    Use get_user for one user. What plans users had in the past is not recorded. It costs nothing and changes nothing.
    """
    counts = await platform.count_plans(work)
    return PlanDistribution(
        as_of=iso(work.now),
        total=sum(each.users for each in counts),
        plans=[
            PlanUsers(
                plan=plan,
                users=sum(each.users for each in counts if each.effective is plan),
                own=sum(each.users for each in counts if each.own is plan),
                on_trial=sum(each.users for each in counts if each.effective is plan and each.on_trial),
            )
            for plan in RANK
        ],
        subscriptions=[_show_subscriptions(each) for each in await platform.count_subscriptions(work)],
    )


@tool(scope="analytics:read")
async def get_top_event_types(
    work: Work,
    *,
    arguments: DayRange,
    limit: Annotated[int, Meta(ge=1, le=100, description="How many")] = 10,
) -> TopEventTypes:
    """Get the event types with which the most bookings were made, with their hosts and the visits of their pages.

    A booking counts on the day on which it was made, in UTC, also if it was cancelled later. It costs nothing and
    changes nothing.
    """
    days = arguments.read(_today(work))
    found = await platform.list_top_event_types(work, days, limit=limit)
    return TopEventTypes(**_days(days), data=[_show_top(each) for each in found])


@tool(scope="analytics:read")
async def get_messaging_metrics(
    work: Work,
    *,
    arguments: DayRange,
    channel: Annotated[
        Literal["all", "sms", "whatsapp", "voice", "email"], Meta(description="Only this channel")
    ] = "all",
) -> MessagingMetrics:
    """Get how many messages, calls and emails went out and came in, by channel and by the state that they are in now.

    A rising number of failed or undelivered ones shows a broken number, mail server or provider. `mailbox` are emails
    that stay in the embedded mailbox because no mail server is set up. It costs nothing and changes nothing.
    """
    days = arguments.read(_today(work))
    logs = await platform.list_logs(work, days)
    wanted = CHANNELS if channel == "all" else (channel,)
    return MessagingMetrics(
        **_days(days),
        data=[_show_channel(name, [each for each in logs if each.channel == name]) for name in wanted],
        recorded_since=await _since(work, "emails"),
    )


def _today(work: Work) -> date:
    return work.now.astimezone(UTC).date()


def _days(days: UtcDays) -> dict[str, Any]:
    return {"from_": days.first, "to": days.last}


def _usual_days(today: date, cohort: DayStep) -> int:
    """Return how many days the usual cohorts have up to today, all but the newest whole."""
    days = UtcDays(first=today - timedelta(days=MAX_DAYS - 1), last=today).split(cohort)
    return (today - days[-USUAL_COHORTS[cohort]].first).days + 1


async def _since(work: Work, *names: str) -> dict[str, date]:
    known = await platform.list_beginnings(work)
    return {name: known[name] for name in names}


def _show_money(sums: Iterable[DailySum]) -> list[RevenueSum]:
    counted = Counter[tuple[str, str]]()
    for each in sums:
        if each.name in platform.MONEY_FIGURES:
            counted[each.key, each.name] += each.amount
    return [
        RevenueSum(
            currency=key.split()[0],
            mode="live" if key.split()[1] == "live" else "test",
            received=counted[key, "received"],
            refunded=counted[key, "refunded"],
            net=counted[key, "received"] - counted[key, "refunded"],
            payments=counted[key, "payments"],
        )
        for key in sorted({key for key, _ in counted}, key=lambda key: key.split()[::-1])
    ]


def _show_channel(name: str, logs: Sequence[LogCount]) -> ChannelMetrics:
    states: dict[str, Counter[str]] = {"outbound": Counter(), "inbound": Counter()}
    for each in logs:
        states[each.direction][each.status] += each.amount
    return ChannelMetrics(
        channel=name,
        total=sum(each.amount for each in logs),
        outbound=dict(sorted(states["outbound"].items())),
        inbound=dict(sorted(states["inbound"].items())),
        seconds=sum(each.seconds for each in logs),
    )
