"""The gates in their order, and what a call leaves behind when a gate or the tool refuses it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from openslot.doors.agents import calls
from openslot.doors.agents.errors import EmailNotAllowed
from openslot.doors.agents.models import Tier, ToolCall
from openslot.platform.core.actor import ActorKind
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Runtime, Work
from tests.doors.agents.conftest import Connect
from tests.doors.agents.support import ProbeFields, probe, write, write_something
from tests.support.agent import TestAgent

ALWAYS = {"confirm": True}


class ProbeConflict(Conflict):
    """What a probe refuses."""

    code = "probe_conflict"


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add a probe to the server's tools."""

    def add_tool(do: Callable[[Work, ToolCall], Awaitable[None]], tier: Tier = Tier.T2, **declared: Any) -> None:
        monkeypatch.setitem(calls.BY_NAME, "probe", probe(do, tier, **declared))

    return add_tool


async def do_nothing(work: Work, call: ToolCall) -> None:
    """Succeed."""


async def write_and_refuse(work: Work, call: ToolCall) -> None:
    """Change something and refuse."""
    await write_something(work)
    raise ProbeConflict("Not like this", details={"text": "is in the way"})


async def write_and_break(work: Work, call: ToolCall) -> None:
    """Change something and fail."""
    await write_something(work)
    raise ZeroDivisionError


async def write_and_not_allowed(work: Work, call: ToolCall) -> None:
    """Change something, and find under a lock that a gate should have refused it."""
    await write_something(work)
    raise EmailNotAllowed("Not to this recipient")


async def records(runtime: Runtime) -> list[dict[str, Any]]:
    """Read the audit records in order."""
    return [dict(row) for row in await runtime.pool.fetch("select * from agent_calls order by no")]


async def is_written(runtime: Runtime) -> bool:
    """Tell whether the probe's change was committed."""
    return bool(await runtime.pool.fetchval("select exists (select from rate_log where bucket = 'probe')"))


@pytest.mark.parametrize(
    ("agent", "tier", "arguments", "code", "status"),
    [
        # Scope before level before confirmation before arguments: each call has all later faults too.
        ("seo", Tier.T1, {"nope": 1}, -32011, "denied_scope"),
        ("seo", Tier.T2, {"confirm": 1, "nope": 1}, -32011, "denied_scope"),
        ("growth", Tier.T2, {"confirm": 1, "nope": 1}, -32011, "denied_scope"),
        ("support", Tier.T2, {"nope": 1}, -32012, "denied_confirm"),
        ("support", Tier.T2, {"confirm": "true", "nope": 1}, -32012, "denied_confirm"),
        ("support", Tier.T2, {"confirm": 1}, -32012, "denied_confirm"),
        ("support", Tier.T2, {"confirm": False}, -32012, "denied_confirm"),
        ("support", Tier.T2, {"confirm": None}, -32012, "denied_confirm"),
        ("support", Tier.T3, {"confirm": [True]}, -32012, "denied_confirm"),
        ("support", Tier.T2, {"confirm": True, "nope": 1}, None, "invalid_arguments"),
        ("support", Tier.T2, {"confirm": True, "count": "1"}, None, "invalid_arguments"),
        ("support", Tier.T2, {"confirm": True, "text": "a\u0000"}, None, "invalid_arguments"),
        ("support", Tier.T2, {"confirm": True, "approvalId": "x"}, None, "invalid_arguments"),
        ("support", Tier.T1, {"confirm": True}, None, "invalid_arguments"),
        ("support", Tier.T3, {"confirm": True, "approvalId": "x"}, None, "invalid_arguments"),
        ("support", Tier.T3, {"confirm": True, "decision": "approve"}, None, "invalid_arguments"),
        ("support", Tier.T3, {"confirm": True}, -32013, "pending_approval"),
        ("support", Tier.T2, {"confirm": True}, None, "ok"),
        ("support", Tier.T1, {}, None, "ok"),
        ("orchestrator", Tier.T3, {"confirm": True}, None, "ok"),
    ],
)
async def test_gates_refuse_in_their_order_and_every_call_is_recorded(
    enter: Connect,
    add: Callable[..., None],
    runtime: Runtime,
    *,
    agent: str,
    tier: Tier,
    arguments: dict[str, Any],
    code: int | None,
    status: str,
) -> None:
    add(do_nothing, tier)
    answer = await (await enter(agent)).call("probe", **arguments)

    assert answer.get("error", {}).get("code") == code
    if code is None:
        assert answer["result"]["isError"] is (status != "ok")
    (record,) = await records(runtime)
    assert (record["agent"], record["tool"], record["status"], record["error_code"]) == (agent, "probe", status, code)
    assert (record["scope"], record["tier"]) == ("users:read" if tier is Tier.T1 else "users:write", tier)
    assert len(record["input_hash"]) == 64


