"""Every pair of those who change the time of a team's hosts, at the same moment: nothing overlaps, nothing is lost."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import chain
from pathlib import Path

import httpx2
import pytest

from openslot.doors.http.errors import status_of
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.domains.bookings.team_writers import (
    WINDOW,
    WRITERS,
    Clients,
    Meeting,
    Writer,
    book_one,
    cancel,
    drop,
    expire,
    hold_one,
    leave,
    prepare,
    reassign,
    reschedule,
    wish,
)
from tests.support.clocks import real_clock as clock
from tests.support.live import connect
from tests.support.parts import LONG, how_many
from tests.support.races import WebPair, find_disorder, split_pairs, workday
from tests.support.teams import book_team, offer, open_team

__all__ = ["clock"]

ROUNDS, PAIRS = (4, 100) if LONG else (1, 150)
ANSWERS = {200, 303, 400, 404, 409, 410, 429}


@pytest.fixture
def settings(web_pair: WebPair) -> Settings:
    """Settings of the two web processes."""
    return web_pair.settings


@pytest.fixture
async def clients(web_pair: WebPair) -> AsyncIterator[Clients]:
    """One client for each of two web processes."""
    async with AsyncExitStack() as stack:
        limits = httpx2.Limits(max_connections=100)
        yield [await stack.enter_async_context(connect(url, timeout=60, limits=limits)) for url in web_pair.urls]


async def meet(at: Meeting, *writers: Writer) -> list[int]:
    """Let writers come at the same moment; a refusal is an answer too."""

    async def come(writer: Writer) -> int:
        await asyncio.sleep(random.random() * 0.006)
        try:
            return await writer(at) or 200
        except Refusal as refusal:
            return status_of(refusal)

    return await asyncio.gather(*map(come, writers))


# Each of these meets each other one in `make test`.
CORE = (book_one, hold_one, drop, expire, cancel, reschedule, reassign, leave)
NOT_CORE = pytest.mark.rest("every pair, not only those of the core writers")
TESTED = [
    *(pytest.param(pairs, id=f"core {part}") for part, pairs in split_pairs(CORE, PAIRS).items()),
    *(pytest.param(pairs, id=part, marks=NOT_CORE) for part, pairs in split_pairs(WRITERS, PAIRS).items()),
]


@pytest.mark.spread
@pytest.mark.parametrize("pairs", TESTED)
async def test_no_pair_of_writers_costs_a_team_its_time(
    runtime: Runtime, clients: Clients, pairs: list[tuple[Writer, Writer]], postgres_log: Path
) -> None:
    for one, other in pairs:
        made = await asyncio.gather(*(prepare(runtime, clients) for _ in range(ROUNDS)))
        statuses = [await meet(at, one, other, one, other) for at in made]

        names = f"{one.__name__} and {other.__name__} answered {statuses}"
        assert set(chain.from_iterable(statuses)) <= ANSWERS, names
        assert await find_disorder(runtime.pool) == {}, names
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


@pytest.mark.rest("lets many write at once")
async def test_of_many_who_book_one_start_as_many_as_there_are_hosts_get_one_each(
    runtime: Runtime, clients: Clients, postgres_log: Path
) -> None:
    for _ in range(10 if LONG else 1):
        team = await open_team(runtime, 7, booking_window=WINDOW)
        start = workday(0)
        sent = [clients[n % 2].post("/api/bookings", json=wish(team.event_type, start)) for n in range(100)]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 7, 409: 93}
        hosts = await runtime.pool.fetch(
            "select h.user_id from booking_hosts h join bookings b on b.id = h.booking_id where b.event_type_id = $1",
            team.event_type.id,
        )
        assert {row["user_id"] for row in hosts} == {each.id for each in team.hosts}
        assert len(hosts) == 7
    assert await find_disorder(runtime.pool) == {}
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


@pytest.mark.rest("lets many write at once")
async def test_of_many_who_book_one_session_as_many_as_there_are_seats_get_one_with_the_same_hosts(
    runtime: Runtime, clients: Clients, postgres_log: Path
) -> None:
    for _ in range(10 if LONG else 1):
        team = await open_team(runtime, 5, groups=[(2, range(5))], booking_window=WINDOW, seats=7)
        await book_team(runtime, team.event_type, workday(1))
        start = workday(0)
        sent = [clients[n % 2].post("/api/bookings", json=wish(team.event_type, start)) for n in range(100)]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 7, 409: 93}
        hosts = await runtime.pool.fetch(
            """select h.user_id from booking_hosts h join bookings b on b.id = h.booking_id
            where b.event_type_id = $1 and b.starts_at = $2""",
            team.event_type.id,
            start,
        )
        assert Counter(Counter(row["user_id"] for row in hosts).values()) == {7: 2}
        claims = await runtime.pool.fetchval(
            "select count(*) from claims where event_type_id = $1 and starts_at = $2 and active",
            team.event_type.id,
            start,
        )
        assert claims == 2
    assert await find_disorder(runtime.pool) == {}
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def test_two_event_types_of_the_same_hosts_lock_them_in_one_order(
    runtime: Runtime, clients: Clients, postgres_log: Path
) -> None:
    for _ in range(how_many(4, long=20)):
        team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1]), (1, [2])], booking_window=WINDOW)
        back = await offer(
            runtime, team.id, team.owner, team.hosts, [(1, [2]), (1, [1]), (1, [0])], booking_window=WINDOW
        )
        starts = [workday(0) + timedelta(minutes=30 * n) for n in range(6)]
        sent = [
            clients[n % 2].post("/api/bookings", json=wish(event_type, start))
            for start in starts
            for n, event_type in enumerate((team.event_type, back))
        ]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 6, 409: 6}
    assert await find_disorder(runtime.pool) == {}
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")
