"""Limits of those who need no key: by address, and never at the price of a connection that others wait for."""

import asyncio
from collections import Counter

import httpx2
import msgspec
import pytest

from openslot.app import create_app
from openslot.doors.http.doors import take
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import RateLimited
from openslot.platform.core.work import Runtime
from openslot.platform.routing import RateLimit
from tests.support.live import connect, serving


@pytest.mark.parametrize(
    ("method", "path", "max_"),
    [
        ("GET", "/api/public/nobody", 120),
        ("GET", "/api/public/nobody/nothing/slots", 120),
        ("GET", "/api/public/manage/nothing", 120),
        ("POST", "/api/bookings", 10),
        ("POST", "/api/public/manage/nothing/cancel", 10),
        ("POST", "/api/public/holds", 10),
        ("DELETE", "/api/public/holds/nothing", 10),
    ],
)
async def test_an_address_may_ask_so_often_in_a_minute_and_no_more(
    client: httpx2.AsyncClient, method: str, path: str, max_: int
) -> None:
    answers = await asyncio.gather(*(client.request(method, path) for _ in range(max_ + 5)))
    refused = [answer for answer in answers if answer.status_code == 429]

    assert len(refused) == 5
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in refused)
    assert {answer.headers["access-control-allow-origin"] for answer in answers} == {"*"}


async def test_what_is_refused_by_its_body_has_been_counted(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    await client.post("/api/bookings", content=b"{", headers={"Content-Type": "application/json"})

    assert await runtime.pool.fetchval("select cardinality(stamps) from rate_log where bucket like 'book:%'") == 1


async def test_more_writers_than_connections_all_get_their_answer(settings: Settings) -> None:
    narrow = msgspec.structs.replace(settings, database_connections=2, limit_public=1000)
    async with serving(create_app(narrow)) as url, connect(url, timeout=60) as client:
        answers = await asyncio.gather(*(client.post("/api/bookings", json={}) for _ in range(30)))

    assert Counter(answer.status_code for answer in answers) == {400: 30}


async def test_requests_that_wait_together_are_each_counted_for_their_own_limit(runtime: Runtime) -> None:
    strict, loose = RateLimit("strict", 2), RateLimit("loose", 5)
    asked = [take(runtime, limit, address) for limit in (strict, loose) for address in ("a", "b") for _ in range(4)]
    answers = await asyncio.gather(*asked, return_exceptions=True)

    refused = [isinstance(answer, RateLimited) for answer in answers]
    assert refused == [False, False, True, True] * 2 + [False] * 8
    logs = await runtime.pool.fetch("select bucket, cardinality(stamps) as used from rate_log")
    assert {row["bucket"]: row["used"] for row in logs} == {"loose:a": 4, "loose:b": 4, "strict:a": 2, "strict:b": 2}
