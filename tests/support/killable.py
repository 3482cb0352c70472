"""Web processes and workers that are killed and started again, and guests who book with them until it is done."""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx2
import icalendar

from openslot.domains.availability import operations as availability
from openslot.domains.availability.models import BySlug
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.support.forked import Forked, openslot
from tests.support.live import connect
from tests.support.ports import held_port
from tests.support.radicale import Radicale

# The next reading of the calendar and the reminders are always planned.
LEFT = "select count(*) from effects where state in ('waiting', 'queued', 'running') and event_id is not null"


class Processes:
    """Processes by name, such as `web 1` and `worker 2`, of which any may be killed and is started again."""

    def __init__(
        self, settings: Settings, environment: Mapping[str, str], names: Mapping[str, int], logs: Path | None
    ) -> None:
        self.ports = [port for port in names.values() if port]
        self.workers = len(names) - len(self.ports)
        self.kills = 0
        self._names = names
        self._settings = settings
        self._environment = environment
        self._logs = logs
        self.running = {name: self._start(name) for name in names}

    def _start(self, name: str) -> Forked:
        environment = {
            **os.environ,
            "DATABASE_URL": self._settings.database_url or "",
            "OPENSLOT_DATA_DIR": str(self._settings.data_dir),
            "OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8",
            "OPENSLOT_LOG_LEVEL": "error",
            "OPENSLOT_LIMIT_KEY": "1000000",
            "OPENSLOT_PORT": str(self._names[name]),
            **self._environment,
        }
        log = self._logs / name if self._logs else None
        return Forked(
            openslot, name.split(maxsplit=1)[0], environment=environment, cwd=self._settings.data_dir, err=log
        )

    def restart(self, name: str) -> None:
        """Kill one without warning, and start it again."""
        self.running[name].kill()
        self.running[name].wait()
        self.running[name] = self._start(name)
        self.kills += 1

    async def kill_now_and_then(self, at_least: int, until: asyncio.Event) -> None:
        """Kill one after the other, so many times, and on until it is told to end."""
        while self.kills < at_least or not until.is_set():
            await asyncio.sleep(random.uniform(0.5, 2.0))
            await asyncio.to_thread(self.restart, random.choice(list(self.running)))

    def stop(self) -> None:
        """End all of them in order."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(60)


@asynccontextmanager
async def processes(
    settings: Settings, environment: Mapping[str, str], *, webs: int = 1, workers: int = 2, logs: Path | None = None
) -> AsyncIterator[Processes]:
    """Run them for the length of the `async with`; each writes a log into the directory `logs`."""
    with ExitStack() as stack:
        names = {f"web {number + 1}": stack.enter_context(held_port()) for number in range(webs)}
        names |= {f"worker {number + 1}": 0 for number in range(workers)}
        running = Processes(settings, environment, names, logs)
        try:
            yield running
        finally:
            # Those whom they talk to at the end may be in this event loop.
            await asyncio.to_thread(running.stop)


class Guests:
    """Clients of the API who ask again until they are answered, and what the service said meanwhile."""

    def __init__(self, ports: Sequence[int], headers: Mapping[str, str], *, timeout: float = 30) -> None:
        self.answers: Counter[int] = Counter()
        self.other_than_json: list[str] = []
        self.slowest = 0.0
        self._clients = [
            connect(f"http://127.0.0.1:{port}/api/v1", headers=dict(headers), timeout=timeout) for port in ports
        ]
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for client in self._clients:
            await self._stack.enter_async_context(client)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _fault: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def send(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, key: str | None = None
    ) -> httpx2.Response | None:
        """Send a request to any of the web processes and note how it was answered; None: not at all."""
        began = time.monotonic()
        headers = {"Idempotency-Key": key} if key else {}
        try:
            answer = await random.choice(self._clients).request(method, path, json=body, headers=headers)
        except httpx2.TimeoutException:
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.answers[0] += 1
            return None
        except httpx2.TransportError:
            self.answers[0] += 1
            return None
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.answers[answer.status_code] += 1
        if not answer.headers.get("content-type", "").startswith("application/json"):
            self.other_than_json.append(answer.text[:200])
        return answer

    async def ask(self, method: str, path: str, body: dict[str, Any], *, key: str) -> Any:
        """Send a request under one key until it is answered: the web process may be gone at any moment."""
        while True:
            answer = await self.send(method, path, body, key=key)
            if answer is not None and answer.status_code < 500 and "in progress" not in answer.text:
                assert answer.is_success, answer.text
                return answer.json()
            await asyncio.sleep(0.1)

    async def book(self, number: int, starts: Sequence[datetime]) -> UUID:
        """Book; reschedule every third and cancel every fifth booking soon after."""
        wanted = {
            "eventTypeSlug": "short",
            "startTime": iso(starts[2 * number]),
            "inviteeName": f"Guest {number}",
            "inviteeEmail": f"guest{number}@okafor.example",
            "inviteeTimezone": "UTC",
        }
        booking = (await self.ask("POST", "/bookings", wanted, key=f"book {number}"))["bookingId"]
        await asyncio.sleep(random.uniform(0, 0.3))
        if number % 3 == 0:
            moved = {"newStartTime": iso(starts[2 * number + 1])}
            await self.ask("PATCH", f"/bookings/{booking}/reschedule", moved, key=f"move {number}")
        if number % 5 == 0:
            await self.ask("POST", f"/bookings/{booking}/cancel", {}, key=f"cancel {number}")
        return UUID(booking)


async def wait_until_ready(runtime: Runtime, running: Processes, headers: Mapping[str, str]) -> None:
    """Wait until every web process answers and every worker has sent a heartbeat: a slow machine starts them slowly."""
    async with asyncio.timeout(120):
        for port in running.ports:
            async with Guests([port], headers) as guest:
                while (answer := await guest.send("GET", "/me")) is None or answer.status_code != 200:
                    await asyncio.sleep(0.1)
        while await runtime.pool.fetchval("select count(*) from worker_beats") < running.workers:
            await asyncio.sleep(0.1)


def count_told(bookings: int) -> int:
    """Tell how many events so many bookings are."""
    return bookings + len(range(0, bookings, 3)) + len(range(0, bookings, 5))


async def list_starts(runtime: Runtime, user_id: UUID, count: int) -> list[datetime]:
    """List so many open starts of the event type `short`."""
    starts: list[datetime] = []
    first = datetime.now(UTC).date() + timedelta(days=1)
    while len(starts) < count:
        _, slots, _ = await availability.list_open_slots(
            runtime.work(OPERATOR),
            BySlug(user_id, "short"),
            timezone="UTC",
            first=first,
            last=first + timedelta(days=6),
        )
        starts += [datetime.fromtimestamp(start, UTC) for start in slots.starts]
        first += timedelta(days=7)
    return starts[:count]


async def wait_until_done(runtime: Runtime, *, within: float) -> float:
    """Wait until every effect of an event is finished, and tell how many seconds that took."""
    began = time.monotonic()
    async with asyncio.timeout(within):
        while await runtime.pool.fetchval(LEFT):
            await asyncio.sleep(0.2)
    return time.monotonic() - began


async def read_events(radicale: Radicale, calendar: str) -> dict[str, Any]:
    """Read every event of a calendar as another client, by the name of its file."""
    found = {}
    for name in await radicale.names(calendar):
        text = (await radicale.send("GET", f"{calendar}{name}")).text
        (found[name],) = icalendar.Calendar.from_ical(text).walk("VEVENT")
    return found
