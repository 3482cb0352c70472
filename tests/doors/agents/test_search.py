"""Searching the audit log: every field, every filter, events beside calls, and pages of a million records."""

from typing import Any
from uuid import UUID

import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.doors.agents.conftest import Connect
from tests.support.agent import TestAgent

FIELDS = {
    *("id", "at", "agent", "keyId", "tool", "scope", "tier", "inputHash", "status", "errorCode", "latencyMs"),
    *("costMicros", "approvalId", "approver", "requestId", "targetType", "targetId"),
}


async def test_a_record_has_every_field_and_null_where_nothing_is_known(
    orchestrator: TestAgent, runtime: Runtime
) -> None:
    answer = await orchestrator.post(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "no_such_tool"}}
    )
    (record,) = (await orchestrator.result("search_audit_log"))["data"]

    assert record.keys() >= FIELDS
    assert (record["agent"], record["tool"], record["status"]) == ("orchestrator", "no_such_tool", "unknown_tool")
    assert (record["errorCode"], record["requestId"]) == (-32602, answer.headers["x-request-id"])
    assert [record[name] for name in ("scope", "tier", "approvalId", "approver", "targetType", "targetId")] == [
        None
    ] * 6
    assert UUID(record["keyId"]) == await runtime.pool.fetchval("select id from agent_keys")


async def test_filters_narrow_the_calls(enter: Connect, orchestrator: TestAgent, user: User) -> None:
    support = await enter("support")
    await support.call("check_budget")
    await support.call("get_user", userId=str(user.id))
    await support.call("list_flags")
    await orchestrator.call("check_budget")

    async def search(**wanted: Any) -> list[tuple[str, str]]:
        found = await orchestrator.result("search_audit_log", **wanted)
        return [(each["agent"], each["tool"]) for each in found["data"]]

    assert await search(agent="support") == [
        ("support", "list_flags"),
        ("support", "get_user"),
        ("support", "check_budget"),
    ]
    assert await search(tool="check_budget") == [("orchestrator", "check_budget"), ("support", "check_budget")]
    assert await search(status="denied_scope") == [("support", "list_flags")]
    assert await search(userId=str(user.id)) == [("support", "get_user")]
    assert await search(agent="support", tool="check_budget", status="ok") == [("support", "check_budget")]
    assert await search(agent="cto") == []
    assert await search(to="2020-01-01") == []
    assert len(await search(**{"from": "2020-01-01", "agent": "support"})) == 3


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"agent": "nobody"}, "agent"),
        ({"status": "nope"}, "status"),
        ({"limit": 101}, "limit"),
        ({"page": 0}, "page"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-02-01", "to": "2026-01-01"}, "to"),
        ({"userId": "x"}, "userId"),
        ({"nope": 1}, "nope"),
    ],
)
async def test_wrong_filters_are_named(orchestrator: TestAgent, wanted: dict[str, Any], field: str) -> None:
    answer = await orchestrator.call("search_audit_log", **wanted)

    assert answer["result"]["isError"] is True
    assert list(answer["result"]["structuredContent"]["error"]["details"]) == [field]


async def test_events_of_the_product_are_found_beside_the_calls(
    orchestrator: TestAgent, runtime: Runtime, user: User, admin: User
) -> None:
    everything = await orchestrator.result("search_audit_log")
    own = await orchestrator.result("search_audit_log", userId=str(user.id))
    of_calls = await orchestrator.result("search_audit_log", status="ok")

    assert {each["type"] for each in everything["events"]} >= {"user.added"}
    assert {str(user.id), str(admin.id)} <= {each["subjectId"] for each in everything["events"]}
    assert {each["subjectId"] for each in own["events"]} == {str(user.id)}
    assert [each["actor"] for each in own["events"]] == ["operator"] * len(own["events"])
    assert of_calls["events"] == []


async def test_pages_follow_each_other(orchestrator: TestAgent) -> None:
    for no in range(5):
        await orchestrator.call(f"tool_{no}")
    pages = [
        await orchestrator.result("search_audit_log", page=page, limit=2, status="unknown_tool")
        for page in (1, 2, 3, 4)
    ]

    assert [[each["tool"] for each in page["data"]] for page in pages] == [
        ["tool_4", "tool_3"],
        ["tool_2", "tool_1"],
        ["tool_0"],
        [],
    ]
    assert [page["pagination"]["hasMore"] for page in pages] == [True, True, False, False]


async def test_every_filter_reads_an_index_in_order(runtime: Runtime) -> None:
    """No search sorts or reads everything: its cost does not grow with the number of records."""
    await runtime.pool.execute(
        """insert into agent_calls (id, no, at, agent, key_id, tool, status, latency_ms, cost_micros, request_id,
            target_id, signature)
        select gen_random_uuid(), n, now() - n * interval '1 second', 'agent_' || n % 10, gen_random_uuid(),
            'tool_' || n % 45, case when n % 100 = 0 then 'denied_scope' else 'ok' end, 1, 0, '', n % 10, ''
        from generate_series(1, 20000) n"""
    )
    await runtime.pool.execute("analyze agent_calls")
    for condition in (
        "true",
        "agent = 'agent_1'",
        "tool = 'tool_3'",
        "status = 'denied_scope'",
        "target_id = '7'",
        "at < now() - interval '1 hour'",
    ):
        plan = await runtime.pool.fetch(
            f"explain select * from agent_calls where {condition} order by at desc, id desc limit 21"
        )
        words = " ".join(row["QUERY PLAN"] for row in plan)
        assert "Index Scan" in words, (condition, words)
        assert "Sort" not in words, (condition, words)
