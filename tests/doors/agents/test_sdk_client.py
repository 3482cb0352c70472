"""The official Python SDK's client talks to the server, in both eras."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from openslot.doors.agents.roster import ROSTER, with_implied
from openslot.doors.agents.tools import TOOLS
from openslot.platform.core.work import Runtime
from tests.support.agent import PATH, make_key

if TYPE_CHECKING:
    from mcp.client.client import Client


@asynccontextmanager
async def sdk_client(base_url: str, key: str, mode: Any) -> AsyncIterator["Client"]:
    """Connect the SDK's client with an agent's key."""
    # Importing it takes a second: only the process that runs these tests should.
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, verify=False, timeout=60) as http,
        Client(streamable_http_client(f"{base_url}{PATH}", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.rest("talks to an official client")
@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
async def test_the_sdk_lists_and_calls_tools(
    client: httpx2.AsyncClient, runtime: Runtime, mode: str, version: str
) -> None:
    from mcp import MCPError

    key = await make_key(runtime, "support")
    async with sdk_client(str(client.base_url).rstrip("/"), key, mode) as sdk:
        listed = await sdk.list_tools()
        budget = await sdk.call_tool("check_budget")
        failed = await sdk.call_tool("search_audit_log", {"limit": 0})
        with pytest.raises(MCPError) as refused:
            await sdk.call_tool("check_flag", {"key": "x", "userId": "y"})

        assert sdk.protocol_version == version
    allowed = with_implied(ROSTER["support"].scopes)
    assert {tool.name for tool in listed.tools} == {tool.name for tool in TOOLS if tool.scope in allowed}
    assert budget.structured_content["agent"] == "support"
    assert failed.is_error
    assert failed.structured_content["error"]["details"] == {"limit": "must be at least 1"}
    assert refused.value.error.code == -32011
    assert refused.value.error.data["reason"] == "insufficient_scope"


@pytest.mark.rest("talks to an official client")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_sdk_is_told_that_its_key_is_wrong(client: httpx2.AsyncClient, mode: str) -> None:
    with pytest.raises(Exception) as refused:  # noqa: PT011 - the SDK wraps it in a group
        async with sdk_client(str(client.base_url).rstrip("/"), "svc_agent_support_x", mode) as sdk:
            await sdk.list_tools()

    assert "Missing or invalid credentials" in repr(refused.value) or "401" in repr(refused.value)
