"""The MCP inspector in strict mode and the conformance suite, against a live server."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.doors.agents.tools import TOOLS
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.agent import PATH, make_key
from tests.support.conformance import NOT_OFFERED, NOT_OFFERED_CHECKS, PASSED, read_results
from tests.support.live import serving
from tests.support.mcp_peers import bearing, run_peer

pytestmark = pytest.mark.rest("runs other people's programs against ours")


@pytest.fixture
async def url(settings: Settings, runtime: Runtime) -> AsyncIterator[str]:
    """A server that takes every request for the Orchestrator's."""
    key = await make_key(runtime, "orchestrator")
    async with serving(bearing(create_app(replace(settings, limit_agent=1_000_000)), key)) as base_url:
        yield f"{base_url}{PATH}"


async def test_the_inspector_finds_no_fault_in_the_schemas_and_calls_a_tool(url: str, tmp_path: Path) -> None:
    server = ("--cli", url, "--transport", "http")
    listed = await run_peer("mcp-inspector", *server, "--method", "tools/list", "--strict", cwd=tmp_path)
    called = await run_peer(
        "mcp-inspector", *server, "--method", "tools/call", "--tool-name", "check_budget", cwd=tmp_path
    )

    assert [code for code, _ in (listed, called)] == [0, 0], (listed, called)
    assert {tool["name"] for tool in json.loads(listed[1])["tools"]} == {tool.name for tool in TOOLS}
    assert json.loads(called[1])["structuredContent"]["agent"] == "orchestrator"


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_the_server_conforms_but_for_what_it_does_not_offer(url: str, tmp_path: Path, revision: str) -> None:
    arguments = ("server", "--url", url, "--requirements", revision, "-o", "results")
    _, printed = await run_peer("conformance", *arguments, cwd=tmp_path)
    found = read_results(tmp_path / "results")

    assert {scenario for scenario, failed in found.items() if not failed} >= PASSED[revision], printed
    for scenario, failed in found.items():
        allowed = failed if scenario in NOT_OFFERED else set(NOT_OFFERED_CHECKS.get(scenario, ()))
        assert failed <= allowed, (scenario, failed - allowed)
