"""Tools: what the calling agent, and all agents, may still spend today."""

from datetime import date
from typing import Annotated, Any

from msgspec import Meta, Struct

from openslot.doors.agents import budget
from openslot.doors.agents.models import ToolCall
from openslot.doors.agents.registry import tool
from openslot.doors.agents.roster import ROSTER
from openslot.doors.agents.rules import Spending
from openslot.platform.core.dollars import to_usd
from openslot.platform.core.times import Instant, iso
from openslot.platform.core.work import Work

Usd = Annotated[float, Meta(description="US dollars, to the micro-dollar")]


class BudgetStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """One budget on one day."""

    agent: Annotated[str | None, Meta(description="The agent's slug; null: all agents together")]
    date: Annotated[date, Meta(description="The UTC day that the figures are for")]
    limit_usd: Usd
    spent_usd: Usd
    reserved_usd: Annotated[float, Meta(description="Held for calls that are running, in US dollars")]
    remaining_usd: Annotated[
        float, Meta(description="What a call may still cost: limit - spent (of all agents: counted) - reserved")
    ]
    percent_used: Annotated[float, Meta(description="How much of the limit is spent; over 100 is possible")]
    warning: Annotated[bool, Meta(description="Whether 80 percent or more is spent")]
    resets_at: Instant


class GlobalBudgetStatus(BudgetStatus, frozen=True, kw_only=True, rename="camel"):
    """The budget of all agents together, and each agent's own."""

    counted_usd: Annotated[
        float,
        Meta(
            description="What the global cap counts: spent, without what agents have reported beyond their own limits"
        ),
    ]
    agents: tuple[BudgetStatus, ...]


@tool(scope="budget:read")
async def check_budget(work: Work, *, call: ToolCall) -> BudgetStatus:
    """Get what you have spent today and what you may still spend.

    Call it before anything that costs money: model calls, send_email, generate_image. A call that costs more than
    `remainingUsd` is refused with budget_exceeded (-32014). Costs nothing and changes nothing.
    """
    slug = call.caller.agent.slug
    return show_spending(slug, await budget.get_spending(work, slug))


@tool(scope="budget:read")
async def check_global_budget(work: Work) -> GlobalBudgetStatus:
    """Get what all agents together have spent today, the global cap, and the budget of each agent.

    Use it to see who spends what; your own calls are refused if either your budget or the global one is used up.
    `spentUsd` has everything that was spent; `countedUsd` leaves out model costs that agents have reported beyond their
    own limits. Costs nothing and changes nothing.
    """
    total, each = await budget.list_spending(work, tuple(ROSTER))
    agents = tuple(show_spending(slug, spending) for slug, spending in each.items())
    return GlobalBudgetStatus(**_fields(total), agent=None, counted_usd=to_usd(total.counted), agents=agents)


def show_spending(agent: str, spending: Spending) -> BudgetStatus:
    return BudgetStatus(agent=agent, **_fields(spending))


def _fields(spending: Spending) -> dict[str, Any]:
    return {
        "date": spending.on,
        "limit_usd": to_usd(spending.limit),
        "spent_usd": to_usd(spending.spent),
        "reserved_usd": to_usd(spending.reserved),
        "remaining_usd": to_usd(spending.remaining),
        "percent_used": spending.percent_used,
        "warning": spending.is_warning,
        "resets_at": iso(spending.resets_at),
    }
