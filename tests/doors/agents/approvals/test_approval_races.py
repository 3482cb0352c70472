"""Whoever decides at the same moment: a call runs once or not at all."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta

import pytest

from openslot.doors.agents.approvals import store as approval_store
from openslot.doors.agents.errors import ApprovalRefused, ApprovalRequired
from openslot.doors.agents.models import ToolCall
from openslot.doors.agents.reactions import expire_approvals
from openslot.doors.mcp.approvals import ApprovalStatus
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.doors.agents.approving import ARGUMENTS, ask, marks, row_of, send
from tests.doors.agents.spending import NOON
from tests.support.clocks import MovingClock

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

ROUNDS = 20


async def _expire(runtime: Runtime) -> int:
    async with runtime.transaction(SYSTEM) as work:
        return int((await expire_approvals(work)).split()[0])


async def _settled(*calls: Awaitable[object]) -> list[object]:
    return list(await asyncio.gather(*calls, return_exceptions=True))


def count_refused(outcomes: list[object]) -> int:
    assert all(not isinstance(each, BaseException) or isinstance(each, ApprovalRefused) for each in outcomes), outcomes
    return sum(isinstance(each, ApprovalRefused) for each in outcomes)


async def test_of_two_approvals_at_once_one_runs_the_call(
    runtime: Runtime, other: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    for number in range(ROUNDS):
        arguments = {**ARGUMENTS, "userId": str(number)}
        approval_id = await ask(runtime, support, arguments)
        outcomes = await _settled(
            send(runtime, orchestrator, arguments, approval_id=approval_id, decision="approve"),
            send(other, orchestrator, arguments, approval_id=approval_id, decision="approve"),
        )
        assert count_refused(outcomes) == 1

    assert len(await marks(runtime)) == ROUNDS


async def test_of_an_approval_and_a_rejection_at_once_one_counts(
    runtime: Runtime, other: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    for number in range(ROUNDS):
        arguments = {**ARGUMENTS, "userId": str(number)}
        approval_id = await ask(runtime, support, arguments)
        outcomes = await _settled(
            send(runtime, orchestrator, arguments, approval_id=approval_id, decision="approve"),
            send(other, orchestrator, arguments, approval_id=approval_id, decision="reject"),
        )
        assert count_refused(outcomes) == 1
        is_approved = (await row_of(runtime, approval_id))["status"] == "approved"
        assert (("support", str(number)) in await marks(runtime)) == is_approved


async def test_an_approval_at_the_moment_of_its_expiry_either_runs_or_expires(
    runtime: Runtime, settings: Settings, support: ToolCall, orchestrator: ToolCall, clock: MovingClock
) -> None:
    late = MovingClock(NOON)
    async with open_runtime(settings, clock=late) as sweeper:
        for number in range(ROUNDS):
            arguments = {**ARGUMENTS, "userId": str(number)}
            approval_id = await ask(runtime, support, arguments)
            late.now = clock.now + timedelta(minutes=15)
            outcomes = await _settled(
                send(runtime, orchestrator, arguments, approval_id=approval_id, decision="approve"), _expire(sweeper)
            )
            has_run = not isinstance(outcomes[0], ApprovalRefused)
            status = (await row_of(runtime, approval_id))["status"]
            assert (("support", str(number)) in await marks(runtime)) == has_run == (status == "approved")


async def test_the_same_call_in_two_processes_at_once_asks_once(
    runtime: Runtime, other: Runtime, support: ToolCall
) -> None:
    for number in range(ROUNDS):
        arguments = {**ARGUMENTS, "userId": str(number)}
        ids = await asyncio.gather(*(ask(each, support, arguments) for each in (runtime, other) * 3))
        assert len(set(ids)) == 1

    assert await runtime.pool.fetchval("select count(*) from approvals") == ROUNDS


async def test_a_repeat_during_the_decision_waits_on_or_gets_the_result(
    runtime: Runtime, other: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    for number in range(ROUNDS):
        arguments = {**ARGUMENTS, "userId": str(number)}
        approval_id = await ask(runtime, support, arguments)
        decided, repeated = await _settled(
            send(runtime, orchestrator, arguments, approval_id=approval_id, decision="approve"),
            send(other, support, arguments, approval_id=approval_id),
        )
        assert not isinstance(decided, BaseException)
        if isinstance(repeated, BaseException):
            assert isinstance(repeated, ApprovalRequired)
        again = await send(other, support, arguments, approval_id=approval_id)
        assert again.result == {"outcome": "done", "approvalId": str(approval_id), "userId": str(number)}

    assert len(await marks(runtime)) == ROUNDS


async def test_a_decision_counts_once_even_without_the_lock(runtime: Runtime, support: ToolCall) -> None:
    approval_id = await ask(runtime, support)
    written = [
        await approval_store.decide(
            runtime.pool, approval_id, ApprovalStatus.REJECTED, "orchestrator", now=runtime.clock()
        )
        for _ in range(2)
    ]

    assert written == [True, False]