async def test_an_agent_at_l0_may_read_and_not_write_until_it_is_raised(
    enter: Connect, add: Callable[..., None], runtime: Runtime
) -> None:
    growth = await enter("growth")
    await runtime.pool.execute("update agent_keys set scopes = '{users:write}'")
    add(do_nothing, Tier.T2)
    refused = await growth.call("probe", confirm="no")
    await runtime.pool.execute("update agents set autonomy_level = 1 where slug = 'growth'")
    accepted = await growth.call("probe", confirm=True)
    add(do_nothing, Tier.T1)
    await runtime.pool.execute("update agents set autonomy_level = 0")

    assert refused["error"]["code"] == -32017
    assert refused["error"]["data"] == {"reason": "autonomy_too_low", "autonomyLevel": "L0", "requiredLevel": "L1"}
    assert accepted["result"]["isError"] is False
    assert (await growth.call("probe"))["result"]["isError"] is False


async def test_a_write_scope_lets_read(enter: Connect, add: Callable[..., None]) -> None:
    add(do_nothing, Tier.T1)

    assert (await (await enter("support")).call("probe"))["result"]["isError"] is False


async def test_the_verbs_know_the_agent_and_its_key(enter: Connect, add: Callable[..., None], runtime: Runtime) -> None:
    add(do_nothing)
    result = await (await enter("support")).result("probe", confirm=True)

    key_id = await runtime.pool.fetchval("select id from agent_keys")
    assert result["actor"] == f"{ActorKind.AGENT} support {key_id}"


async def test_a_change_and_its_record_are_committed_together(
    enter: Connect, add: Callable[..., None], runtime: Runtime
) -> None:
    seen: list[bool] = []

    async def write_and_look(work: Work, call: ToolCall) -> None:
        await write_something(work)
        seen.append(await is_written(runtime))

    add(write_and_look)
    user_id = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e90"
    await (await enter("support")).result("probe", confirm=True, userId=user_id)

    assert seen == [False]
    assert await is_written(runtime)
    (record,) = await records(runtime)
    assert (record["target_type"], record["target_id"], record["status"]) == ("user", user_id, "ok")
    assert record["request_id"]


@pytest.mark.parametrize(
    ("do", "http", "code", "status", "error"),
    [
        (write_and_refuse, 200, None, "tool_error", "probe_conflict"),
        (write_and_not_allowed, 200, -32016, "denied_email", None),
        (write_and_break, 500, -32603, "internal_error", None),
    ],
)
@pytest.mark.parametrize("tier", [Tier.T2, Tier.T3])
async def test_a_tool_that_fails_keeps_its_record_and_loses_its_writes(
    orchestrator: TestAgent,
    add: Callable[..., None],
    runtime: Runtime,
    *,
    do: Any,
    http: int,
    code: int | None,
    status: str,
    error: str | None,
    tier: Tier,
) -> None:
    add(do, tier)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "probe", "arguments": ALWAYS}}
    response = await orchestrator.post(message)
    answer = response.json()

    assert (response.status_code, answer.get("error", {}).get("code")) == (http, code)
    if error is not None:
        assert answer["result"]["isError"] is True
        assert answer["result"]["structuredContent"]["error"] == {
            "code": error,
            "message": "Not like this",
            "details": {"text": "is in the way"},
        }
    assert not await is_written(runtime)
    (record,) = await records(runtime)
    assert (record["status"], record["error_code"]) == (status, code)


@pytest.mark.parametrize(("do", "status"), [(write_and_refuse, "tool_error"), (write_and_break, "internal_error")])
async def test_a_tool_that_only_reads_is_recorded_when_it_fails(
    orchestrator: TestAgent, add: Callable[..., None], runtime: Runtime, do: Any, status: str
) -> None:
    add(do, Tier.T1)
    await orchestrator.call("probe")

    assert [record["status"] for record in await records(runtime)] == [status]


