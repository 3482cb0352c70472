"""Effects: how many a worker drains a second to a local sink, and how soon a webhook comes when nothing else is on."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import uvloop
from msgspec.structs import replace

from benchmarks.drain import Reading, read_used
from benchmarks.stage import Stage, free_port, running, stage
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.environment import load_settings
from openslot.platform.core.migrate import migrate
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime

OWNERS = 50
EVENTS = 2_000
# The first second is the worker's own start; the queue is long enough to be measured after it.
STARTED = EVENTS // 10
ALONE = 60
# Each event is expanded by one effect and delivered by another.
EFFECTS_AN_EVENT = 2


class Sink:
    """Takes every delivery, and remembers when it came."""

    def __init__(self) -> None:
        self.came_at: list[float] = []
        self._came = asyncio.Event()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """OutboundResponse each request on a connection with 200."""
        while head := await _read_head(reader):
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            self.came_at.append(time.perf_counter())
            self._came.set()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def wait_for(self, count: int) -> None:
        """Wait until so many have come."""
        while len(self.came_at) < count:
            self._came.clear()
            await self._came.wait()


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def main() -> None:
    """Fill the queue, let one worker empty it, then send one by one; print both figures."""
    os.environ["OPENSLOT_OUTBOUND_ALLOW"] = "127.0.0.0/8"
    with stage() as here:
        uvloop.run(_measure(here))


async def _measure(here: Stage) -> None:
    await migrate(here.url)
    sink, port = Sink(), free_port()
    server = await asyncio.start_server(sink.take, "127.0.0.1", port)
    async with server, open_runtime_at(here) as runtime:
        owners = [await _make_owner(runtime, number, port) for number in range(OWNERS)]
        for number in range(EVENTS):
            await happen(runtime, owners[number % OWNERS], f"drained{number}")
        with running(["openslot", "worker"], None, here) as worker:
            connection = await asyncpg.connect(here.url)
            await sink.wait_for(STARTED)
            before = await read_used(connection, worker)
            await sink.wait_for(EVENTS)
            after = await read_used(connection, worker)
            await connection.close()
            await _print_drained(runtime, sink)
            _print_used(before, after)
            await _print_alone(runtime, owners, sink)


@asynccontextmanager
async def open_runtime_at(here: Stage) -> AsyncIterator[Runtime]:
    settings = replace(load_settings(), database_url=here.url, data_dir=here.data_dir)
    async with open_runtime(settings) as runtime:
        yield runtime


async def _make_owner(runtime: Runtime, number: int, port: int) -> User:
    async with runtime.transaction(OPERATOR) as work:
        owner = await people.welcome_user(
            work, UserWanted(email=f"o{number}@bench.example", name="Owner", plan=Plan.PRO)
        )
        await webhooks.add_endpoint(work, owner, EndpointWanted(url=f"http://127.0.0.1:{port}/hook"))
    return owner


async def happen(runtime: Runtime, owner: User, name: str) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await contacts.add_contact(
            work, owner, ContactWanted(name=Name(name), email=EmailAddress(f"{name}@bench.example"))
        )


async def _print_drained(runtime: Runtime, sink: Sink) -> None:
    first, last = sink.came_at[STARTED], sink.came_at[EVENTS - 1]
    per_second = (EVENTS - STARTED) * EFFECTS_AN_EVENT / (last - first)
    left = await runtime.pool.fetchval("select count(*) from effects where state = 'dead'")
    print(f"drained by one worker: {per_second:.0f} effects a second, {left} dead (target 500)", flush=True)


def _print_used(before: Reading, after: Reading) -> None:
    effects = (EVENTS - STARTED) * EFFECTS_AN_EVENT
    worker, database = (after.worker - before.worker) / effects, (after.database - before.database) / effects
    print(f"processor time of an effect: worker {worker:.0f} µs, PostgreSQL {database:.0f} µs", flush=True)


async def _print_alone(runtime: Runtime, owners: list[User], sink: Sink) -> None:
    waits = []
    for number in range(ALONE):
        await asyncio.sleep(0.1)
        before = len(sink.came_at)
        await happen(runtime, owners[number % OWNERS], f"alone{number}")
        committed = time.perf_counter()
        await sink.wait_for(before + 1)
        waits.append(sink.came_at[-1] - committed)
    waits.sort()
    print(f"commit to webhook, idle: p50 {waits[ALONE // 2]:.3f} s, p95 {waits[ALONE * 95 // 100]:.3f} s (target 1 s)")


if __name__ == "__main__":
    main()
