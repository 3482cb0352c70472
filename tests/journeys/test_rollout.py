"""A release is rolled out while people book: processes of both work side by side, and nothing is lost."""

import asyncio
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import httpx2
import pytest
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import RollingWindow
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.forked import Forked
from tests.support.live import connect
from tests.support.loopback import settings
from tests.support.ports import hold_port
from tests.support.races import FREE, check_order, iso, wish, workday
from tests.support.receiver import Receiver, receiving
from tests.support.release import MORE_MIGRATIONS, TAKE_NOTE, run_release

__all__ = ["settings"]

pytestmark = pytest.mark.own_database

WITHIN = 120.0
HANDED_OVER = "select count(*) from effects where last_error like 'waits for a worker that knows%'"
# Reminders are planned for days ahead, and dropped with their bookings.
BUT_REMINDERS = "reaction <> 'mail.remind'"
UNFINISHED = f"select count(*) from effects where state in ('waiting', 'queued', 'running') and {BUT_REMINDERS}"
AT_WORK = "select count(*) from worker_beats where beat_at > now() - interval '15 seconds'"
DEAD = "select count(*) from effects where state = 'dead'"


class Web(Struct, frozen=True, eq=False):
    """A web process and a client of it."""

    release: str
    process: Forked
    client: httpx2.AsyncClient


