"""The conformance suite's scenarios for authorization servers, with the host in a browser."""

import asyncio
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import Clock, Runtime
from tests.assistants.support import decide, register
from tests.support.clocks import real_clock
from tests.support.host import open_session
from tests.support.live import connect
from tests.support.mcp_peers import run_peer
from tests.support.ports import held_port

__all__ = ["real_clock"]

AUTHORIZE = re.compile(r"http://127\.0\.0\.1:\d+/oauth/authorize\?\S+")


@pytest.fixture
def clock(real_clock: Clock) -> Clock:
    """The suite looks at the real one."""
    return real_clock


async def answer_in_browser(browser: httpx2.AsyncClient, output: Path) -> None:
    """Wait until the suite shows its address, allow what it asks for, and go back to it."""
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
