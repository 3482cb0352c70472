"""What the front door is tried with: two web processes on one database, and a log whose clock can be turned."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import httpx2
import pytest

from openslot.app import create_app
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.access.probes import PROBES
from tests.support.live import connect, serving

Age = Callable[[float], Awaitable[None]]


@pytest.fixture
async def pair(settings: Settings) -> AsyncIterator[tuple[httpx2.AsyncClient, httpx2.AsyncClient]]:
    """Two servers that share nothing but the database."""
    limits = httpx2.Limits(max_connections=200)
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(2):
            url = await stack.enter_async_context(serving(create_app(settings, more_routes=PROBES)))
            client = connect(url, limits=limits, timeout=30)
            clients.append(await stack.enter_async_context(client))
        yield clients[0], clients[1]


@pytest.fixture
def age(runtime: Runtime) -> Age:
    """Let seconds pass for every limit, without waiting for them."""

    async def let_pass(seconds: float) -> None:
        await runtime.pool.execute(
            "update rate_log set stamps = array(select s - $1::bigint from unnest(stamps) s)", int(seconds * 1_000_000)
        )

    return let_pass
