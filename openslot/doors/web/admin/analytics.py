"""Pages: figures about the platform, as charts with their tables."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, timedelta

from openslot.domains.accounts.models import User
from openslot.domains.analytics import platform
from openslot.domains.analytics.funnel import read_funnel
from openslot.domains.analytics.models import DailySum, FunnelStep, LogCount, UtcDays
from openslot.doors.web.admin.agent_charts import write_usd
from openslot.doors.web.shared.charts import Chart, Series, Tone, draw_chart, draw_funnel, share_of
from openslot.doors.web.shared.figures import SOURCES, ShortDay
from openslot.doors.web.shared.pages import page
from openslot.doors.web.shared.words import MonthDay, Weekday
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response, get

PERIODS = {"7": Text("7 days"), "30": Text("30 days"), "90": Text("90 days")}
USUAL, MAX_SOURCES = "30", 10
NAMES = {**SOURCES, "internal": Text("Other pages of the host")}
CENT = 10_000
"""The micros of a dollar in a cent."""
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
    days = UtcDays(first=last - timedelta(days=int(chosen) - 1), last=last)
    sums = await platform.sum_figures(work, days.split("day"), ("bookings", "visits"), keyed=("visits",))
    logs = await platform.list_logs(work, days)
    funnel = await read_funnel(work, first=days.first, last=days.last)
    sources = _list_sources(sums)
    return page(
        "admin/analytics.html",
        user,
        here="/admin/analytics",
        periods=[(value, name, value == chosen) for value, name in PERIODS.items()],
        charts=_draw(days, sums, logs),
        stages=draw_funnel([(STEPS[step], count) for step, count in funnel.total.items()]),
        days=Text("%(start)s \u2013 %(end)s", start=MonthDay(days.first), end=MonthDay(days.last)),
        sources=[(NAMES.get(source, source), visits, share_of(visits, sources[0][1])) for source, visits in sources],
    )


def _list_sources(sums: Sequence[DailySum]) -> list[tuple[str, int]]:
    visits = Counter[str]()
    for each in sums:
        if each.name == "visits":
            visits[each.key] += each.amount
    return sorted(visits.items(), key=lambda each: (-each[1], each[0]))[:MAX_SOURCES]


def _draw(days: UtcDays, sums: Sequence[DailySum], logs: Sequence[LogCount]) -> list[Chart]:
    shown = [part.first for part in days.split("day")]
    names = [(Weekday(on, days.last), ShortDay(on)) for on in shown]
    made = Counter({shown[each.index]: each.amount for each in sums if each.name == "bookings"})

    def count(name: Text, channel: str, *statuses: str, tone: Tone = "one") -> Series:
        counted = Counter[date]()
        for each in logs:
            if each.channel == channel and each.status in statuses:
                counted[each.on] += each.amount
        return Series(name=name, values=[counted[on] for on in shown], tone=tone)

    mail = [
        count(Text("Sent or stored"), "email", "sent", "mailbox"),
        count(Text("Failed"), "email", "failed", tone="bad"),
    ]
    webhooks = [
        count(Text("Delivered"), "webhook", "delivered"),
        count(Text("Failed attempts"), "webhook", "failed", tone="bad"),
    ]
    return [
        draw_chart(
            "bookings",
            Text("Bookings created"),
            names,
            [Series(name=Text("Bookings"), values=[made[on] for on in shown])],
        ),
        draw_chart("mail", Text("Mail"), names, mail),
        draw_chart("webhooks", Text("Webhooks"), names, webhooks),
        draw_chart(
            "spend",
            Text("Spending of the agents in USD"),
            names,
            [count(Text("USD"), "spend", "micros")],
            write=lambda micros: write_usd(int(micros)),
            least_step=CENT,
        ),
    ]
