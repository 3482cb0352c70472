"""The public server speaks the protocol of all tool servers, and hostile messages are refused in time."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.doors.mcp.tools import schema_of
from openslot.doors.public_tools.booking import PublicTool
from openslot.doors.public_tools.server import TOOLS
from tests.doors.public_tools.conftest import TestAssistant

STATELESS = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}
READING = {"find_host", "list_free_times", "get_booking", "list_new_times"}
DESTROYING = {"release_hold", "reschedule_booking", "cancel_booking"}
NOT_REPEATABLE = {"hold_time", "book"}
TELLING_OTHERS = {"book", "reschedule_booking", "cancel_booking"}


async def test_anyone_is_welcome_in_every_version(assistant: TestAssistant) -> None:
    for version in ("2025-03-26", "2025-06-18", "2025-11-25"):
        shown = (await assistant.ask("initialize", {"protocolVersion": version, "capabilities": {}}))["result"]
        assert shown["protocolVersion"] == version
        assert shown["serverInfo"]["name"] == "openslot"
        assert shown["capabilities"] == {"tools": {}, "resources": {}}
    found = await assistant.ask(
        "server/discover", {"_meta": META}, MCP_Protocol_Version=STATELESS, Mcp_Method="server/discover"
    )
    assert found["result"]["resultType"] == "complete"
    # Everyone has the same tools, so that anything between may keep the list.
    assert (found["result"]["ttlMs"], found["result"]["cacheScope"]) == (3_600_000, "public")


async def test_tools_say_truly_what_they_may_do(assistant: TestAssistant) -> None:
    listed = (await assistant.ask("tools/list"))["result"]["tools"]

    # Not every client's engine reads our expressions; a text that does not fit is refused in words.
    assert '"pattern"' not in json.dumps(listed)
    assert len(json.dumps(listed)) < 33_000
    for each in listed:
        name, hints = each["name"], each["annotations"]
        assert hints["readOnlyHint"] is (name in READING)
        assert hints["destructiveHint"] is (name in DESTROYING)
        assert hints["idempotentHint"] is (name not in NOT_REPEATABLE)
        assert hints["openWorldHint"] is (name in TELLING_OTHERS)
        assert each["description"]


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema of an object inside a schema."""
    for each in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from objects(each)
    if isinstance(schema, dict) and schema.get("type") == "object" and "properties" in schema:
        yield schema


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_schemas_stand_alone_and_name_all_arguments(each: PublicTool) -> None:
    for schema in (schema_of(each.arguments), schema_of(each.result)):
        jsonschema_rs.meta.validate(schema)
        assert (schema["type"], "$ref" in schema) == ("object", False)
    assert all(found["additionalProperties"] is False for found in objects(schema_of(each.arguments)))


async def test_results_fit_their_schemas(assistant: TestAssistant, meeting: EventType) -> None:
    by_name = {each.name: each for each in TOOLS}
    link = {"manageUrl": (await assistant.book(meeting))["manageUrl"]}
    by_id = {"eventTypeId": str(meeting.id)}
    for name, arguments in {
        "find_host": {"page": "mara"},
        "list_free_times": {**by_id, "timezone": "UTC"},
        "hold_time": {**by_id, "startTime": "2026-03-16T12:00:00Z"},
        "get_booking": link,
        "list_new_times": link,
        "reschedule_booking": {**link, "newStartTime": "2026-03-16T13:00:00Z"},
        "cancel_booking": link,
    }.items():
        jsonschema_rs.validate(schema_of(by_name[name].result), await assistant.result(name, **arguments))


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b"[" * 100_000, 400, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 5000 + b"1" + b"}" * 5001, 400, -32700),
        (b'{"a":"' + b"x" * 300_000 + b'"}', 413, -32600),
        (b"[]", 400, -32600),
        (b"3", 400, -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":[]}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"book","arguments":[]}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancel"}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}', 200, -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', 200, -32602),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_hostile_messages_are_refused(assistant: TestAssistant, body: bytes, status: int, code: int) -> None:
    answer = await assistant.post(body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_batches_are_for_the_version_that_has_them(assistant: TestAssistant, user: User) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    find = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "find_host", "arguments": {}}}

    assert (await assistant.post([ping])).json()["error"]["code"] == -32600
    assert (await assistant.post([ping] * 21, MCP_Protocol_Version="2025-03-26")).json()["error"]["code"] == -32600
    answers = (await assistant.post([ping, 7, find], MCP_Protocol_Version="2025-03-26")).json()
    assert answers[0]["result"] == {}
    assert answers[1]["error"]["code"] == -32600
    assert answers[2]["result"]["structuredContent"]["error"]["details"] == {"page": "is required"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda each: each.name)
async def test_arguments_of_the_wrong_type_are_named(assistant: TestAssistant, tool: PublicTool) -> None:
    fields = tool.arguments.__struct_encode_fields__
    wrong: Any
    for wrong in ({"x": 1}, [{}], 7.5):
        refused = await assistant.refusal(tool.name, **dict.fromkeys(fields, wrong), unknown=1)
        assert refused["code"] == "invalid_request"
        assert set(fields) | {"unknown"} >= {name.partition(".")[0] for name in refused["details"]} >= {"unknown"}


async def test_pages_of_other_sites_may_call_it_by_our_name_alone(assistant: TestAssistant) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    foreign = await assistant.post(ping, Origin="https://claude.ai")
    asked = await assistant.client.options(
        assistant.path, headers={"Origin": "https://claude.ai", "Access-Control-Request-Method": "POST"}
    )
    rebound = await assistant.post(ping, Host="rebound.example")

    assert (foreign.status_code, foreign.headers["access-control-allow-origin"]) == (200, "*")
    assert asked.status_code == 204
    assert "Mcp-Method" in asked.headers["access-control-allow-headers"]
    assert (rebound.status_code, rebound.headers["x-error-code"]) == (403, "origin_not_allowed")


async def test_there_are_no_streams_and_no_sessions(assistant: TestAssistant) -> None:
    for method in ("GET", "DELETE"):
        answer = await assistant.client.request(method, assistant.path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "OPTIONS, POST")
    started = await assistant.post(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    )
    assert "mcp-session-id" not in started.headers
