"""Tools that wait for other services: no transaction meanwhile, and what they did, cost and record are one commit."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from openslot.doors.agents import calls
from openslot.doors.agents.audit import operations as audit
from openslot.doors.agents.errors import CostKept
from openslot.doors.agents.models import Tier, ToolCall
from openslot.doors.agents.reactions import give_back
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.errors import Conflict, Internal
from openslot.platform.core.events import Change
from openslot.platform.core.work import Runtime, Work
from tests.doors.agents.spending import call_of, clock, spent_and_reserved
from tests.doors.agents.support import probe
from tests.support.clocks import MovingClock

__all__ = ["clock"]

COST = 1_000_000
MARK = Change("insert into rate_log (bucket, stamps, taken) values ($1, '{}', 0)", ("probe",))
Do = Callable[[Work, ToolCall], Awaitable[None]]
Call = Callable[[Do], Awaitable[Any]]


class AnswerLost(CostKept):
    """Nobody knows whether it was charged."""

    code = "probe_lost"
    message = "Lost"


class ProbeRefused(Conflict):
    """The service has said no."""

    code = "probe_refused"


async def mark(work: Work, call: ToolCall) -> None:
    work.stage(MARK)


async def mark_and_refuse(work: Work, call: ToolCall) -> None:
    work.stage(MARK)
    raise ProbeRefused("No")


async def mark_and_lose(work: Work, call: ToolCall) -> None:
    work.stage(MARK)
    raise AnswerLost


async def mark_and_break(work: Work, call: ToolCall) -> None:
    work.stage(MARK)
    raise ZeroDivisionError


@pytest.fixture
def call(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call a tool that costs a dollar and runs without a transaction."""
    caller = call_of("orchestrator").caller

    async def call_it(do: Do) -> Any:
        tool = probe(do, Tier.T2, transaction="none", cost=lambda _: COST)
        monkeypatch.setitem(calls.BY_NAME, "probe", tool)
        params = {"name": "probe", "arguments": {"confirm": True}}
        return await calls.call_tool(runtime, caller, params, request_id="r")

    return call_it


async def left(runtime: Runtime) -> tuple[bool, tuple[int, int], list[tuple[str, int, str]]]:
    """Read whether the change was made, what was spent and is reserved, and the records."""
    is_marked = await runtime.pool.fetchval("select exists (select from rate_log where bucket = 'probe')")
    rows = await runtime.pool.fetch("select status, cost_micros, request_id from agent_calls order by no")
    return is_marked, await spent_and_reserved(runtime, "orchestrator"), [tuple(row.values()) for row in rows]


async def count_begun(runtime: Runtime) -> int:
    begun: int = await runtime.pool.fetchval("select count(*) from agent_calls_begun")
    return begun


async def test_it_runs_without_a_transaction_with_its_cost_reserved_and_the_call_noted(
    call: Call, runtime: Runtime
) -> None:
    seen: list[object] = []

    async def look(work: Work, called: ToolCall) -> None:
        busy = (
            "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in trans%'"
        )
        seen.extend([work.db is runtime.pool, await work.db.fetchval(busy)])
        seen.extend([await count_begun(runtime), await spent_and_reserved(runtime, "orchestrator")])
        await mark(work, called)

    answered = await call(look)

    assert seen == [True, 0, 1, (0, COST)]
    assert not answered.is_error
    assert await left(runtime) == (True, (COST, 0), [("ok", COST, "r")])
    assert await count_begun(runtime) == 0


@pytest.mark.parametrize(
    ("do", "spent", "status"), [(mark_and_refuse, 0, "tool_error"), (mark_and_lose, COST, "tool_error")]
)
async def test_a_failure_changes_nothing_and_costs_what_was_spent(
    call: Call, runtime: Runtime, do: Do, spent: int, status: str
) -> None:
    answered = await call(do)

    assert answered.is_error
    assert await left(runtime) == (False, (spent, 0), [(status, spent, "r")])
    assert await count_begun(runtime) == 0


async def test_a_fault_is_recorded_and_costs_nothing(call: Call, runtime: Runtime) -> None:
    with pytest.raises(Internal):
        await call(mark_and_break)

    assert await left(runtime) == (False, (0, 0), [("internal_error", 0, "r")])


async def test_a_change_that_is_refused_keeps_neither_the_cost_nor_a_record_of_success(
    call: Call, runtime: Runtime
) -> None:
    async def mark_twice(work: Work, called: ToolCall) -> None:
        await work.db.execute(MARK.sql, *MARK.args)
        await mark(work, called)

    with pytest.raises(Exception, match="duplicate key"):
        await call(mark_twice)

    _, spending, records = await left(runtime)
    assert (spending, records, await count_begun(runtime)) == ((0, 0), [], 1)


async def die(call: Call) -> None:
    """Call a tool whose process ends while it waits."""
    waiting = asyncio.Event()

    async def wait(work: Work, called: ToolCall) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(call(wait))
    await waiting.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_if_the_process_dies_money_is_given_back_and_the_record_says_that_it_never_ended(
    call: Call, runtime: Runtime, clock: MovingClock
) -> None:
    await die(call)
    assert await left(runtime) == (False, (0, COST), [])
    clock.pass_time(minutes=9, seconds=59)
    await give_back(runtime.work(SYSTEM))
    assert await count_begun(runtime) == 1

    clock.pass_time(seconds=1)
    said = await give_back(runtime.work(SYSTEM))
    again = await give_back(runtime.work(SYSTEM))

    assert (said, again) == (
        "1 reservations given back, 1 calls without an end recorded",
        "0 reservations given back, 0 calls without an end recorded",
    )
    assert await left(runtime) == (False, (0, 0), [("internal_error", 0, "r")])
    row = await runtime.pool.fetchrow("select agent, tool, latency_ms, error_code, input_hash from agent_calls")
    assert row is not None
    assert tuple(row.values())[:4] == ("orchestrator", "probe", 600_000, -32603)
    assert row["input_hash"]
    assert (await audit.verify(runtime)).faults == ()


async def test_a_call_that_ends_after_it_was_given_up_is_recorded_and_charged_too(
    call: Call, runtime: Runtime, clock: MovingClock
) -> None:
    async def take_long(work: Work, called: ToolCall) -> None:
        clock.pass_time(minutes=11)
        await give_back(runtime.work(SYSTEM))

    await call(take_long)

    assert await left(runtime) == (False, (COST, 0), [("internal_error", 0, "r"), ("ok", COST, "r")])
    assert (await audit.verify(runtime)).faults == ()


def test_a_tool_that_needs_an_approval_runs_in_its_transaction() -> None:
    with pytest.raises(TypeError, match="approved"):
        probe(mark, Tier.T3, transaction="none")
