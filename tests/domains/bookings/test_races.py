"""Nothing is booked twice: many clients, two web processes, one database."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.agent import TestAgent, make_key
from tests.support.clocks import real_clock as clock
from tests.support.live import connect
from tests.support.parts import LONG, how_many
from tests.support.races import WebPair, check_order, iso, wish, workday

__all__ = ["clock"]

ROUNDS, CLIENTS = how_many(3, long=200), 50
# In the first 40 nothing is there yet that could be moved.
MIXED = max(80, how_many(160, long=3000))
SEAT_ROUNDS, SEAT_CLIENTS = how_many(2, long=50), 100 if LONG else 50
# What an agent's tool refuses with, and the status that the API has for it.
STATUSES = {"slot_unavailable": 409, "booking_already_cancelled": 409, "invalid_start_time": 400}

Clients = list[httpx2.AsyncClient]


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


@pytest.fixture
async def key(runtime: Runtime, user: User) -> dict[str, str]:
    """A key of the host."""
    async with runtime.transaction(OPERATOR) as work:
        made, _ = await access.create_api_key(work, user, name="race")
        return {"Authorization": f"Bearer {made}"}


async def test_of_many_clients_one_gets_the_slot(clients: Clients, key: dict[str, str], runtime: Runtime) -> None:
    for number in range(ROUNDS):
        start = workday(number // 16 % 40) + timedelta(minutes=30 * (number % 16))
        sent = [
            clients[n % 2].post("/api/v1/bookings", json=wish("30min", start, n), headers=key) for n in range(CLIENTS)
        ]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 1, 409: CLIENTS - 1}
    await check_order(runtime)
    assert await runtime.pool.fetchval("select count(*) from bookings") == ROUNDS


async def test_shifted_lengths_buffers_moves_and_cancels_never_overlap(
    clients: Clients, key: dict[str, str], runtime: Runtime, user: User, postgres_log: Path
) -> None:
    await offer(runtime, user, "short", duration_minutes=15, slot_interval_minutes=15)
    await offer(runtime, user, "long", duration_minutes=90, slot_interval_minutes=15, buffer_after=15)
    await offer(runtime, user, "padded", duration_minutes=30, slot_interval_minutes=15, buffer_before=15)
    agents = [TestAgent(client, await make_key(runtime, "orchestrator")) for client in clients]
    chance = random.Random(7)
    made: list[str] = []

    async def act(number: int) -> tuple[str, int]:
        client = clients[number % 2]
        start = workday(chance.randrange(2)) + timedelta(minutes=15 * chance.randrange(28))
        choice = chance.random()
        if choice < 0.4 or not made:
            slug = chance.choice(["short", "long", "padded"])
            answer = await client.post("/api/v1/bookings", json=wish(slug, start, number), headers=key)
            if answer.status_code == 200:
                made.append(answer.json()["bookingId"])
            return "booked", answer.status_code
        if choice < 0.6:
            path = f"/api/v1/bookings/{chance.choice(made)}/reschedule"
            answer = await client.patch(path, json={"newStartTime": iso(start)}, headers=key)
            return "moved", answer.status_code
        if choice < 0.8:
            return "moved by an agent", await move_as_agent(agents[number % 2], chance.choice(made), iso(start))
        # Others may be moving it at this moment; afterwards nobody tries to.
        booking_id = made.pop(chance.randrange(len(made)))
        return "cancelled", (await client.post(f"/api/v1/bookings/{booking_id}/cancel", headers=key)).status_code

    answers: Counter[tuple[str, int]] = Counter()
    for begin in range(0, MIXED, 40):
        answers.update(await asyncio.gather(*(act(begin + n) for n in range(40))))
        await check_order(runtime)
        # The limit of an agent's key is not what is tested here.
        await runtime.pool.execute("delete from rate_log")
    assert {status for _, status in answers} <= {200, 400, 409}, answers
    # Most moves are refused: of few, all of one kind may be.
    done = {did: answers[did, 200] for did in ("booked", "moved", "moved by an agent", "cancelled")}
    done["moved"] += done.pop("moved by an agent")
    assert min(done.values()) > MIXED // 100, answers
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def move_as_agent(agent: TestAgent, booking_id: str, start: str) -> int:
    """Reschedule by the agents' tool, and tell which status the API would have answered with."""
    answer = await agent.call("reschedule_booking", bookingId=booking_id, newStartTime=start, confirm=True)
    told = answer["result"]
    return STATUSES[told["structuredContent"]["error"]["code"]] if told["isError"] else 200


async def test_seats_are_given_out_exactly(clients: Clients, key: dict[str, str], runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "group", seats=7)
    for number in range(SEAT_ROUNDS):
        start = workday(number // 8) + timedelta(hours=number % 8)
        sent = [
            clients[n % 2].post("/api/v1/bookings", json=wish("group", start, n), headers=key)
            for n in range(SEAT_CLIENTS)
        ]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 7, 409: SEAT_CLIENTS - 7}
    await check_order(runtime)


async def test_two_bookings_that_want_each_others_time_hold_one_slot_each(
    clients: Clients, key: dict[str, str], runtime: Runtime
) -> None:
    starts = [workday(0) + timedelta(minutes=30 * n) for n in range(3)]
    made = []
    for n in range(2):
        answer = await clients[0].post("/api/v1/bookings", json=wish("30min", starts[n], n), headers=key)
        made.append(answer.json()["bookingId"])
    statuses: Counter[int] = Counter()
    cut_off = 0
    for number in range(how_many(25, long=500)):
        moves = [
            clients[n].patch(
                f"/api/v1/bookings/{made[n]}/reschedule",
                json={"newStartTime": iso(random.choice(starts))},
                headers=key,
            )
            for n in range(2)
        ]
        # Now and then the database ends whatever is being written, at any moment of it.
        cutting = asyncio.create_task(cut_off_writers(runtime) if number % 3 == 0 else asyncio.sleep(0, 0))
        statuses.update(answer.status_code for answer in await asyncio.gather(*moves))
        cut_off += await cutting
        await check_order(runtime)
    assert set(statuses) <= {200, 409, 503}, statuses
    assert statuses[200] > statuses[503], statuses
    # In a few rounds they may all have been too quick.
    assert cut_off > 0 or not LONG
    assert await runtime.pool.fetchval("select count(distinct starts_at) from bookings") == 2


async def cut_off_writers(runtime: Runtime) -> int:
    """End the connections of all others that are in a transaction a moment from now, and count them."""
    await asyncio.sleep(random.uniform(0, 0.03))
    return len(
        await runtime.pool.fetch(
            """select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null"""
        )
    )
