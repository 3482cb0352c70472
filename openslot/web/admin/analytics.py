"""Pages: figures about the platform, as charts with their tables."""

from collections.abc import Sequence
from datetime import UTC, date, timedelta

from openslot.accounts.models import User
from openslot.analytics import operations as platform
from openslot.analytics.funnel import read_funnel
from openslot.analytics.models import DayOfPlatform, FunnelStep
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Request, Response, get
from openslot.web.admin.agents import write_usd
from openslot.web.charts import Chart, Series, draw_chart, draw_funnel, share_of
from openslot.web.figures import SOURCES, ShortDay
from openslot.web.pages import page
from openslot.web.words import MonthDay, Weekday

PERIODS = {"7": Text("7 days"), "30": Text("30 days"), "90": Text("90 days")}
USUAL = "30"
NAMES = {**SOURCES, "internal": Text("Other pages of the host")}
CENT = 10_000
"""In micros of a dollar."""
STEPS = {
    FunnelStep.VISITED: Text("Visited the sign-up page"),
    FunnelStep.SIGNED_UP: Text("Signed up"),
    FunnelStep.VERIFIED: Text("Verified the email address"),
    FunnelStep.CALENDAR_CONNECTED: Text("Connected a calendar"),
    FunnelStep.EVENT_TYPE_MADE: Text("Created an event type"),
    FunnelStep.FIRST_BOOKING: Text("Got the first booking"),
}


@get("/admin/analytics")
async def show_analytics(request: Request, work: Work, user: User) -> Response:
    period = request.query.get("days", "")
    chosen = period if period in PERIODS else USUAL
    last = work.now.astimezone(UTC).date()
    first = last - timedelta(days=int(chosen) - 1)
    days = await platform.list_days(work, first=first, last=last)
    funnel = await read_funnel(work, first=first, last=last)
    sources = await platform.list_sources(work, first=first, last=last)
    return page(
        "admin/analytics.html",
        user,
        here="/admin/analytics",
        periods=[(value, name, value == chosen) for value, name in PERIODS.items()],
        charts=_draw(days, today=last),
        stages=draw_funnel([(STEPS[step], count) for step, count in funnel.total.items()]),
        days=Text("%(start)s \u2013 %(end)s", start=MonthDay(first), end=MonthDay(last)),
        sources=[
            (NAMES.get(row.source, row.source), row.views, share_of(row.views, sources[0].views)) for row in sources
        ],
    )


def _draw(days: Sequence[DayOfPlatform], *, today: date) -> list[Chart]:
    names = [(Weekday(day.on, today), ShortDay(day.on)) for day in days]
    sent = Series(name=Text("Sent or stored"), values=[day.mail_sent for day in days])
    unsent = Series(name=Text("Failed"), values=[day.mail_failed for day in days], tone="bad")
    delivered = Series(name=Text("Delivered"), values=[day.webhooks_delivered for day in days])
    refused = Series(name=Text("Failed attempts"), values=[day.webhooks_failed for day in days], tone="bad")
    made = Series(name=Text("Bookings"), values=[day.bookings for day in days])
    spent = Series(name=Text("USD"), values=[day.spent_micros for day in days])
    return [
        draw_chart("bookings", Text("Bookings created"), names, [made]),
        draw_chart("mail", Text("Mail"), names, [sent, unsent]),
        draw_chart("webhooks", Text("Webhooks"), names, [delivered, refused]),
        draw_chart(
            "spend",
            Text("Spending of the agents in USD"),
            names,
            [spent],
            write=lambda micros: write_usd(int(micros)),
            least_step=CENT,
        ),
    ]
