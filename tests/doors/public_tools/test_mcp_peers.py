"""The official SDK's client, the inspector in strict mode and the conformance suite, against the public server."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.event_types.models import EventType
from openslot.doors.public_tools import server
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN
from tests.doors.public_tools.conftest import INVITEE, TestAssistant
from tests.support.conformance import NOT_OFFERED, NOT_OFFERED_CHECKS, PASSED, read_results
from tests.support.live import serving
from tests.support.mcp_peers import run_peer

pytestmark = pytest.mark.rest("runs other people's programs against ours")

NAMES = {tool.name for tool in server.TOOLS}


@pytest.fixture
async def url(settings: Settings, runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A server without limits that the suite would reach."""
    monkeypatch.setattr(server, "READS", None)
    async with serving(create_app(replace(settings, limit_public=1_000_000))) as base_url:
        yield f"{base_url}{TestAssistant.path}"


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_the_sdk_books_reschedules_and_cancels(
    client: httpx2.AsyncClient, meeting: EventType, mode: str, version: str
) -> None:
    # Importing it takes a second: only the process that runs these tests should.
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    url = f"{str(client.base_url).rstrip('/')}{TestAssistant.path}"
    async with (
        httpx2.AsyncClient(timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as sdk,
    ):
        assert sdk.protocol_version == version
        assert {tool.name for tool in (await sdk.list_tools()).tools} == NAMES
        found = await sdk.call_tool("find_host", {"page": "mara"})
        event_type_id = next(each["id"] for each in found.structured_content["eventTypes"] if each["slug"] == "meeting")
        wanted = {"eventTypeId": event_type_id, "timezone": "UTC"}
        free = await sdk.call_tool("list_free_times", wanted)
        assert TEN in [each["startTime"] for each in free.structured_content["data"]]
        booked = await sdk.call_tool("book", {"eventTypeId": event_type_id, "startTime": TEN, **INVITEE})
        link = {"manageUrl": booked.structured_content["manageUrl"]}
        moved = await sdk.call_tool("reschedule_booking", {**link, "newStartTime": ELEVEN})
        assert moved.structured_content["startTime"] == ELEVEN
        cancelled = await sdk.call_tool("cancel_booking", link)
        assert cancelled.structured_content["status"] == "CANCELLED"
        refused = await sdk.call_tool("reschedule_booking", {**link, "newStartTime": TEN})
        assert refused.is_error


async def test_the_inspector_finds_no_fault_in_the_schemas_and_calls_a_tool(
    url: str, tmp_path: Path, meeting: EventType
) -> None:
    server = ("--cli", url, "--transport", "http")
    listed = await run_peer("mcp-inspector", *server, "--method", "tools/list", "--strict", cwd=tmp_path)
    call = ("--method", "tools/call", "--tool-name", "find_host", "--tool-arg", "page=mara")
    called = await run_peer("mcp-inspector", *server, *call, cwd=tmp_path)

    assert [code for code, _ in (listed, called)] == [0, 0], (listed, called)
    assert {tool["name"] for tool in json.loads(listed[1])["tools"]} == NAMES
    assert json.loads(called[1])["structuredContent"]["host"]["username"] == "mara"


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_the_server_conforms_but_for_what_it_does_not_offer(url: str, tmp_path: Path, revision: str) -> None:
    arguments = ("server", "--url", url, "--requirements", revision, "-o", "results")
    _, printed = await run_peer("conformance", *arguments, cwd=tmp_path)
    found = read_results(tmp_path / "results")

    assert {scenario for scenario, failed in found.items() if not failed} >= PASSED[revision], printed
    for scenario, failed in found.items():
        allowed = failed if scenario in NOT_OFFERED else set(NOT_OFFERED_CHECKS.get(scenario, ()))
        assert failed <= allowed, (scenario, failed - allowed)
