"""Charts of what agents did in the last 30 days: of all together and of one, and why their calls were refused."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, timedelta

from msgspec import Struct

from openslot.doors.agents.activity import AgentActivity, DayOfAgents, add_up, list_activity
from openslot.doors.web.admin.audit import STATUSES
from openslot.doors.web.shared.charts import Chart, Series, draw_chart, draw_spark, share_of
from openslot.doors.web.shared.figures import ShortDay
from openslot.doors.web.shared.templating import templates
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.dollars import MICROS
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

DAYS = 30
CENT = MICROS // 100


class AgentFigures(Struct, frozen=True, kw_only=True):
    """What one agent did in these days, how its calls went, and the last day alone."""

    calls: int
    refused: int
    spent_micros: int
    spark: str | None
    """None if it made no call."""
    today: DayOfAgents


class ReasonShare(Struct, frozen=True, kw_only=True):
    name: Text
    status: str
    count: int
    share: float
    """The share of the most frequent reason, in per cent."""


def write_usd(micros: int) -> str:
    """Write an amount with as many places as it needs, two at least."""
    whole = f"{micros / MICROS:.6f}".rstrip("0")
    return whole + "0" * max(0, 2 - len(whole.partition(".")[2]))


templates.filters["usd"] = write_usd


async def draw_agents(work: Work) -> tuple[list[Chart], Mapping[str, AgentFigures]]:
    """Draw the days of all agents together, and add up those of each."""
    first, last = _list_period(work)
    found = await list_activity(work, first=first, last=last)
    return draw_days(add_up(found.values()), today=last), {slug: _sum_up(each) for slug, each in found.items()}


async def draw_agent(work: Work, slug: str) -> tuple[list[Chart], list[ReasonShare], DayOfAgents]:
    """Draw the days of one agent, with the reasons why its calls were refused or failed; return the last day, too."""
    first, last = _list_period(work)
    found = (await list_activity(work, first=first, last=last, agent=slug))[slug]
    reasons = [
        ReasonShare(name=STATUSES[status][0], status=status, count=count, share=share_of(count, found.refusals[0][1]))
        for status, count in found.refusals
    ]
    return draw_days(found.days, today=last), reasons, found.days[-1]


def draw_days(days: Sequence[DayOfAgents], *, today: date) -> list[Chart]:
    names = [(Weekday(day.on, today), ShortDay(day.on)) for day in days]
    calls = [
        Series(name=Text("Done"), values=[day.done for day in days]),
        Series(name=Text("Waits for approval"), values=[day.waiting for day in days], tone="two"),
        Series(name=Text("Refused or failed"), values=[day.refused for day in days], tone="bad"),
    ]
    approvals = [
        Series(name=Text("Approved"), values=[day.approved for day in days]),
        Series(name=Text("Waiting"), values=[day.pending for day in days], tone="two"),
        Series(name=Text("Rejected or expired"), values=[day.rejected for day in days], tone="bad"),
    ]
    spent = Series(name=Text("USD"), values=[day.spent_micros for day in days])
    return [
        draw_chart("calls", Text("Tool calls"), names, calls),
        draw_chart("approvals", Text("Approvals"), names, approvals),
        draw_chart(
            "spend",
            Text("Spending in USD"),
            names,
            [spent],
            write=lambda micros: write_usd(int(micros)),
            least_step=CENT,
        ),
    ]


def _list_period(work: Work) -> tuple[date, date]:
    last = work.now.astimezone(UTC).date()
    return last - timedelta(days=DAYS - 1), last


def _sum_up(found: AgentActivity) -> AgentFigures:
    calls = [day.calls for day in found.days]
    return AgentFigures(
        calls=sum(calls),
        refused=sum(day.refused for day in found.days),
        spent_micros=sum(day.spent_micros for day in found.days),
        spark=draw_spark(calls) if any(calls) else None,
        today=found.days[-1],
    )
