"""Holding up: order per booking, a tarpit that delays nobody, and processes that are killed at any moment."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from openslot.access import operations as access
from openslot.accounts.models import User
from openslot.core.actor import OPERATOR
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.jobs.standings import AT_ONCE
from openslot.jobs.worker import run_worker
from openslot.runtime import open_runtime
from tests.bookings.test_races import wish, workday
from tests.live import connect
from tests.webhooks.conftest import Add, Happen, live_through, until
from tests.webhooks.receiver import Receiver, answering, receiving, tarpit

LONG = bool(os.environ.get("OPENSLOT_LONG"))
EVENTS, A_SECOND = (500, 20) if LONG else (60, 10)
BOOKINGS, KILLS = (300, 40) if LONG else (30, 4)
OTHERS_WITHIN = 5.0


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """Open a runtime on the real clock, as workers have it."""
    async with open_runtime(settings) as opened:
        yield opened


@asynccontextmanager
async def working(runtime: Runtime) -> AsyncIterator[None]:
    """Keep a worker running."""
    stop = asyncio.Event()
    task = asyncio.create_task(run_worker(runtime, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, 60)


async def test_what_happens_to_a_booking_arrives_in_order_though_a_try_fails(
    runtime: Runtime, user: User, add: Add
) -> None:
    taken: list[tuple[str, str]] = []
    async with receiving() as receiver:

        async def fail_once(writer: asyncio.StreamWriter) -> None:
            got = receiver.got[-1].json
            first = len([one for one in receiver.got if one.id == got["id"]]) == 1
            if first and got["type"] == "booking.created" and got["data"]["inviteeEmail"].startswith("jonas0"):
                await answering(500)(writer)
                return
            taken.append((got["data"]["id"], got["type"]))
            await answering(200)(writer)

        receiver.behaviour = fail_once
        await add(receiver.url, "booking.created", "booking.rescheduled", "booking.cancelled")
        made = [await live_through(runtime, user, workday(number), number) for number in range(4)]
        async with working(runtime):
            await until(lambda: len(taken) == 12, within=60)

    for booking_id in made:
        told = [kind for subject, kind in taken if subject == str(booking_id)]
        assert told == ["booking.created", "booking.rescheduled", "booking.cancelled"]
    assert [subject for subject, _ in taken[-3:]] == [str(made[0])] * 3, "the others did not wait"


async def test_a_tarpit_delays_nobody_else(runtime: Runtime, user: User, add: Add, happen: Happen) -> None:
    async with receiving(tarpit) as pit, receiving() as one, receiving() as other:
        for receiver in (pit, one, other):
            await add(receiver.url)
        loop = asyncio.get_running_loop()
        happened: dict[str, float] = {}
        async with working(runtime):
            for _ in range(EVENTS):
                contact = await happen()
                happened[str(contact.id)] = loop.time()
                await asyncio.sleep(1 / A_SECOND)
            await until(lambda: min(len(one.got), len(other.got)) >= EVENTS, within=60)
            inside = pit.most_inside
            await runtime.pool.execute("update webhook_endpoints set state = 'paused' where url = $1", pit.url)

        waits = sorted(got.at - happened[got.json["data"]["id"]] for each in (one, other) for got in each.got)
        print(f"waited: p50 {waits[len(waits) // 2]:.2f} s, p95 {waits[int(len(waits) * 0.95)]:.2f} s")  # noqa: T201
        assert waits[int(len(waits) * 0.95)] <= OTHERS_WITHIN
        assert 1 <= inside <= AT_ONCE
        for each in (one, other):
            assert len({got.id for got in each.got}) == len(each.got) == EVENTS


class Process:
    """A web or a worker that can be killed and comes back."""

    def __init__(self, settings: Settings, *command: str, port: int = 0) -> None:
        self.command = [sys.executable, "-m", "openslot", *command]
        self.environment = {
            **os.environ,
            "DATABASE_URL": settings.database_url or "",
            "OPENSLOT_DATA_DIR": str(settings.data_dir),
            "OPENSLOT_PORT": str(port),
            "OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8",
            "OPENSLOT_LIMIT_KEY": "1000000",
            "OPENSLOT_LOG_LEVEL": "error",
        }
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, env=self.environment, cwd=Path(__file__).parents[2])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


async def book_until_it_is_acknowledged(url: str, key: dict[str, str], number: int) -> str:
    start = workday(number // 16) + timedelta(minutes=30 * (number % 16))
    headers = {**key, "Idempotency-Key": f"kill-{number}"}
    async with asyncio.timeout(240):
        while True:
            try:
                async with connect(url, timeout=20) as client:
                    answer = await client.post("/api/v1/bookings", json=wish("30min", start, number), headers=headers)
                if answer.status_code == 200:
                    return str(answer.json()["bookingId"])
                assert answer.status_code in {409, 503}, answer.text
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(0.2)


async def kill_at_random(processes: list[Process], done: asyncio.Event) -> int:
    """Kill one after the other, and start it again, until all is booked and enough have died."""
    kills = 0
    while kills < KILLS or not done.is_set():
        await asyncio.sleep(random.uniform(1.0, 4.0))
        victim = random.choice(processes)
        victim.kill()
        victim.start()
        kills += 1
    return kills


async def test_every_event_arrives_under_one_id_though_web_and_worker_are_killed(
    runtime: Runtime, user: User, settings: Settings, receiver: Receiver, add: Add
) -> None:
    await add(receiver.url)
    async with runtime.transaction(OPERATOR) as work:
        made, _ = await access.create_api_key(work, user, name="kill")
    key = {"Authorization": f"Bearer {made}"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    processes = [Process(settings, "web", port=port), Process(settings, "worker"), Process(settings, "worker")]
    done = asyncio.Event()
    killing = asyncio.create_task(kill_at_random(processes, done))
    try:
        places = asyncio.Semaphore(4)

        async def book(number: int) -> str:
            async with places:
                return await book_until_it_is_acknowledged(f"http://127.0.0.1:{port}", key, number)

        booked = await asyncio.gather(*(book(number) for number in range(BOOKINGS)))
        done.set()
        kills = await killing
        events = await runtime.pool.fetch("select id, type, subject_id from events where public is not null")
        expected = {str(row["id"]) for row in events}
        await until(lambda: expected <= {got.id for got in receiver.got}, within=120)
    finally:
        killing.cancel()
        for each in processes:
            each.kill()

    created = {str(row["subject_id"]) for row in events if row["type"] == "booking.created"}
    ids: dict[str, set[str]] = {}
    for got in receiver.got:
        ids.setdefault(f"{got.json['type']} {got.json['data']['id']}", set()).add(got.id)
    twice = sum(count - 1 for count in Counter(got.id for got in receiver.got).values())
    print(f"{kills} kills, {len(events)} events, {twice} arrived more than once")  # noqa: T201
    assert set(booked) == created
    assert len(booked) == len(created) == BOOKINGS
    assert len(ids) == len(events)
    assert all(len(each) == 1 for each in ids.values())
    assert len({got.body for got in receiver.got}) == len(events)
