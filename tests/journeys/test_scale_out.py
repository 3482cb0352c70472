"""Nothing that must be shared is kept in a process: limits and safe retries hold across web processes."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta

import httpx2
import pytest

from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.live import connect
from tests.support.parts import LONG
from tests.support.races import web_processes, wish, workday

PROCESSES, ROUNDS = (4, 30) if LONG else (2, 1)
ME = "/api/v1/me"
AGE = "update rate_log set stamps = array(select s - $1::bigint * 1000000 from unnest(stamps) s)"
Clients = list[httpx2.AsyncClient]


@pytest.fixture
async def clients(settings: Settings) -> AsyncIterator[Clients]:
    """One client for each web process."""
    with web_processes(settings, PROCESSES, limit_key=60, limit_failed_auth=5) as urls:
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(connect(url, timeout=60)) for url in urls]


async def ask(clients: Clients, count: int, headers: dict[str, str]) -> tuple[Counter[int], int]:
    """Ask all processes at once; count the answers by status, and tell how long who was refused first has to wait."""
    answers = await asyncio.gather(*(clients[n % len(clients)].get(ME, headers=headers) for n in range(count)))
    waits = [int(answer.headers["retry-after"]) for answer in answers if answer.status_code == 429]
    return Counter(answer.status_code for answer in answers), max(waits, default=0)


async def test_limits_and_retries_hold_across_processes(
    clients: Clients, runtime: Runtime, bearer: dict[str, str]
) -> None:
    body = wish("30min", workday(0) + timedelta(hours=1), 1)
    headers = {**bearer, "Idempotency-Key": "once"}
    sent = [clients[n % len(clients)].post("/api/v1/bookings", json=body, headers=headers) for n in range(20)]
    statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
    assert set(statuses) <= {200, 409}
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1
    again = await clients[1].post("/api/v1/bookings", json=body, headers=headers)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")

    for _ in range(ROUNDS):
        await check_minute(clients, runtime, bearer)
    wrong, _ = await ask(clients, 40, {"Authorization": "Bearer x"})
    assert wrong == {401: 5, 429: 35}


async def check_minute(clients: Clients, runtime: Runtime, bearer: dict[str, str]) -> None:
    """Check that a key has exactly sixty requests in any minute, also in those that begin between two crowds."""
    await runtime.pool.execute("delete from rate_log")
    began = time.monotonic()
    assert (await ask(clients, 20, bearer))[0] == {200: 20}
    await runtime.pool.execute(AGE, 30)
    crowd, wait = await ask(clients, 100, bearer)
    assert crowd == {200: 40, 429: 60}
    assert 30 - (time.monotonic() - began) <= wait <= 30
    # Who waits as long as told is let in, and counts. Between the others there is time for a machine that is slow.
    await runtime.pool.execute(AGE, wait)
    assert (await ask(clients, 1, bearer))[0] == {200: 1}
    await runtime.pool.execute(AGE, 45)
    assert (await ask(clients, 100, bearer))[0] == {200: 59, 429: 41}
