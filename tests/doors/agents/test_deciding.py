"""A person decides from the terminal: the call runs once, for its requester, and with its record."""

from typing import Any

import pytest
from msgspec.structs import replace

from openslot.doors.agents.calls import BY_NAME, decide
from openslot.doors.agents.errors import ApprovalRefused
from openslot.doors.agents.models import Tier, ToolCall
from openslot.doors.agents.reactions import expire_approvals
from openslot.doors.agents.schemas import Decided
from openslot.doors.agents.tools import TOOLS
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.doors.agents.approving import ARGUMENTS, BrokenError, ask, mark, send, shared_database
from tests.doors.agents.spending import call_of, clock, make_key
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli

__all__ = ["clock", "shared_database"]

RECORDS = "select agent, tool, status, approver, approval_id, input_hash from agent_calls order by no"


@pytest.fixture(autouse=True)
def known_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_NAME, "mark", mark)


@pytest.fixture
async def support(runtime: Runtime) -> ToolCall:
    return call_of("support", key_id=await make_key(runtime, "support"))


async def by_person(runtime: Runtime, approval_id: Any, decision: Any) -> Any:
    async with runtime.transaction(OPERATOR) as work:
        return await decide(work, approval_id, decision, approver="administrator", request_id="test")


async def marks(runtime: Runtime) -> list[str]:
    return [row["agent"] for row in await runtime.pool.fetch("select agent from marks")]


async def test_a_person_approves_and_the_requester_gets_the_result(runtime: Runtime, support: ToolCall) -> None:
    approval_id = await ask(runtime, support)
    verdict = await by_person(runtime, approval_id, "approve")

    assert verdict.result == {"outcome": "done", "approvalId": str(approval_id), "userId": "7"}
    assert await marks(runtime) == ["support"]
    told = await send(runtime, support, approval_id=approval_id)
    assert (told.result["userId"], told.approver) == ("7", "administrator")  # type: ignore[index]
    (record,) = await runtime.pool.fetch(RECORDS)
    assert (record["agent"], record["tool"], record["status"], record["approver"], record["approval_id"]) == (
        "support",
        "mark",
        "approved",
        "administrator",
        approval_id,
    )


async def test_a_persons_word_is_enough_where_it_is_necessary(
    settings: Settings, runtime: Runtime, support: ToolCall, clock: MovingClock
) -> None:
    async with open_runtime(replace(settings, agent_approval_by_person=True), clock=clock) as strict:
        orchestrator = call_of("orchestrator", key_id=await make_key(runtime, "orchestrator"))
        for call in (support, orchestrator):
            await by_person(strict, await ask(strict, call), "approve")

    assert await marks(runtime) == ["support", "orchestrator"]


async def test_a_person_rejects(runtime: Runtime, support: ToolCall) -> None:
    approval_id = await ask(runtime, support)
    await by_person(runtime, approval_id, "reject")

    assert await marks(runtime) == []
    with pytest.raises(ApprovalRefused):
        await send(runtime, support, approval_id=approval_id)
    (record,) = await runtime.pool.fetch(RECORDS)
    assert (record["agent"], record["status"], record["approver"]) == ("support", "rejected", "administrator")


@pytest.mark.parametrize("first", ["approve", "reject"])
async def test_a_decision_is_final(runtime: Runtime, support: ToolCall, first: str) -> None:
    approval_id = await ask(runtime, support)
    await by_person(runtime, approval_id, first)

    for second in ("approve", "reject"):
        with pytest.raises(ApprovalRefused):
            await by_person(runtime, approval_id, second)
    assert len(await marks(runtime)) == (first == "approve")


async def test_a_person_is_too_late_after_15_minutes(runtime: Runtime, support: ToolCall, clock: MovingClock) -> None:
    approval_id = await ask(runtime, support)
    clock.pass_time(minutes=15)

    with pytest.raises(ApprovalRefused):
        await by_person(runtime, approval_id, "approve")
    assert await marks(runtime) == []


async def test_a_tools_refusal_is_the_result_and_a_crash_leaves_the_call_waiting(
    runtime: Runtime, support: ToolCall
) -> None:
    refused = await ask(runtime, support, {**ARGUMENTS, "reason": "refused"})
    assert (await by_person(runtime, refused, "approve")).is_error
    crashed = await ask(runtime, support, {**ARGUMENTS, "reason": "crash"})
    with pytest.raises(BrokenError):
        await by_person(runtime, crashed, "approve")

    assert await marks(runtime) == []
    statuses = {row["id"]: row["status"] for row in await runtime.pool.fetch("select id, status from approvals")}
    assert statuses == {refused: "approved", crashed: "pending"}
    assert [row["status"] for row in await runtime.pool.fetch(RECORDS)] == ["tool_error"]


async def test_an_expiry_is_recorded_for_its_requester(runtime: Runtime, support: ToolCall, clock: MovingClock) -> None:
    ids = [await ask(runtime, support, {**ARGUMENTS, "userId": str(number)}) for number in range(3)]
    clock.pass_time(minutes=15)
    async with runtime.transaction(SYSTEM) as work:
        assert await expire_approvals(work) == "3 approvals expired"

    records = await runtime.pool.fetch(RECORDS)
    assert [(row["agent"], row["tool"], row["status"]) for row in records] == [("support", "mark", "expired")] * 3
    assert {row["approval_id"] for row in records} == set(ids)


def test_every_tool_that_needs_an_approval_can_be_rejected_and_costs_nothing(settings: Settings) -> None:
    for tool in TOOLS:
        if tool.tier is Tier.T3:
            assert issubclass(tool.result, Decided), tool.name
            assert tool.result(outcome="rejected").outcome == "rejected"
            assert tool.cost(settings) == 0, tool.name


@pytest.fixture
async def waiting(settings: Settings) -> str:
    """A call that waits, asked for just now."""
    async with open_runtime(settings) as runtime:
        support = call_of("support", key_id=await make_key(runtime, "support"))
        return str(await ask(runtime, support))


def test_the_terminal_lists_and_approves(cli: Cli, waiting: str) -> None:
    (shown,) = cli("agent", "approvals", "list", "--json")["approvals"]
    assert (shown["id"], shown["requester"], shown["tool"], shown["arguments"]) == (
        waiting,
        "support",
        "mark",
        ARGUMENTS,
    )
    done = cli("agent", "approvals", "approve", waiting, "--json")
    assert done["outcome"] == "approved"
    assert done["result"]["userId"] == "7"
    assert cli("agent", "approvals", "list") == "No call waits for an approval.\n"
    with pytest.raises(ApprovalRefused, match="already approved"):
        cli("agent", "approvals", "reject", waiting)


def test_the_terminal_rejects(cli: Cli, waiting: str) -> None:
    assert "was rejected" in cli("agent", "approvals", "reject", waiting)
    assert cli("agent", "approvals", "list", "--json") == {"approvals": []}


def test_the_terminal_lists_no_emails_where_there_are_none(cli: Cli) -> None:
    assert cli("agent", "emails", "--json") == {"emails": []}