async def test_what_a_call_costs_is_settled_or_given_back(
    orchestrator: TestAgent, add: Callable[..., None], runtime: Runtime
) -> None:
    add(write, cost=lambda _: 1_000_000)
    await orchestrator.result("probe", confirm=True)
    add(write_and_refuse, cost=lambda _: 1_000_000)
    await orchestrator.call("probe", confirm=True)
    budget = await orchestrator.result("check_budget")
    add(write, cost=lambda _: 4_000_001)
    refused = await orchestrator.call("probe", confirm=True)

    assert (budget["spentUsd"], budget["reservedUsd"]) == (1.0, 0.0)
    assert refused["error"]["code"] == -32014
    found = [
        (record["status"], record["cost_micros"]) for record in await records(runtime) if record["tool"] == "probe"
    ]
    assert found == [("ok", 1_000_000), ("tool_error", 0), ("denied_budget", 0)]


async def test_a_gate_of_the_tool_comes_before_the_budget(
    orchestrator: TestAgent, add: Callable[..., None], runtime: Runtime
) -> None:
    async def refuse(work: Work, call: ToolCall, arguments: ProbeFields) -> None:
        raise EmailNotAllowed("Not this category")

    add(write, cost=lambda _: 999_000_000, check=refuse)

    assert (await orchestrator.call("probe", confirm=True))["error"]["code"] == -32016
    assert [record["status"] for record in await records(runtime)] == ["denied_email"]


async def test_model_costs_are_counted_with_any_request(orchestrator: TestAgent) -> None:
    await orchestrator.ask("ping", {"_meta": {"openslot/modelCostUsd": 0.25}})
    await orchestrator.ask("tools/call", {"name": "check_budget", "_meta": {"openslot/modelCostUsd": 1}})

    assert (await orchestrator.result("check_budget"))["spentUsd"] == 1.25


async def test_an_approved_call_runs_for_its_requester_and_once(
    enter: Connect, orchestrator: TestAgent, add: Callable[..., None], runtime: Runtime
) -> None:
    add(write, Tier.T3)
    support = await enter("support")
    waits = (await support.call("probe", confirm=True, text="a"))["error"]
    again = (await support.call("probe", confirm=True, text="a"))["error"]
    approval_id = waits["data"]["approvalId"]
    found = await orchestrator.result("search_audit_log", status="pending_approval")
    decided = await orchestrator.result("probe", confirm=True, text="a", approvalId=approval_id, decision="approve")
    result = await support.result("probe", confirm=True, text="a", approvalId=approval_id)

    assert again["data"]["approvalId"] == approval_id
    assert found["data"][0]["approval"]["arguments"] == {"text": {"quotedFrom": "agent", "text": "a"}}
    assert decided["actor"] == result["actor"] == "support"
    kept = [r for r in await records(runtime) if r["tool"] == "probe"]
    assert [(r["agent"], r["status"], r["approver"]) for r in kept] == [
        ("support", "pending_approval", None),
        ("support", "pending_approval", None),
        ("support", "approved", "orchestrator"),
        ("support", "ok", "orchestrator"),
    ]
    assert {str(r["approval_id"]) for r in kept} == {approval_id}
    after = await orchestrator.result("search_audit_log", status="pending_approval")
    assert [record["approval"] for record in after["data"]] == [None, None]


async def test_a_call_waits_for_its_turn_without_a_connection_and_runs_once(
    orchestrator: TestAgent, add: Callable[..., None], runtime: Runtime
) -> None:
    tries: list[str] = []
    tried_again = asyncio.Event()

    async def take_turn(work: Work, call: ToolCall) -> None:
        tries.append(await work.db.fetchval("select current_setting('openslot.turns')"))
        if len(tries) == 2:
            tried_again.set()
        await work.db.execute("select take_turn(1, 2)")

    add(take_turn)
    async with runtime.pool.acquire() as connection:
        await connection.execute("select pg_advisory_lock(1, 2)")
        called = asyncio.create_task(orchestrator.call("probe", confirm=True))
        await asyncio.wait({called, asyncio.ensure_future(tried_again.wait())}, return_when=asyncio.FIRST_COMPLETED)
        await connection.execute("select pg_advisory_unlock(1, 2)")

    assert (await called)["result"]["isError"] is False
    assert tries == ["refuse", "wait"]
    assert [record["status"] for record in await records(runtime)] == ["ok"]
