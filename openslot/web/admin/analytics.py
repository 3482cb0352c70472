"""Pages: figures about the platform, as charts with their tables."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, timedelta

from msgspec import Struct

from openslot.accounts.models import User
from openslot.analytics import operations as platform
from openslot.analytics.funnel import read_funnel
from openslot.analytics.models import DayOfPlatform, Funnel, FunnelStep
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Request, Response, get
from openslot.web.admin.agents import write_usd
from openslot.web.pages import page

WIDTH, HEIGHT, GAP = 600, 120, 2
PERIODS = {"7": Text("7 days"), "30": Text("30 days"), "90": Text("90 days")}
USUAL = "30"
STEPS = {
    FunnelStep.VISITED: Text("Visited the sign-up page"),
    FunnelStep.SIGNED_UP: Text("Signed up"),
    FunnelStep.VERIFIED: Text("Verified the email address"),
    FunnelStep.CALENDAR_CONNECTED: Text("Connected a calendar"),
    FunnelStep.EVENT_TYPE_MADE: Text("Created an event type"),
    FunnelStep.FIRST_BOOKING: Text("Got the first booking"),
}
Figure = tuple[Text, Callable[[DayOfPlatform], int]]


class Bar(Struct, frozen=True, kw_only=True):
    x: int
    y: int
    width: int
    height: int
    is_second: bool


class ChartRow(Struct, frozen=True, kw_only=True):
    on: date
    values: tuple[str, ...]


class Chart(Struct, frozen=True, kw_only=True):
    id: str
    title: Text
    names: tuple[Text, ...]
    bars: tuple[Bar, ...]
    rows: tuple[ChartRow, ...]
    total: tuple[str, ...]


def draw_chart(
    chart_id: str, title: Text, days: Sequence[date], figures: Sequence[tuple[Text, Sequence[int], Sequence[str]]]
) -> Chart:
    """Draw figures upon each other; each has a name, its numbers, and the numbers as they are written.

    The last text of a figure is the total.
    """
    max_ = max((sum(values) for values in zip(*(numbers for _, numbers, _ in figures), strict=True)), default=0)
    step = WIDTH // max(len(days), 1)
    bars: list[Bar] = []
    for place in range(len(days)):
        ground = HEIGHT
        for level, (_, numbers, _) in enumerate(figures):
            # What is not zero can be seen.
            height = max(numbers[place] * (HEIGHT - 2) // max_, 2) if numbers[place] else 0
            ground -= height
            if height:
                bars.append(Bar(x=place * step, y=ground, width=step - GAP, height=height, is_second=level > 0))
    rows = [ChartRow(on=on, values=tuple(texts[place] for _, _, texts in figures)) for place, on in enumerate(days)]
    return Chart(
        id=chart_id,
        title=title,
        names=tuple(name for name, _, _ in figures),
        bars=tuple(bars),
        rows=tuple(reversed(rows)),
        total=tuple(texts[-1] for _, _, texts in figures),
    )


@get("/admin/analytics")
async def show_analytics(request: Request, work: Work, user: User) -> Response:
    period = request.query.get("days", "")
    chosen = period if period in PERIODS else USUAL
    last = work.now.astimezone(UTC).date()
    first = last - timedelta(days=int(chosen) - 1)
    days = await platform.list_days(work, first=first, last=last)
    return page(
        "admin/analytics.html",
        user,
        here="/admin/analytics",
        periods=[(value, name, value == chosen) for value, name in PERIODS.items()],
        charts=_draw(days),
        funnel=_list_steps(await read_funnel(work, first=first, last=last)),
        sources=await platform.list_sources(work, first=first, last=last),
    )


def _list_steps(funnel: Funnel) -> list[tuple[Text, int, int]]:
    """List each step with its count, and with the largest count for the length of its bar."""
    max_ = max(funnel.total.values(), default=0)
    return [(STEPS[step], count, max_) for step, count in funnel.total.items()]


def _draw(days: Sequence[DayOfPlatform]) -> list[Chart]:
    return [
        _chart("bookings", Text("Bookings created"), days, (Text("Bookings"), lambda day: day.bookings)),
        _chart(
            "mail",
            Text("Mail"),
            days,
            (Text("Sent or stored"), lambda day: day.mail_sent),
            (Text("Failed"), lambda day: day.mail_failed),
        ),
        _chart(
            "webhooks",
            Text("Webhooks"),
            days,
            (Text("Delivered"), lambda day: day.webhooks_delivered),
            (Text("Failed attempts"), lambda day: day.webhooks_failed),
        ),
        _chart(
            "spend",
            Text("Spending of the agents in USD"),
            days,
            (Text("USD"), lambda day: day.spent_micros),
            write=write_usd,
        ),
    ]


def _chart(
    chart_id: str, title: Text, days: Sequence[DayOfPlatform], *figures: Figure, write: Callable[[int], str] = str
) -> Chart:
    drawn = []
    for name, count in figures:
        numbers = [count(day) for day in days]
        drawn.append((name, numbers, [*map(write, numbers), write(sum(numbers))]))
    return draw_chart(chart_id, title, [day.on for day in days], drawn)
