"""What agents may spend: reserved before it is spent, settled after, and given back if nothing was spent."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial

from openslot.doors.agents import store
from openslot.doors.agents.errors import BudgetExceeded
from openslot.doors.agents.events import BudgetWarned
from openslot.doors.agents.models import ToolCall
from openslot.doors.agents.roster import ROSTER
from openslot.doors.agents.rules import Spending
from openslot.doors.agents.store import ALL, BudgetLimits, Spend
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.config import Settings, environment_name
from openslot.platform.core.db import Row
from openslot.platform.core.dollars import to_micros, to_usd
from openslot.platform.core.errors import Invalid, StartupError
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime, Work
from openslot.platform.jobs.each import serve_each

MODEL_COST = "openslot/modelCostUsd"
MAX_REPORTED = 100
GIVEN_BACK_AFTER = timedelta(minutes=10)
GIVE_BACK = "agents.give_back"
AT_ONCE = 500

Reservation = Spend


def read_model_cost(meta: Mapping[str, object] | None) -> int:
    """Read from a call's `_meta` what the agent has spent on models, in micro-dollars; 0 if it says nothing."""
    cost = (meta or {}).get(MODEL_COST, 0)
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost <= MAX_REPORTED:
        raise Invalid(details={f"_meta.{MODEL_COST}": f"must be a number from 0 to {MAX_REPORTED}"})
    return to_micros(cost)


async def report(runtime: Runtime, agent: str, micros: int) -> None:
    """Record what an agent has spent on models, even past its cap, in a transaction of its own."""
    if not micros:
        return
    async with runtime.transaction(Actor(kind=ActorKind.AGENT, agent=agent)) as work:
        spend, caps = Spend(new_id(), agent, work.now.date(), micros), find_caps(runtime.settings, agent)
        await _warn(work, spend, caps, await store.report(work.db, spend, caps))


async def reserve(runtime: Runtime, call: ToolCall, micros: int) -> Reservation | None:
    """Reserve what a call will cost, or refuse it; one that costs nothing is never refused and takes no lock.

    It comes before the call's transaction: the rows of the budget must not stay locked while a tool runs, and a call
    must not wait for a second connection while it has one.
    """
    if not micros:
        return None
    agent, now = call.caller.agent.slug, runtime.clock()
    spend = Spend(call.id, agent, now.date(), micros)
    rows = await store.reserve(runtime.pool, spend, find_caps(runtime.settings, agent), now=now)
    if not rows[0]["fits"]:
        raise _exceeded(runtime.settings, spend, rows)
    return spend


async def settle(work: Work, reservation: Reservation | None) -> None:
    """Count a reservation as spent, in the transaction that spends it, even if it was given back meanwhile."""
    if reservation is not None:
        caps = find_caps(work.runtime.settings, reservation.agent)
        await _warn(work, reservation, caps, await store.finish(work.db, reservation, caps))


async def give_back(runtime: Runtime, reservation: Reservation | None) -> None:
    """Free what was reserved for a call that spent nothing; doing it again changes nothing."""
    if reservation is not None:
        caps = find_caps(runtime.settings, reservation.agent)
        await store.finish(runtime.pool, reservation._replace(micros=0), caps)


async def give_back_abandoned(work: Work) -> int:
    """Free what calls have reserved whose process died."""
    abandoned = await store.list_abandoned(work.db, before=work.now - GIVEN_BACK_AFTER, limit=AT_ONCE)
    await serve_each(work, GIVE_BACK, abandoned, partial(give_back, work.runtime), key=lambda each: each.id)
    return len(abandoned)


async def get_spending(work: Work, agent: str) -> Spending:
    row = await store.find_spending(work.db, agent, work.now.date())
    return _to_spending(row, work.now.date(), limit=find_caps(work.runtime.settings, agent).own)


async def list_spending(work: Work, agents: Sequence[str]) -> tuple[Spending, dict[str, Spending]]:
    settings, on = work.runtime.settings, work.now.date()
    rows = await store.list_spending(work.db, on)
    each = {agent: _to_spending(rows.get(agent), on, limit=find_caps(settings, agent).own) for agent in agents}
    return _to_spending(rows.get(ALL), on, limit=int(settings.agent_budget_global)), each


def check_budgets(settings: Settings) -> None:
    unknown = [name for name, _ in settings.agent_budgets if name not in ROSTER]
    if unknown:
        names = f"{unknown[0]!r} is no agent. The agents are {', '.join(ROSTER)}"
        raise StartupError(f"{environment_name('agent_budgets')} is wrong: {names}.")


def find_caps(settings: Settings, agent: str) -> BudgetLimits:
    own = dict(settings.agent_budgets).get(agent, settings.agent_budget)
    return BudgetLimits(int(own), int(settings.agent_budget_global))


async def _warn(work: Work, spend: Spend, caps: BudgetLimits, rows: Sequence[Row]) -> None:
    warned = [
        BudgetWarned(
            agent=None if row["agent"] == ALL else spend.agent,
            on=spend.on,
            limit_micros=caps.all if row["agent"] == ALL else caps.own,
            spent_micros=row["spent_micros"],
        )
        for row in rows
        if row["is_warned"]
    ]
    if warned:
        await work.record(*warned)


def _exceeded(settings: Settings, spend: Spend, rows: Sequence[Row]) -> BudgetExceeded:
    """Return which of the two budgets is too small; the agent's own is named first."""
    caps = find_caps(settings, spend.agent)
    by_agent = {row["agent"]: row for row in rows}
    own = _to_spending(by_agent[spend.agent], spend.on, limit=caps.own)
    every = _to_spending(by_agent[ALL], spend.on, limit=caps.all)
    is_own = own.remaining < spend.micros or every.remaining >= spend.micros
    short = own if is_own else every
    name = "The daily budget of this agent" if is_own else "The daily budget of all agents"
    return BudgetExceeded(
        f"{name} has {to_usd(short.remaining)} USD left, and the call costs {to_usd(spend.micros)} USD. "
        f"The budget is reset at {iso(short.resets_at)}",
        data={
            "budget": "agent" if is_own else "global",
            "costUsd": to_usd(spend.micros),
            "limitUsd": to_usd(short.limit),
            "spentUsd": to_usd(short.spent),
            **({} if is_own else {"countedUsd": to_usd(short.counted)}),
            "reservedUsd": to_usd(short.reserved),
            "remainingUsd": to_usd(short.remaining),
            "resetsAt": iso(short.resets_at),
        },
    )


def _to_spending(row: Row | None, on: date, *, limit: int) -> Spending:
    if row is None:
        return Spending(on=on, limit=limit)
    # An agent's own budget counts all that it has spent.
    uncounted = row["uncounted_micros"] if row["agent"] == ALL else 0
    return Spending(on=on, limit=limit, spent=row["spent_micros"], reserved=row["reserved_micros"], uncounted=uncounted)
