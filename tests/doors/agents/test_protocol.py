"""The protocol over HTTP: methods, versions of both eras, batches, and the code and status of every fault."""

import json
from typing import Any

import pytest

from openslot.doors.mcp.protocol import LARGEST_BATCH
from openslot.platform.core.work import Runtime
from tests.support.agent import PATH, TestAgent

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
STATELESS = "2026-07-28"
UNKNOWN = {VERSION: "2099-01-01", CAPABILITIES: {}}
META = {VERSION: STATELESS, CAPABILITIES: {}}


def request(method: str, params: Any = None, *, message_id: Any = 1) -> dict[str, Any]:
    """Write one request."""
    return {"jsonrpc": "2.0", "id": message_id, "method": method} | ({} if params is None else {"params": params})


async def ask_stateless(agent: TestAgent, method: str, params: Any = None, **headers: str) -> Any:
    """Send a request of the stateless era, with headers that agree with it unless others are given."""
    params = {"_meta": META, **(params or {})}
    sent = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": method} | headers
    if "name" in params:
        sent.setdefault("Mcp_Name", params["name"])
    return await agent.post(request(method, params), **{k: v for k, v in sent.items() if v != "absent"})


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (None, "2025-11-25"),
        (7, "2025-11-25"),
    ],
)
async def test_the_handshake_answers_the_clients_version_or_our_newest(
    orchestrator: TestAgent, asked: Any, answered: str
) -> None:
    answer = await orchestrator.ask("initialize", {"protocolVersion": asked, "capabilities": {}})

    assert answer["result"]["protocolVersion"] == answered
    assert answer["result"]["serverInfo"]["name"] == "openslot-agents"
    assert answer["result"]["capabilities"] == {"tools": {}}


async def test_ping_and_notifications(orchestrator: TestAgent) -> None:
    assert await orchestrator.ask("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}
    for body in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "check_budget"}},
        {"jsonrpc": "2.0", "id": 9, "result": {}},
    ):
        answer = await orchestrator.post(body)
        assert (answer.status_code, answer.content) == (202, b"")


async def test_the_text_repeats_the_structured_content(orchestrator: TestAgent) -> None:
    result = (await orchestrator.call("check_budget"))["result"]

    (text,) = result["content"]
    assert text["type"] == "text"
    assert json.loads(text["text"]) == result["structuredContent"]
    assert result["isError"] is False


@pytest.mark.parametrize("message_id", ["abc", 0, -5, "", 2**40])
async def test_an_answer_has_the_id_of_its_request(orchestrator: TestAgent, message_id: Any) -> None:
    assert (await orchestrator.post(request("ping", message_id=message_id))).json()["id"] == message_id


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b'{"a": "\xff"}', 400, -32700),
        (b"[" * 100 + b"]" * 100, 400, -32700),
        (b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}', 400, -32700),
        (b'"ping"', 400, -32600),
        (b"{}", 400, -32600),
        (b"[]", 400, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, 400, -32600),
        (request("ping", [1]), 200, -32602),
        (request("no/such"), 200, -32601),
        (request("server/discover"), 200, -32601),
        (request("tools/list", {"cursor": "x"}), 200, -32602),
        (request("tools/call"), 200, -32602),
        (request("tools/call", {"name": 5}), 200, -32602),
        (request("tools/call", {"name": "check_budget", "arguments": []}), 200, -32602),
        (request("tools/call", {"name": "no_such_tool"}), 200, -32602),
        (request("ping", {"_meta": {"openslot/modelCostUsd": "1"}}), 200, -32602),
        (request("ping", {"_meta": {"openslot/modelCostUsd": 101}}), 200, -32602),
        (request("ping", {"_meta": {"openslot/modelCostUsd": -1}}), 200, -32602),
    ],
)
async def test_every_fault_has_its_code_and_status(orchestrator: TestAgent, body: Any, status: int, code: int) -> None:
    answer = await orchestrator.post(body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["jsonrpc"] == "2.0"


@pytest.mark.parametrize("version", ["2024-11-05", "2099-01-01", "x", ""])
async def test_an_unsupported_version_is_refused(orchestrator: TestAgent, version: str) -> None:
    answer = await orchestrator.post(request("ping"), MCP_Protocol_Version=version)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32022)
    assert STATELESS in answer.json()["error"]["data"]["supported"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
async def test_only_post_is_served(orchestrator: TestAgent, method: str) -> None:
    answer = await orchestrator.client.request(method, PATH, headers=orchestrator.headers)

    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]
    assert answer.json()["error"]["code"] == -32600


