"""A full pool: who has waited long enough is told to come again, and nobody else is hurt."""

import asyncio

import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Work
from openslot.platform.routing import post
from tests.support.live import connect, serving


@pytest.mark.rest("waits for seconds")
async def test_a_full_pool_is_answered_503_until_a_connection_is_free(
    settings: Settings, bearer: dict[str, str]
) -> None:
    holding = 0
    let_go = asyncio.Event()

    @post("/api/v1/probe/hold")
    async def hold(work: Work) -> dict[str, str]:
        """Keep a connection until told to let go."""
        nonlocal holding
        holding += 1
        await let_go.wait()
        return {"now": str(await work.db.fetchval("select now()"))}

    narrow = replace(settings, database_connections=2, database_wait_seconds=1, limit_key=10_000)
    async with (
        serving(create_app(narrow, more_routes=[hold])) as url,
        connect(url, timeout=60, headers=bearer) as client,
    ):
        held = [asyncio.create_task(client.post("/api/v1/probe/hold", json={})) for _ in range(2)]
        async with asyncio.timeout(30):
            while holding < 2:
                await asyncio.sleep(0.01)
        refused = await asyncio.gather(*(client.get("/api/v1/me") for _ in range(20)))
        ready = await client.get("/readyz")
        alive = await client.get("/healthz")
        still_waiting = [task.done() for task in held]
        let_go.set()
        kept = await asyncio.gather(*held)
        after = [await client.get("/api/v1/bookings") for _ in range(20)]

    assert alive.status_code == 200
    assert still_waiting == [False, False]
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in [*refused, ready]} == {(503, "2")}
    assert {answer.text for answer in refused} == {'{"error":"The service is not available right now"}'}
    assert ready.json()["database"] == "does not answer in time"
    assert [answer.status_code for answer in kept] == [200, 200]
    assert {answer.status_code for answer in after} == {200}
