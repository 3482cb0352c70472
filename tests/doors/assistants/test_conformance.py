"""The conformance suite and the inspector connect as assistants do, with the host in a browser, and call tools."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.doors.assistants.calls.operations import TOOLS
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock, Runtime
from tests.doors.assistants.support import connect as connect_assistant
from tests.doors.assistants.support import decide, register
from tests.support.clocks import real_clock
from tests.support.conformance import NOT_OFFERED, NOT_OFFERED_CHECKS, PASSED, read_results
from tests.support.host import open_session
from tests.support.live import connect, serving
from tests.support.mcp_peers import bearing, run_peer
from tests.support.ports import held_port

pytestmark = pytest.mark.rest("runs other people's programs against ours")

__all__ = ["real_clock"]

NAMES = {tool.name for tool in TOOLS}
AUTHORIZE = re.compile(r"http://127\.0\.0\.1:\d+/oauth/authorize\?\S+")


@pytest.fixture
def clock(real_clock: Clock) -> Clock:
    """The suite looks at the real one."""
    return real_clock


async def answer_in_browser(browser: httpx2.AsyncClient, output: Path) -> None:
    """Wait until the suite shows its address, allow what it asks for, and go back to it."""
    async with asyncio.timeout(120):
        while not (output.exists() and (found := AUTHORIZE.search(output.read_text("utf-8")))):
            await asyncio.sleep(0.1)
    parts = urlsplit(found[0])
    answer = await decide(browser, f"{parts.path}?{parts.query}")
    async with httpx2.AsyncClient(timeout=60) as program:
        await program.get(answer.headers["location"])


async def test_the_authorization_server_conforms(
    installation: str, runtime: Runtime, user: User, tmp_path: Path
) -> None:
    with held_port() as port:
        pass
    async with connect(installation, timeout=60) as browser:
        client_id = await register(browser, f"http://127.0.0.1:{port}/callback")
        browser.headers.update(await open_session(runtime, user))
        answering = asyncio.create_task(answer_in_browser(browser, tmp_path / "output.txt"))
        arguments = ("--url", installation, "--client-id", client_id, "--resource", f"{installation}/mcp")
        _, printed = await run_peer(
            "conformance", "authorization", *arguments, "-p", str(port), "-o", "results", cwd=tmp_path
        )
        await answering
    checks = [
        check for path in (tmp_path / "results").rglob("checks.json") for check in json.loads(path.read_text("utf-8"))
    ]

    assert {check["id"] for check in checks if check["status"] == "FAILURE"} == set(), printed
    assert len([check for check in checks if check["status"] == "SUCCESS"]) >= 2, printed


@pytest.fixture
async def url(settings: Settings, member: httpx2.AsyncClient) -> AsyncIterator[str]:
    """A server that takes every request for that of a connected assistant."""
    _, tokens = await connect_assistant(member)
    app = create_app(replace(settings, limit_assistant=1_000_000))
    async with serving(bearing(app, tokens.access_token)) as base_url:
        yield f"{base_url}/mcp"


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_the_tool_server_conforms_but_for_what_it_does_not_offer(url: str, tmp_path: Path, revision: str) -> None:
    arguments = ("server", "--url", url, "--requirements", revision, "-o", "results")
    _, printed = await run_peer("conformance", *arguments, cwd=tmp_path)
    found = read_results(tmp_path / "results")

    assert {scenario for scenario, failed in found.items() if not failed} >= PASSED[revision], printed
    for scenario, failed in found.items():
        allowed = failed if scenario in NOT_OFFERED else set(NOT_OFFERED_CHECKS.get(scenario, ()))
        assert failed <= allowed, (scenario, failed - allowed)


async def test_the_inspector_is_connected_by_the_host_and_finds_no_fault_in_the_schemas(
    installation: str, runtime: Runtime, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a terminal it connects only if it may open a browser: it finds none, and shows the address.
    monkeypatch.setenv("MCP_AUTO_OPEN_ENABLED", "true")
    monkeypatch.setenv("MCP_INSPECTOR_SECRET_STORE", "file")
    with held_port() as port:
        pass
    server = ("--cli", f"{installation}/mcp", "--transport", "http")
    callback = ("--callback-url", f"http://127.0.0.1:{port}/oauth/callback")
    listing = ("--method", "tools/list", "--strict", "--output", "tools.json")
    calling = (
        "--method",
        "tools/call",
        "--tool-name",
        "list_event_types",
        "--stored-auth-only",
        "--output",
        "called.json",
    )
    async with connect(installation, timeout=60) as browser:
        browser.headers.update(await open_session(runtime, user))
        answering = asyncio.create_task(answer_in_browser(browser, tmp_path / "output.txt"))
        listed = await run_peer("mcp-inspector", *server, *callback, *listing, cwd=tmp_path)
        await answering
    called = await run_peer("mcp-inspector", *server, *calling, cwd=tmp_path)

    assert [code for code, _ in (listed, called)] == [0, 0], (listed, called)
    tools = json.loads((tmp_path / "tools.json").read_text("utf-8"))["tools"]
    found = json.loads((tmp_path / "called.json").read_text("utf-8"))["structuredContent"]
    assert {tool["name"] for tool in tools} == NAMES
    assert [each["slug"] for each in found["data"]] == ["30min"]
    assert await runtime.pool.fetchval("select count(*) from assistant_grants") == 1


async def test_the_inspector_starts_the_command(settings: Settings, user: User, api_key: str, tmp_path: Path) -> None:
    given = {
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_API_KEY": api_key,
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    environment = [part for name, value in given.items() for part in ("-e", f"{name}={value}")]
    command = ("--cli", *environment, "--method", "tools/list", "--strict", "--output", "tools.json", "--quiet")
    code, printed = await run_peer("mcp-inspector", *command, sys.executable, "-m", "openslot", "mcp", cwd=tmp_path)

    assert code == 0, printed
    assert {tool["name"] for tool in json.loads((tmp_path / "tools.json").read_text("utf-8"))["tools"]} == NAMES
