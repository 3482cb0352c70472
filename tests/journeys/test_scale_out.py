"""Nothing that must be shared is kept in a process: limits and safe retries hold across two web processes."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta

from openslot.core.config import Settings
from openslot.core.work import Runtime
from tests.support.live import connect
from tests.support.races import web_processes, wish, workday


async def test_limits_and_retries_hold_across_processes(
    settings: Settings, runtime: Runtime, bearer: dict[str, str]
) -> None:
    with web_processes(settings, limit_key=60, limit_failed_auth=5) as urls:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(connect(url, timeout=60)) for url in urls]
            body = wish("30min", workday(0) + timedelta(hours=1), 1)
            headers = {**bearer, "Idempotency-Key": "once"}
            sent = [clients[n % 2].post("/api/v1/bookings", json=body, headers=headers) for n in range(20)]
            statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
            assert set(statuses) <= {200, 409}
            assert await runtime.pool.fetchval("select count(*) from bookings") == 1
            again = await clients[1].post("/api/v1/bookings", json=body, headers=headers)
            assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")

            await runtime.pool.execute("delete from rate_log")
            asked = [clients[n % 2].get("/api/v1/me", headers=bearer) for n in range(100)]
            assert Counter(answer.status_code for answer in await asyncio.gather(*asked)) == {200: 60, 429: 40}
            wrong = [clients[n % 2].get("/api/v1/me", headers={"Authorization": "Bearer x"}) for n in range(40)]
            assert Counter(answer.status_code for answer in await asyncio.gather(*wrong)) == {401: 5, 429: 35}