async def test_the_stateless_era_needs_no_handshake(orchestrator: TestAgent) -> None:
    discovered = (await ask_stateless(orchestrator, "server/discover")).json()["result"]
    listed = (await ask_stateless(orchestrator, "tools/list")).json()["result"]
    called = (await ask_stateless(orchestrator, "tools/call", {"name": "check_budget"})).json()["result"]

    assert STATELESS in discovered["supportedVersions"]
    assert discovered["capabilities"] == {"tools": {}}
    assert {(each["resultType"], each["_meta"][SERVER_INFO]["name"]) for each in (discovered, listed, called)} == {
        ("complete", "openslot-agents")
    }
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
    assert called["structuredContent"]["agent"] == "orchestrator"


@pytest.mark.parametrize(
    ("method", "params", "headers", "status", "code"),
    [
        ("tools/list", {}, {"MCP_Protocol_Version": "absent"}, 400, -32020),
        ("tools/list", {}, {"MCP_Protocol_Version": "2025-11-25"}, 400, -32020),
        ("tools/list", {}, {"Mcp_Method": "absent"}, 400, -32020),
        ("tools/list", {}, {"Mcp_Method": "tools/call"}, 400, -32020),
        ("tools/call", {"name": "check_budget"}, {"Mcp_Name": "absent"}, 400, -32020),
        ("tools/call", {"name": "check_budget"}, {"Mcp_Name": "send_email"}, 400, -32020),
        ("tools/call", {"name": "check_budget"}, {"Mcp_Name": "=?base64?!?="}, 400, -32020),
        ("tools/call", {"name": "check_budget"}, {"Mcp_Name": "=?base64?Y2hlY2tfYnVkZ2V0?="}, 200, None),
        ("tools/list", {"_meta": UNKNOWN}, {"MCP_Protocol_Version": "2099-01-01"}, 400, -32022),
        ("tools/list", {"_meta": {VERSION: STATELESS}}, {}, 400, -32602),
        ("tools/list", {"_meta": {}}, {}, 400, -32602),
        ("tools/list", {"_meta": 5}, {}, 400, -32602),
        ("ping", {}, {}, 404, -32601),
        ("initialize", {}, {}, 404, -32601),
        ("no/such", {}, {}, 404, -32601),
    ],
)  # fmt: skip
async def test_a_stateless_message_agrees_with_its_headers(
    orchestrator: TestAgent, method: str, params: Any, headers: dict[str, str], status: int, code: int | None
) -> None:
    answer = await ask_stateless(orchestrator, method, params, **headers)

    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)


async def test_batches_belong_to_one_version(orchestrator: TestAgent) -> None:
    batch = [
        request("ping", message_id="a"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0"},
    ]
    answer = await orchestrator.post(batch, MCP_Protocol_Version="2025-03-26")

    assert answer.status_code == 200
    first, second = answer.json()
    assert first == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert (second["id"], second["error"]["code"]) == (None, -32600)
    for version in ("2025-06-18", "2025-11-25", STATELESS):
        refused = await orchestrator.post(batch, MCP_Protocol_Version=version)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)


async def test_a_batch_is_neither_empty_nor_large_nor_a_handshake(orchestrator: TestAgent) -> None:
    async def post(batch: list[Any]) -> Any:
        return await orchestrator.post(batch, MCP_Protocol_Version="2025-03-26")

    assert (await post([])).status_code == 400
    assert len((await post([request("ping")] * LARGEST_BATCH)).json()) == LARGEST_BATCH
    assert (await post([request("ping")] * (LARGEST_BATCH + 1))).status_code == 400
    assert (await post([request("initialize", {})])).json()[0]["error"]["code"] == -32600
    assert (await post([{"jsonrpc": "2.0", "method": "notifications/x"}])).status_code == 202


@pytest.mark.parametrize(
    ("introduced", "noted"),
    [
        ({"name": "Claude", "version": "2.1"}, ("Claude", "2.1")),
        ({"name": "x" * 101, "version": 3}, (None, None)),
        ({"name": "a\nb"}, (None, None)),
        ("Claude", (None, None)),
        (None, (None, None)),
    ],
)
async def test_the_roster_knows_which_program_has_connected(
    orchestrator: TestAgent, runtime: Runtime, introduced: object, noted: tuple[str | None, str | None]
) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": introduced}
    await orchestrator.ask("initialize", params)
    row = await runtime.pool.fetchrow("select * from agents where slug = 'orchestrator'")
    assert row is not None
    assert (row["client_name"], row["client_version"]) == noted
    assert row["connected_at"] is not None