class Rollout:
    """The processes of both releases on one database, and the people who book all the while."""

    def __init__(self, settings: Settings, key: dict[str, str]) -> None:
        self.settings = settings
        self.key = key
        self.webs: list[Web] = []
        self.started: list[Forked] = []
        self.statuses: Counter[int] = Counter()
        self.accepted: Counter[str] = Counter()
        self.rounds = 0
        self.turns = 0
        self.is_over = False
        self.ports: list[socket.socket] = []
        self.under_way: Counter[Web] = Counter()

    async def start_web(self, release: str) -> Web:
        """Start a web process, wait until it is ready, and send people to it."""
        self.ports.append(hold_port())
        port = self.ports[-1].getsockname()[1]
        process = self._start(release, "web", OPENSLOT_PORT=str(port))
        web = Web(release, process, connect(f"http://127.0.0.1:{port}", timeout=60))
        await until(lambda: is_ready(web))
        self.webs.append(web)
        return web

    async def stop_web(self, web: Web) -> None:
        """Send nobody to it any more, wait for what it is asked, as every proxy does, and let it finish."""
        self.webs.remove(web)
        await until(lambda: not self.under_way[web])
        await end(web.process)
        await web.client.aclose()

    def start_worker(self, release: str) -> Forked:
        """Start a worker."""
        return self._start(release, "worker")

    async def book_all_the_while(self) -> None:
        """Book, look, move and sometimes cancel, each at the next process in turn."""
        while not self.is_over:
            number, self.rounds = self.rounds, self.rounds + 1
            start = workday(number // 8) + timedelta(hours=number % 8)
            made = await self._send("POST", "/api/v1/bookings", wish("visit", start, number))
            path = f"/api/v1/bookings/{made.json().get('bookingId')}"
            await self._send("GET", "/api/v1/bookings", None)
            await self._send("PATCH", f"{path}/reschedule", {"newStartTime": iso(start + timedelta(minutes=30))})
            if number % 3 == 0:
                await self._send("POST", f"{path}/cancel", None)
            await asyncio.sleep(0.3)

    async def more_rounds(self, count: int) -> None:
        """Wait until so many more have booked."""
        wanted = self.rounds + count
        await until(lambda: self.rounds >= wanted)

    async def clean_up(self) -> None:
        """End whatever still runs, at once: how processes end in order is tested elsewhere."""
        for process in self.started:
            process.kill()
            await asyncio.to_thread(process.wait, 60)
        for web in self.webs:
            await web.client.aclose()
        for held in self.ports:
            held.close()

    def _start(self, release: str, kind: str, **more: str) -> Forked:
        environment = {
            **os.environ,
            "DATABASE_URL": self.settings.database_url or "",
            "OPENSLOT_DATA_DIR": str(self.settings.data_dir),
            "OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8",
            "OPENSLOT_LIMIT_KEY": str(FREE),
            "OPENSLOT_LOG_LEVEL": "error",
            **more,
        }
        process = Forked(run_release, release, kind, environment=environment)
        self.started.append(process)
        return process

    async def _send(self, method: str, path: str, body: object) -> httpx2.Response:
        self.turns += 1
        web = self.webs[self.turns % len(self.webs)]
        self.under_way[web] += 1
        answer = await web.client.request(method, path, json=body, headers=self.key)
        self.under_way[web] -= 1
        self.statuses[answer.status_code] += 1
        self.accepted[web.release] += method != "GET" and answer.status_code == 200
        return answer


async def end(process: Forked) -> None:
    """Ask a process to end, and wait for it."""
    process.terminate()
    await asyncio.to_thread(process.wait, 60)


async def is_ready(web: Web) -> bool:
    """Ask a web process whether it is ready."""
    assert web.process.poll() is None
    with suppress(httpx2.TransportError):
        return (await web.client.get("/readyz")).status_code == 200
    return False


async def until(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(WITHIN):
        while True:
            answer = condition()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.2)


async def until_found(runtime: Runtime, sql: str, is_enough: Callable[[int], bool]) -> None:
    """Wait until the database counts enough."""

    async def look() -> bool:
        return is_enough(await runtime.pool.fetchval(sql))

    await until(look)


@asynccontextmanager
async def rolling_out(settings: Settings, key: dict[str, str]) -> AsyncIterator[Rollout]:
    """Let people book for as long as it lasts, and leave no process behind."""
    rollout = Rollout(settings, key)
    try:
        yield rollout
    finally:
        await rollout.clean_up()


@asynccontextmanager
async def booking(rollout: Rollout) -> AsyncIterator[None]:
    """Let people book meanwhile; a request that fails altogether fails the test."""
    async with asyncio.TaskGroup() as group:
        group.create_task(rollout.book_all_the_while())
        yield
        rollout.is_over = True


@pytest.fixture
async def receiver(runtime: Runtime, user: User) -> AsyncIterator[Receiver]:
    """Somebody who is told of every booking of the host."""
    await offer(runtime, user, "visit", booking_window=RollingWindow(365))
    async with receiving() as opened:
        async with runtime.transaction(OPERATOR) as work:
            await webhooks.add_endpoint(work, user, EndpointWanted(url=opened.url, events=()))
        yield opened


async def test_a_release_is_rolled_out_while_people_book(
    settings: Settings, runtime: Runtime, bearer: dict[str, str], receiver: Receiver
) -> None:
    async with rolling_out(settings, bearer) as rollout:
        old_worker = rollout.start_worker("old")
        old_web = await rollout.start_web("old")
        async with booking(rollout):
            await rollout.more_rounds(5)
            # The new release migrates under the old one's feet; the old one stays ready, and can be started again.
            await rollout.start_web("new")
            assert await applied(runtime) >= set(MORE_MIGRATIONS)
            again = await rollout.start_web("old")
            second_worker = rollout.start_worker("old")
            await until_found(runtime, AT_WORK, lambda count: count == 2)
            await until_found(runtime, HANDED_OVER, lambda count: count >= 5)
            assert [await is_ready(web) for web in rollout.webs] == [True, True, True]
            rollout.start_worker("new")
            await until_found(runtime, AT_WORK, lambda count: count == 3)
            await rollout.more_rounds(10)
            for web in (old_web, again):
                await rollout.stop_web(web)
            await rollout.more_rounds(5)
            for worker in (old_worker, second_worker):
                assert await runtime.pool.fetchval(DEAD) == 0
                await end(worker)
            await rollout.more_rounds(5)
        await until_found(runtime, UNFINISHED, lambda count: count == 0)

    assert set(rollout.statuses) == {200}
    assert min(rollout.accepted["old"], rollout.accepted["new"]) > 20
    assert await runtime.pool.fetchval(f"select count(*) from effects where state <> 'done' and {BUT_REMINDERS}") == 0
    assert await runtime.pool.fetchval("select max(attempts) from effects") == 1
    await check_order(runtime)
    await check_notes(runtime, rollout)
    await check_deliveries(runtime, receiver)


async def test_workers_that_bury_what_they_do_not_know_would_lose_it(
    settings: Settings, runtime: Runtime, bearer: dict[str, str], receiver: Receiver
) -> None:
    """The journey sees what it is there to see: the same with a worker as it must not be."""
    async with rolling_out(settings, bearer) as rollout:
        rollout.start_worker("burying")
        await rollout.start_web("new")
        async with booking(rollout):
            await until_found(runtime, DEAD, lambda count: count >= 1)
        rollout.start_worker("new")
        await until_found(runtime, UNFINISHED, lambda count: count == 0)

    noted = await runtime.pool.fetchval("select count(*) from rollout_notes")
    lost = await runtime.pool.fetchval(DEAD)
    assert lost > 0
    assert noted == rollout.accepted["new"] - lost
    assert receiver.got


async def applied(runtime: Runtime) -> set[str]:
    return {row["name"] for row in await runtime.pool.fetch("select name from migrations")}


async def check_notes(runtime: Runtime, rollout: Rollout) -> None:
    """Every change that a new process has accepted was noted once, and those of one booking in their order."""
    rows = await runtime.pool.fetch("select booking_id, event_type from rollout_notes order by no")
    assert len(rows) == rollout.accepted["new"]
    noted: dict[str, list[str]] = {}
    for row in rows:
        noted.setdefault(row["booking_id"], []).append(row["event_type"])
    order = ["booking.created", "booking.rescheduled", "booking.cancelled"]
    assert all(types == [each for each in order if each in types] for types in noted.values())
    wanted = f"select count(*) from effects where reaction = '{TAKE_NOTE.name}' and state = 'done'"
    assert await runtime.pool.fetchval(wanted) == rollout.accepted["new"]


async def check_deliveries(runtime: Runtime, receiver: Receiver) -> None:
    """Every event of a booking, whoever has accepted it, has reached the one who is told of them."""
    rows = await runtime.pool.fetch("select id from events where public is not null")
    assert {str(row["id"]) for row in rows} == {received.id for received in receiver.got}
