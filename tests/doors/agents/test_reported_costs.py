"""Reports are recorded and shown in full; of all agents' budget they use up no more than the agent's own cap."""

import asyncio
from typing import Any

import pytest

from openslot.doors.agents import budget
from openslot.doors.agents.errors import BudgetExceeded
from openslot.doors.agents.tools.budget import check_global_budget
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.dollars import Dollars, DollarsByName
from openslot.platform.core.work import Runtime
from tests.doors.agents.spending import DOLLAR, EMAIL, NOON, call_of, clock, spend, spent_and_reserved, two_runtimes
from tests.support.clocks import MovingClock

__all__ = ["clock"]


async def total(runtime: Runtime) -> Any:
    """Read what the tool says of all agents together."""
    return await check_global_budget.run(runtime.work(SYSTEM), call_of("cto"), check_global_budget.arguments())


async def test_a_report_beyond_an_agents_cap_leaves_the_others_their_budget(runtime: Runtime) -> None:
    await budget.report(runtime, "support", 100 * DOLLAR)

    await spend(runtime, "growth", 5 * DOLLAR)
    status = await total(runtime)
    assert (status.spent_usd, status.counted_usd, status.remaining_usd) == (105.0, 5.2, 44.8)
    assert (status.percent_used, status.warning) == (210.0, True)
    assert {each.agent: each.spent_usd for each in status.agents}["support"] == 100.0


async def test_an_agent_that_has_reported_more_than_its_cap_is_refused_by_its_own_budget(runtime: Runtime) -> None:
    await budget.report(runtime, "support", 100 * DOLLAR)

    with pytest.raises(BudgetExceeded) as refused:
        await spend(runtime, "support", EMAIL)
    assert (refused.value.data["budget"], refused.value.data["spentUsd"]) == ("agent", 100.0)


REPORTS: list[tuple[list[int], list[int], int]] = [
    # reported, spent in between, and what all agents' budget counts; the agent's cap is 200,000
    ([], [], 0),
    ([50_000], [], 50_000),
    ([200_000], [], 200_000),
    ([200_001], [], 200_000),
    ([150_000, 150_000], [], 200_000),
    ([50_000, 500_000], [120_000], 200_000),
    ([0, 70_000], [120_000], 190_000),
    ([0, 80_001], [120_000], 200_000),
]


@pytest.mark.parametrize(("reported", "spent", "counted"), REPORTS)
async def test_reports_count_up_to_what_the_agents_own_spends_leave_of_its_cap(
    runtime: Runtime, reported: list[int], spent: list[int], counted: int
) -> None:
    for number, micros in enumerate(reported):
        await budget.report(runtime, "support", micros)
        if number < len(spent):
            await spend(runtime, "support", spent[number])

    status = await total(runtime)
    assert status.counted_usd == counted / DOLLAR
    assert status.spent_usd == (sum(reported) + sum(spent)) / DOLLAR


async def test_a_spend_that_was_reserved_before_the_report_counts_in_its_place(runtime: Runtime) -> None:
    reservation = await budget.reserve(runtime, call_of("support"), 150_000)
    await budget.report(runtime, "support", 100 * DOLLAR)
    assert (await total(runtime)).remaining_usd == 50 - 0.2 - 0.15

    async with runtime.transaction(SYSTEM) as work:
        await budget.settle(work, reservation)
    status = await total(runtime)
    assert (status.counted_usd, status.spent_usd) == (0.2, 100.15)


async def test_reports_of_all_agents_still_use_up_the_budget_of_all(settings: Settings, clock: MovingClock) -> None:
    budgets = DollarsByName((("growth", Dollars(6_000)), ("seo", Dollars(6_000))))
    async with two_runtimes(settings, clock, agent_budgets=budgets, agent_budget_global=Dollars(10_000)) as (
        runtime,
        _,
    ):
        await budget.report(runtime, "growth", DOLLAR)
        await budget.report(runtime, "seo", DOLLAR)

        with pytest.raises(BudgetExceeded) as refused:
            await spend(runtime, "cto", 1)
        assert refused.value.data == {
            "reason": "budget_exceeded",
            "budget": "global",
            "costUsd": 1e-06,
            "limitUsd": 0.01,
            "spentUsd": 2.0,
            "countedUsd": 0.012,
            "reservedUsd": 0.0,
            "remainingUsd": 0.0,
            "resetsAt": "2026-03-17T00:00:00Z",
        }


async def test_reports_and_spends_at_once_never_pass_the_global_cap(settings: Settings, clock: MovingClock) -> None:
    caps = DollarsByName((("support", Dollars(20_000)), ("growth", Dollars(30_000))))
    async with two_runtimes(settings, clock, agent_budgets=caps, agent_budget_global=Dollars(100_000)) as runtimes:

        async def attempt(number: int) -> int:
            runtime = runtimes[number % 2]
            try:
                if number % 3 == 0:
                    await budget.report(runtime, ("support", "growth")[number % 2], DOLLAR)
                else:
                    await spend(runtime, ("cto", "growth")[number % 2], 3_000)
                    return 3_000
            except BudgetExceeded:
                pass
            return 0

        spent = sum(await asyncio.gather(*(attempt(number) for number in range(90))))

        row = await runtimes[0].pool.fetchrow(
            "select spent_micros - uncounted_micros as counted, reserved_micros from agent_spend where agent = '*'"
        )
        assert row is not None
        assert (row["reserved_micros"], row["counted"]) == (0, await counted_by_agent(runtimes[0]))
        assert spent <= min(row["counted"], 100_000)
        # Reports that come after the spends may pass the cap; either way no more than what is left can be spent.
        left = max(100_000 - row["counted"], 0)
        with pytest.raises(BudgetExceeded):
            await spend(runtimes[0], "data", left + 1)
        await spend(runtimes[1], "data", left)
        assert await spent_and_reserved(runtimes[0], "*") == (30 * DOLLAR + spent + left, 0)


WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


async def test_reports_of_one_agent_that_wait_for_each_other_add_up(settings: Settings, clock: MovingClock) -> None:
    async with two_runtimes(settings, clock) as (here, there):
        await budget.report(here, "support", 150_000)
        async with here.transaction(SYSTEM) as work:
            await work.db.execute("select from agent_spend where agent = '*' for update")
            reports = [asyncio.create_task(budget.report(there, "support", 40_000)) for _ in range(4)]
            while await here.pool.fetchval(WAITING) < len(reports):
                await asyncio.sleep(0.01)
        await asyncio.gather(*reports)

        status = await total(here)
        assert (status.spent_usd, status.counted_usd) == (0.31, 0.2)


async def counted_by_agent(runtime: Runtime) -> int:
    """Add up what each agent's row says is counted, by the rule: own spends, and reports up to the cap."""
    caps = {"support": 20_000, "growth": 30_000}
    rows = await runtime.pool.fetch(
        "select agent, spent_micros, reported_micros from agent_spend where agent <> '*' and on_date = $1", NOON.date()
    )
    counted = 0
    for row in rows:
        own = row["spent_micros"] - row["reported_micros"]
        room = max(caps.get(row["agent"], 5 * DOLLAR) - own, 0)
        counted += own + min(row["reported_micros"], room)
    return counted
