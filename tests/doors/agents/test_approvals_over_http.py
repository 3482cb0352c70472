"""Approvals as agents meet them at the tool server, with tools that really change something."""

import asyncio
from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.doors.agents.conftest import Connect
from tests.support.agent import TestAgent

CALLS = "select agent, status, error_code, approval_id::text, approver from agent_calls where tool = $1 order by no"


@pytest.fixture
async def support(enter: Connect) -> TestAgent:
    return await enter("support")


@pytest.fixture
def wanted(user: User) -> dict[str, Any]:
    return {"userId": str(user.id), "plan": "BUSINESS", "reason": "asked by phone", "confirm": True}


async def plan_of(runtime: Runtime, user: User) -> str:
    plan: str = await runtime.pool.fetchval("select plan from users where id = $1", user.id)
    return plan


async def ask(agent: TestAgent, wanted: dict[str, Any]) -> str:
    answer = await agent.call("change_user_plan", **wanted)
    assert answer["error"]["code"] == -32013, answer
    return str(answer["error"]["data"]["approvalId"])


async def test_a_plan_is_changed_once_after_the_orchestrator_has_approved(
    runtime: Runtime, user: User, support: TestAgent, orchestrator: TestAgent, wanted: dict[str, Any]
) -> None:
    approval_id = await ask(support, wanted)
    assert await ask(support, wanted) == approval_id
    assert await plan_of(runtime, user) == "PRO"
    found = (await orchestrator.result("search_audit_log", status="pending_approval"))["data"]
    assert {each["approval"]["approvalId"] for each in found} == {approval_id}
    own = {name: value for name, value in wanted.items() if name != "confirm"}
    said = {name: {"quotedFrom": "agent", "text": value} for name, value in own.items()}
    assert found[0]["approval"]["arguments"] == said

    decided = await orchestrator.result(
        "change_user_plan", **own, approvalId=approval_id, decision="approve", confirm=True
    )
    assert (decided["outcome"], decided["approvalId"]) == ("done", approval_id)
    assert await plan_of(runtime, user) == "BUSINESS"
    assert await support.result("change_user_plan", **wanted, approvalId=approval_id) == decided

    rows = [tuple(row.values()) for row in await runtime.pool.fetch(CALLS, "change_user_plan")]
    assert rows == [
        ("support", "pending_approval", -32013, approval_id, None),
        ("support", "pending_approval", -32013, approval_id, None),
        ("support", "approved", None, approval_id, "orchestrator"),
        ("support", "ok", None, approval_id, "orchestrator"),
    ]
    again = (await orchestrator.result("search_audit_log", status="pending_approval"))["data"]
    assert all(each.get("approval") is None for each in again)


async def test_a_rejected_call_is_a_normal_result_for_its_approver(
    runtime: Runtime, user: User, support: TestAgent, orchestrator: TestAgent, wanted: dict[str, Any]
) -> None:
    approval_id = await ask(support, wanted)
    decided = await orchestrator.result("change_user_plan", **wanted, approvalId=approval_id, decision="reject")

    assert (decided["outcome"], decided["approvalId"]) == ("rejected", approval_id)
    refused = await support.call("change_user_plan", **wanted, approvalId=approval_id)
    assert refused["error"]["code"] == -32018
    assert await plan_of(runtime, user) == "PRO"


async def test_twenty_approvals_at_once_run_the_call_once(
    runtime: Runtime, user: User, support: TestAgent, orchestrator: TestAgent, wanted: dict[str, Any]
) -> None:
    approval_id = await ask(support, wanted)
    answers = await asyncio.gather(
        *(
            orchestrator.call("change_user_plan", **wanted, approvalId=approval_id, decision="approve")
            for _ in range(20)
        )
    )

    assert sum("result" in each for each in answers) == 1
    assert {each["error"]["code"] for each in answers if "error" in each} == {-32018}
    changes = await runtime.pool.fetchval(
        "select count(*) from agent_calls where tool = 'change_user_plan' and status = 'approved'"
    )
    assert changes == 1
    assert await plan_of(runtime, user) == "BUSINESS"


async def test_twenty_requests_at_once_wait_for_one_approval(
    runtime: Runtime, support: TestAgent, wanted: dict[str, Any]
) -> None:
    ids = await asyncio.gather(*(ask(support, wanted) for _ in range(20)))

    assert len(set(ids)) == 1
    assert await runtime.pool.fetchval("select count(*) from approvals") == 1


async def test_no_other_agent_decides(enter: Connect, support: TestAgent, wanted: dict[str, Any]) -> None:
    approval_id = await ask(support, wanted)
    answer = await support.call("change_user_plan", **wanted, approvalId=approval_id, decision="approve")

    assert (answer["error"]["code"], answer["error"]["data"]["cause"]) == (-32018, "wrong_approver")
