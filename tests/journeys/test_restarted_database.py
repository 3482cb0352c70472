"""PostgreSQL is killed again and again while people book: nothing acknowledged is lost, and the service comes back."""

import asyncio
import os
import signal
import time
from datetime import timedelta
from typing import Any

import asyncpg
import httpx2
from msgspec import Struct, field

from openslot.platform.core.embedded import find_server
from tests.cli.conftest import furnished, home, home_dir, seeded  # noqa: F401 - fixtures
from tests.support.installation import Installation
from tests.support.parts import LONG
from tests.support.races import OVERLAPS, wish, workday

# The short count runs beside other tests, which take the processor from it.
KILLS, BACK_WITHIN = (10, 10.0) if LONG else (2, 30.0)
CLIENTS = 4
# More times than a fast machine can book meanwhile.
A_YEAR_AHEAD = """
update event_types set booking_window = '{"type": "rolling", "days": 365}' where slug = 'intro-call'"""


class Counted(Struct):
    """What the people who book have seen."""

    acknowledged: list[str] = field(default_factory=list)
    last_asked: float = 0.0
    """When the newest one of those that were acknowledged was asked for."""
    answers: list[httpx2.Response] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    away: list[float] = field(default_factory=list)
    """For how many seconds nobody could book after each kill."""
    is_over: bool = False


async def book_all_the_while(client: httpx2.AsyncClient, headers: dict[str, str], number: int, seen: Counted) -> None:
    """Book one slot after the other, each under its own key until it is answered."""
    turn = 0
    while not seen.is_over:
        place = turn * CLIENTS + number
        start = workday(place // 16) + timedelta(minutes=30 * (place % 16))
        again, asked = {**headers, "Idempotency-Key": f"restart {place}"}, time.monotonic()
        try:
            answer = await client.post("/api/v1/bookings", json=wish("intro-call", start, place), headers=again)
        except httpx2.TransportError as fault:
            seen.unanswered.append(repr(fault))
        else:
            seen.answers.append(answer)
            if answer.status_code < 500:
                turn += 1
            if answer.status_code == 200:
                seen.acknowledged.append(answer.json()["bookingId"])
                seen.last_asked = max(seen.last_asked, asked)
        await asyncio.sleep(0.02)


async def kill_now_and_then(home: Installation, seen: Counted) -> None:  # noqa: F811
    for _ in range(KILLS):
        await asyncio.sleep(1)
        os.kill(home.postmaster(), signal.SIGKILL)
        began = time.monotonic()
        async with asyncio.timeout(60):
            while seen.last_asked <= began:
                await asyncio.sleep(0.02)
        seen.away.append(time.monotonic() - began)
    seen.is_over = True


async def test_nothing_acknowledged_is_lost_when_postgresql_is_killed(
    home: Installation,  # noqa: F811
    seeded: dict[str, Any],  # noqa: F811
) -> None:
    home.environment |= {"OPENSLOT_LIMIT_KEY": "1000000"}
    home.start("serve")
    await asyncio.to_thread(home.wait_until_ready)
    connection = await asyncpg.connect(find_server(home.data_dir))
    await connection.execute(A_YEAR_AHEAD)
    await connection.close()
    seen = Counted()
    headers = {"Authorization": f"Bearer {seeded['apiKey']}"}
    async with httpx2.AsyncClient(base_url=home.base_url, timeout=30) as client:
        people = [book_all_the_while(client, headers, number, seen) for number in range(CLIENTS)]
        await asyncio.gather(kill_now_and_then(home, seen), *people)
    connection = await asyncpg.connect(find_server(home.data_dir))
    found = {str(row["id"]) for row in await connection.fetch("select id from bookings where status = 'CONFIRMED'")}
    overlaps = await connection.fetchval(OVERLAPS)
    await connection.close()

    assert len(seen.acknowledged) > KILLS
    assert set(seen.acknowledged) - found == set()
    assert overlaps == 0
    assert max(seen.away) < BACK_WITHIN, seen.away
    assert seen.unanswered == []
    statuses = {answer.status_code for answer in seen.answers}
    assert statuses <= {200, 400, 409, 503}, statuses
    assert all(answer.json() for answer in seen.answers)
