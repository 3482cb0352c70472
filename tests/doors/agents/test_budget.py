"""Reserved spends never pass a cap; what was spent counts; what was not is given back; every day begins at zero."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.doors.agents import budget
from openslot.doors.agents.errors import BudgetExceeded
from openslot.doors.agents.rules import Spending, warning_at
from openslot.doors.agents.tools.budget import check_budget, check_global_budget
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.dollars import Dollars, DollarsByName
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import Invalid, StartupError
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.doors.agents.spending import DOLLAR, EMAIL, NOON, call_of, clock, spend, spent_and_reserved, two_runtimes
from tests.support.clocks import MovingClock

__all__ = ["clock"]


async def warnings(runtime: Runtime) -> list[str | None]:
    rows = await runtime.pool.fetch(
        "select fact->>'agent' as agent from events where type = 'budget.warned' order by no"
    )
    return [row["agent"] for row in rows]


async def race(runtimes: tuple[Runtime, Runtime], agents: list[str], micros: int) -> int:
    """Let many spends start at once in two processes, and count those that were let through."""

    async def attempt(number: int) -> bool:
        try:
            await spend(runtimes[number % 2], agents[number % len(agents)], micros)
        except BudgetExceeded:
            return False
        return True

    return sum(await asyncio.gather(*(attempt(number) for number in range(50))))


@pytest.mark.parametrize(("agent", "micros", "fit"), [("support", 7_000, 28), ("growth", 170_000, 29)])
async def test_fifty_spends_at_once_never_pass_the_agents_cap(
    settings: Settings, clock: MovingClock, agent: str, micros: int, fit: int
) -> None:
    async with two_runtimes(settings, clock) as runtimes:
        passed = await race(runtimes, [agent], micros)

        assert passed == fit
        assert await spent_and_reserved(runtimes[0], agent) == (fit * micros, 0)
        assert await spent_and_reserved(runtimes[0], "*") == (fit * micros, 0)


async def test_fifty_spends_by_ten_agents_never_pass_the_global_cap(settings: Settings, clock: MovingClock) -> None:
    agents = ["support", "cto", "data", "devops", "orchestrator", "seo", "growth", "outbound", "content"]
    async with two_runtimes(settings, clock, agent_budget_global=Dollars(99_500)) as runtimes:
        passed = await race(runtimes, agents, 3_000)

        assert passed == 33
        assert await spent_and_reserved(runtimes[0], "*") == (99_000, 0)


async def test_fifty_reservations_that_are_not_settled_yet_count_too(settings: Settings, clock: MovingClock) -> None:
    async with two_runtimes(settings, clock) as runtimes:
        made = await asyncio.gather(
            *(budget.reserve(runtimes[number % 2], call_of("support"), 7_000) for number in range(50)),
            return_exceptions=True,
        )

        assert sum(isinstance(each, BudgetExceeded) for each in made) == 22
        assert await spent_and_reserved(runtimes[0], "support") == (0, 28 * 7_000)


async def test_a_spend_of_exactly_what_is_left_fits_and_one_micro_dollar_more_does_not(runtime: Runtime) -> None:
    await spend(runtime, "support", 199_999)

    with pytest.raises(BudgetExceeded):
        await spend(runtime, "support", 2)
    await spend(runtime, "support", 1)


async def test_a_refusal_says_which_budget_is_short_and_by_how_much(runtime: Runtime) -> None:
    await spend(runtime, "support", 199_500)

    with pytest.raises(BudgetExceeded) as refused:
        await spend(runtime, "support", EMAIL)

    assert refused.value.data == {
        "reason": "budget_exceeded",
        "budget": "agent",
        "costUsd": 0.001,
        "limitUsd": 0.2,
        "spentUsd": 0.1995,
        "reservedUsd": 0.0,
        "remainingUsd": 0.0005,
        "resetsAt": "2026-03-17T00:00:00Z",
    }
    assert await spent_and_reserved(runtime, "support") == (199_500, 0)


async def test_the_global_budget_is_named_when_it_is_the_one_that_is_short(
    settings: Settings, clock: MovingClock
) -> None:
    async with two_runtimes(settings, clock, agent_budget_global=Dollars(1_500)) as (runtime, _):
        await spend(runtime, "cto", EMAIL)

        with pytest.raises(BudgetExceeded) as refused:
            await spend(runtime, "data", EMAIL)

    assert refused.value.data["budget"] == "global"


async def test_a_call_that_costs_nothing_is_never_refused_and_waits_for_nobody(runtime: Runtime) -> None:
    await budget.report(runtime, "support", 100 * DOLLAR)
    async with runtime.transaction(SYSTEM) as work:
        await work.db.execute("select * from agent_spend for update")

        assert await asyncio.wait_for(budget.reserve(runtime, call_of("support"), 0), 60) is None


async def test_what_was_not_spent_is_given_back_once(runtime: Runtime) -> None:
    await budget.reserve(runtime, call_of("support"), 5 * EMAIL)
    reservation = await budget.reserve(runtime, call_of("support"), EMAIL)
    await budget.give_back(runtime, reservation)
    await budget.give_back(runtime, reservation)

    assert await spent_and_reserved(runtime, "support") == (0, 5 * EMAIL)
    assert await spent_and_reserved(runtime, "*") == (0, 5 * EMAIL)


async def test_a_reservation_whose_process_died_is_given_back_after_ten_minutes(
    runtime: Runtime, clock: MovingClock
) -> None:
    await budget.reserve(runtime, call_of("support"), EMAIL)

    clock.now += timedelta(minutes=10) - timedelta(seconds=1)
    assert await budget.give_back_abandoned(runtime.work(SYSTEM)) == 0
    clock.pass_time(seconds=1)
    assert await budget.give_back_abandoned(runtime.work(SYSTEM)) == 1

    assert await spent_and_reserved(runtime, "support") == (0, 0)


async def test_a_spend_that_is_settled_after_it_was_given_back_is_still_recorded(
    runtime: Runtime, clock: MovingClock
) -> None:
    reservation = await budget.reserve(runtime, call_of("support"), EMAIL)
    clock.pass_time(minutes=11)
    await budget.give_back_abandoned(runtime.work(SYSTEM))

    async with runtime.transaction(SYSTEM) as work:
        await budget.settle(work, reservation)

    assert await spent_and_reserved(runtime, "support") == (EMAIL, 0)
    assert await spent_and_reserved(runtime, "*") == (EMAIL, 0)


async def test_settling_and_giving_back_at_once_leaves_nothing_reserved(settings: Settings, clock: MovingClock) -> None:
    async with two_runtimes(settings, clock) as (here, there):
        made = [await budget.reserve(here, call_of("growth"), EMAIL) for _ in range(20)]

        async def settle(reservation: budget.Reservation | None) -> None:
            async with here.transaction(SYSTEM) as work:
                await budget.settle(work, reservation)

        await asyncio.gather(*(settle(each) for each in made), *(budget.give_back(there, each) for each in made))

        assert await spent_and_reserved(here, "growth") == (20 * EMAIL, 0)
        assert await spent_and_reserved(here, "*") == (20 * EMAIL, 0)


async def test_what_a_rolled_back_call_settled_is_not_spent(runtime: Runtime) -> None:
    reservation = await budget.reserve(runtime, call_of("support"), EMAIL)
    with pytest.raises(RuntimeError, match="broken"):
        async with runtime.transaction(SYSTEM) as work:
            await budget.settle(work, reservation)
            raise RuntimeError("broken")

    assert await spent_and_reserved(runtime, "support") == (0, EMAIL)


async def test_the_budget_begins_again_at_midnight_utc(runtime: Runtime, clock: MovingClock) -> None:
    clock.now = datetime(2026, 3, 16, 23, 59, 59, 999_999, tzinfo=UTC)
    await spend(runtime, "support", 200_000)
    with pytest.raises(BudgetExceeded):
        await spend(runtime, "support", 1)

    clock.now = datetime(2026, 3, 17, tzinfo=UTC)
    await spend(runtime, "support", 200_000)

    assert await spent_and_reserved(runtime, "support", clock.now) == (200_000, 0)


async def test_a_spend_counts_for_the_day_it_was_reserved_on(runtime: Runtime, clock: MovingClock) -> None:
    clock.now = datetime(2026, 3, 16, 23, 59, 59, tzinfo=UTC)
    reservation = await budget.reserve(runtime, call_of("support"), EMAIL)
    clock.now = datetime(2026, 3, 17, 0, 0, 1, tzinfo=UTC)
    async with runtime.transaction(SYSTEM) as work:
        await budget.settle(work, reservation)

    assert await spent_and_reserved(runtime, "support") == (EMAIL, 0)
    assert await spent_and_reserved(runtime, "support", clock.now) == (0, 0)


async def test_model_costs_are_recorded_past_the_cap_and_then_every_call_that_costs_is_refused(
    runtime: Runtime,
) -> None:
    await budget.report(runtime, "support", 2 * DOLLAR)
    await budget.report(runtime, "support", 1 * DOLLAR)

    assert await spent_and_reserved(runtime, "support") == (3 * DOLLAR, 0)
    assert await spent_and_reserved(runtime, "*") == (3 * DOLLAR, 0)
    with pytest.raises(BudgetExceeded):
        await spend(runtime, "support", 1)


async def test_fifty_reports_at_once_are_all_counted(settings: Settings, clock: MovingClock) -> None:
    async with two_runtimes(settings, clock) as runtimes:
        await asyncio.gather(*(budget.report(runtimes[number % 2], "growth", 3) for number in range(50)))

        assert await spent_and_reserved(runtimes[0], "growth") == (150, 0)
        assert await spent_and_reserved(runtimes[0], "*") == (150, 0)


@pytest.mark.parametrize(
    ("told", "micros"), [({}, 0), ({"openslot/modelCostUsd": 0}, 0), ({"openslot/modelCostUsd": 0.1}, 100_000),
                         ({"openslot/modelCostUsd": 100}, 100_000_000), ({"openslot/modelCostUsd": 0.0000001}, 1)]
)  # fmt: skip
def test_a_model_cost_is_read_to_the_micro_dollar_and_rounded_up(told: dict[str, object], micros: int) -> None:
    assert budget.read_model_cost(told) == micros


@pytest.mark.parametrize("cost", [-0.01, 100.01, "1", True, None, float("nan"), float("inf"), [1]])
def test_a_model_cost_that_is_no_number_from_0_to_100_is_refused_by_name(cost: object) -> None:
    with pytest.raises(Invalid) as refused:
        budget.read_model_cost({"openslot/modelCostUsd": cost})

    assert refused.value.details == {"_meta.openslot/modelCostUsd": "must be a number from 0 to 100"}


async def test_an_agent_is_warned_once_a_day_from_80_percent_on(runtime: Runtime, clock: MovingClock) -> None:
    await spend(runtime, "support", 159_999)
    assert await warnings(runtime) == []

    await spend(runtime, "support", 1)
    await spend(runtime, "support", 1_000)
    await budget.report(runtime, "support", 1_000)
    assert await warnings(runtime) == ["support"]

    clock.pass_time(days=1)
    await budget.report(runtime, "support", 160_000)
    assert await warnings(runtime) == ["support", "support"]


async def test_fifty_spends_over_the_threshold_at_once_warn_once(settings: Settings, clock: MovingClock) -> None:
    async with two_runtimes(settings, clock) as runtimes:
        await race(runtimes, ["support"], 4_000)

        assert await warnings(runtimes[0]) == ["support"]


async def test_all_agents_together_are_warned_about_too(settings: Settings, clock: MovingClock) -> None:
    async with two_runtimes(settings, clock, agent_budget_global=Dollars(10_000)) as (runtime, _):
        await spend(runtime, "growth", 8_000)

        assert await warnings(runtime) == [None]


async def test_check_budget_tells_what_is_spent_reserved_and_left(runtime: Runtime) -> None:
    await spend(runtime, "support", 160_000)
    await budget.reserve(runtime, call_of("support"), 10_000)

    status = await check_budget.run(runtime.work(SYSTEM), call_of("support"), check_budget.arguments())

    assert status == check_budget.result(
        agent="support",
        date=NOON.date(),
        limit_usd=0.2,
        spent_usd=0.16,
        reserved_usd=0.01,
        remaining_usd=0.03,
        percent_used=80.0,
        warning=True,
        resets_at="2026-03-17T00:00:00Z",
    )


async def test_check_global_budget_tells_the_total_and_every_agents_share(runtime: Runtime) -> None:
    await spend(runtime, "support", EMAIL)
    await budget.report(runtime, "cto", 2 * DOLLAR)

    status: Any = await check_global_budget.run(runtime.work(SYSTEM), call_of("cto"), check_global_budget.arguments())

    assert (status.agent, status.limit_usd, status.spent_usd, status.warning) == (None, 50.0, 2.001, False)
    shares = {each.agent: (each.limit_usd, each.spent_usd) for each in status.agents}
    assert len(shares) == 10
    assert sum(limit for limit, _ in shares.values()) == pytest.approx(45.2)
    assert shares["support"] == (0.2, 0.001)
    assert shares["cto"] == (5.0, 2.0)
    assert shares["seo"] == (5.0, 0.0)


@pytest.mark.parametrize(("limit", "threshold"), [(200_000, 160_000), (1, 1), (0, 0), (3, 3), (10, 8)])
def test_the_threshold_is_80_percent_rounded_up(limit: int, threshold: int) -> None:
    assert warning_at(limit) == threshold


def test_a_budget_past_its_cap_has_nothing_left_and_more_than_100_percent_used() -> None:
    spending = Spending(on=NOON.date(), limit=200_000, spent=300_000)

    assert (spending.remaining, spending.percent_used, spending.is_warning) == (0, 150.0, True)


@pytest.mark.parametrize(
    ("text", "micros"), [("0.20", 200_000), ("5", 5_000_000), ("0", 0), (" 0.000001 ", 1), ("1e2", 100_000_000)]
)
def test_an_amount_in_dollars_is_read_to_the_micro_dollar(text: str, micros: int) -> None:
    assert Dollars.parse(text) == micros


@pytest.mark.parametrize("text", ["five", "-1", "0.0000001", "nan", "inf", "1000001", ""])
def test_an_amount_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an amount|not between|decimal places"):
        Dollars.parse(text)


def test_budgets_are_set_by_the_operator() -> None:
    chosen = load_settings(
        environ={
            "OPENSLOT_AGENT_BUDGET": "2.50",
            "OPENSLOT_AGENT_BUDGETS": "growth=1.50, support=0.30",
            "OPENSLOT_AGENT_BUDGET_GLOBAL": "9",
        }
    )

    assert budget.find_caps(chosen, "growth") == (1_500_000, 9_000_000)
    assert budget.find_caps(chosen, "support") == (300_000, 9_000_000)
    assert budget.find_caps(chosen, "cto") == (2_500_000, 9_000_000)


@pytest.mark.parametrize("text", ["growth", "growth=x", "growth=1,growth=2", "=-1"])
def test_budgets_that_cant_be_read_are_refused_at_startup(text: str) -> None:
    with pytest.raises(StartupError, match="OPENSLOT_AGENT_BUDGETS"):
        load_settings(environ={"OPENSLOT_AGENT_BUDGETS": text})


async def test_a_budget_of_an_agent_that_does_not_exist_is_refused_at_startup(settings: Settings) -> None:
    wrong = replace(settings, agent_budgets=DollarsByName.parse("grwth=1"))
    with pytest.raises(StartupError, match="'grwth' is no agent"):
        async with open_runtime(wrong):
            pass
