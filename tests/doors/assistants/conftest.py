"""A signed-in host on a clock that tests move, and an installation that knows its own address."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from openslot.platform.core.config import Settings
from tests.doors.assistants import support
from tests.doors.assistants.support import ConnectedAssistant
from tests.support.clocks import clock
from tests.support.forked import Forked, openslot
from tests.support.host import book, member, stranger, user
from tests.support.live import connect
from tests.support.ports import held_port

__all__ = ["book", "clock", "member", "stranger", "user"]


@pytest.fixture
async def installation(settings: Settings, tmp_path: Path) -> AsyncIterator[str]:
    """A web process whose metadata names the address where it listens."""
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
    }
    with held_port() as port:
        err = tmp_path / "installation.err"
        server = Forked(openslot, "web", "--port", str(port), environment=environment, err=err)
        base_url = f"http://127.0.0.1:{port}"
        async with connect(base_url) as client:
            await _wait(client)
        yield base_url
        server.terminate()
        assert await asyncio.to_thread(server.wait, 60) == 0, err.read_text()


async def _wait(client: httpx2.AsyncClient) -> None:
    for _ in range(1200):
        try:
            await client.get("/healthz")
        except httpx2.ConnectError:
            await asyncio.sleep(0.05)
        else:
            return


@pytest.fixture
async def assistant(member: httpx2.AsyncClient) -> ConnectedAssistant:
    """An assistant that may do everything."""
    _, tokens = await support.connect(member)
    return ConnectedAssistant(member, tokens.access_token)
