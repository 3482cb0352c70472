"""Budgets and email as an agent meets them at the tool server."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.dollars import Dollars
from openslot.platform.core.work import Runtime
from tests.doors.agents.conftest import Connect
from tests.support.clocks import clock

__all__ = ["clock"]

LETTER = {"to": "jonas@okafor.example", "subject": "Hello", "text": "It works again.", "confirm": True}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, agent_email_cost=Dollars(30_000))


async def counts(runtime: Runtime) -> tuple[int, int, int]:
    row = await runtime.pool.fetchrow(
        """select sum(spent_micros)::int as spent, sum(reserved_micros)::int as reserved
        from agent_spend where agent = '*'"""
    )
    sent: int = await runtime.pool.fetchval("select count(*) from agent_emails")
    return (row["spent"] or 0, row["reserved"] or 0, sent) if row else (0, 0, sent)


async def statuses(runtime: Runtime) -> dict[str, int]:
    rows = await runtime.pool.fetch("select status, count(*) as count from agent_calls group by status")
    return {row["status"]: row["count"] for row in rows}


async def test_an_email_is_charged_recorded_and_queued(runtime: Runtime, enter: Connect) -> None:
    support = await enter("support")
    sent = await support.result("send_email", category="support", **LETTER)

    status = await support.result("check_budget")
    assert (sent["status"], sent["costUsd"]) == ("queued", 0.03)
    assert (status["spentUsd"], status["reservedUsd"], status["remainingUsd"]) == (0.03, 0.0, 0.17)
    row = await runtime.pool.fetchrow(
        "select c.agent, c.cost_micros, c.status from agent_emails m join agent_calls c on c.id = m.audit_id"
    )
    assert row is not None
    assert dict(row) == {"agent": "support", "cost_micros": 30_000, "status": "ok"}


async def test_fifty_emails_at_once_pass_neither_limit_nor_budget(runtime: Runtime, enter: Connect) -> None:
    support = await enter("support")
    answers = await asyncio.gather(*(support.call("send_email", category="support", **LETTER) for _ in range(50)))

    assert sum("result" in each for each in answers) == 5
    codes = {each["error"]["code"] for each in answers if "error" in each}
    assert codes <= {-32014, -32015}
    assert await counts(runtime) == (150_000, 0, 5)
    assert (await statuses(runtime))["ok"] == 5


async def test_fifty_emails_at_once_pass_no_budget(runtime: Runtime, enter: Connect) -> None:
    support = await enter("support")
    await support.ask("tools/call", {"name": "check_budget", "arguments": {}, "_meta": {"openslot/modelCostUsd": 0.12}})
    answers = await asyncio.gather(*(support.call("send_email", category="support", **LETTER) for _ in range(50)))

    assert sum("result" in each for each in answers) == 2
    assert {each["error"]["code"] for each in answers if "error" in each} == {-32014}
    assert await counts(runtime) == (180_000, 0, 2)


async def test_a_refused_email_gives_back_what_was_reserved(runtime: Runtime, enter: Connect) -> None:
    growth = await enter("growth")
    answer = await growth.call("send_email", category="marketing", **LETTER)

    assert answer["error"]["code"] == -32016
    assert answer["error"]["data"] == {"reason": "email_not_allowed", "cause": "level"}
    assert await counts(runtime) == (0, 0, 0)
    assert await statuses(runtime) == {"denied_email": 1}


async def test_reported_model_costs_stop_what_costs_and_nothing_else(runtime: Runtime, enter: Connect) -> None:
    support = await enter("support")
    told: dict[str, Any] = {"name": "check_budget", "arguments": {}, "_meta": {"openslot/modelCostUsd": 0.25}}
    status = (await support.ask("tools/call", told))["result"]["structuredContent"]

    assert (status["spentUsd"], status["percentUsed"], status["warning"]) == (0.25, 125.0, True)
    refused = await support.call("send_email", category="support", **LETTER)
    assert (refused["error"]["code"], refused["error"]["data"]["reason"]) == (-32014, "budget_exceeded")
    assert (await support.result("check_budget"))["remainingUsd"] == 0.0


async def test_a_hidden_line_break_is_named_and_nothing_is_sent(runtime: Runtime, enter: Connect, admin: User) -> None:
    cto = await enter("cto")
    letter = {**LETTER, "to": f"{admin.email}\r\nBcc: all@evil.example", "subject": "a\nb"}
    answer = await cto.call("send_email", category="internal", **letter)

    assert answer["result"]["isError"]
    assert set(answer["result"]["structuredContent"]["error"]["details"]) == {"to", "subject"}
    assert await counts(runtime) == (0, 0, 0)


@pytest.mark.parametrize("tool", ["check_budget", "no_such_tool"])
@pytest.mark.parametrize("cost", ["1", -1, 101, True, None])
async def test_a_call_with_a_senseless_cost_is_refused_and_recorded(
    runtime: Runtime, enter: Connect, tool: str, cost: object
) -> None:
    support = await enter("support")
    told = {"name": tool, "arguments": {"a": 1}, "_meta": {"openslot/modelCostUsd": cost}}
    answer = await support.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": told})

    fault = {"_meta.openslot/modelCostUsd": "must be a number from 0 to 100"}
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32602)
    assert answer.json()["error"]["data"] == fault
    rows = await runtime.pool.fetch("select tool, status, error_code, cost_micros, input_hash from agent_calls")
    [record] = map(dict, rows)
    assert record.pop("input_hash")
    assert record == {"tool": tool, "status": "invalid_arguments", "error_code": -32602, "cost_micros": 0}
    assert await counts(runtime) == (0, 0, 0)


@pytest.mark.parametrize(("method", "params"), [("ping", {}), ("tools/call", {"name": 3}), ("tools/list", {})])
async def test_what_is_no_call_of_a_tool_leaves_no_record(
    runtime: Runtime, enter: Connect, method: str, params: dict[str, Any]
) -> None:
    support = await enter("support")
    answer = await support.ask(method, params | {"_meta": {"openslot/modelCostUsd": -1}})

    assert answer["error"]["code"] == -32602
    assert await statuses(runtime) == {}
