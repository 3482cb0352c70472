"""Processor time that one request costs the web process and PostgreSQL: steadier than speed on a shared machine."""

import asyncio
import sys
import time
from collections.abc import Iterable
from itertools import cycle

import asyncpg
import uvloop
from msgspec import Struct

from benchmarks.data import BenchmarkData, list_made, set_up
from benchmarks.load import Tally, get, run_load
from benchmarks.operations import Operation, changes, moves, operations
from benchmarks.stage import Server, Stage, bare, ceiling, service, stage
from benchmarks.turns import CEILING_REQUESTS

BOOKINGS = 10_000
TURNS = 10
CEILING_COUNT = 800
# Turns in which another process had the caches are left out: the cheaper ones are averaged.
KEPT_TURNS = 4
# Sent to a bare app.
FLOOR = Operation(name="the rows of a booking, and nothing else", requests=cycle([get("/")]), count=1_500)
HEAD = f"{'operation':<40}{'web':>8}{'database':>10}{'ceiling':>9}{'database':>10}{'times':>8}"
BACKENDS = """
select pid from pg_stat_activity
where backend_type = 'client backend' and pid <> pg_backend_pid() and (application_name = 'openslot') = $1"""


class Cost(Struct, frozen=True):
    """Microseconds of processor time a request."""

    web: float
    database: float


class Measured:
    """A server, and the connections to PostgreSQL that are its own."""

    def __init__(self, server: Server, url: str, *, is_service: bool) -> None:
        self.server = server
        self._url = url
        self._is_service = is_service

    async def take_turn(self, requests: Iterable[bytes], *, count: int) -> Cost:
        """Send requests, and divide what they have cost."""
        web, backends, tally = used_by(self.server.pid), await self._read_backends(), Tally()
        await run_load(self.server.port, requests, tally, count=count)
        if set(tally.statuses) != {200}:
            raise SystemExit(f"the server answered {tally.statuses}")
        # Connections are opened when they are needed, and what that costs is counted with them.
        database = sum(used - backends.get(pid, 0.0) for pid, used in (await self._read_backends()).items())
        return Cost((used_by(self.server.pid) - web) / count, database / count)

    async def _read_backends(self) -> dict[int, float]:
        connection = await asyncpg.connect(self._url)
        pids = [row["pid"] for row in await connection.fetch(BACKENDS, self._is_service)]
        await connection.close()
        return {pid: used_by(pid) for pid in pids}


def main() -> None:
    """Measure every operation and print the table."""
    bookings = int(sys.argv[1]) if len(sys.argv) > 1 else BOOKINGS
    with stage() as here:
        data = asyncio.run(set_up(here.url, bookings=bookings))
        print(
            f"{bookings:,} bookings of 1,000 hosts, one web process, concurrency 32; µs of processor time a request\n"
        )
        with ceiling(here) as top, service(here) as own:
            servers = Measured(top, here.url, is_service=False), Measured(own, here.url, is_service=True)
            uvloop.run(_measure_all(here, data, *servers))


async def _measure_all(here: Stage, data: BenchmarkData, top: Measured, own: Measured) -> None:
    booking, wishes = changes(data)
    print(HEAD)
    for operation in (*operations(data), booking):
        await measure_cost(operation, top, own)
    with bare("benchmarks.floor:app", here) as floor:
        await measure_cost(FLOOR, top, Measured(floor, here.url, is_service=True))
    for operation in moves(await list_made(here.url, data), wishes):
        await measure_cost(operation, top, own)


async def measure_cost(operation: Operation, top: Measured, own: Measured) -> None:
    """Measure an operation in turns with the ceiling, and print its row."""
    count = operation.count // 10
    await own.take_turn(operation.requests, count=count)
    tops, owns = [], []
    for _ in range(TURNS):
        tops.append(await top.take_turn(cycle(CEILING_REQUESTS), count=CEILING_COUNT))
        owns.append(await own.take_turn(operation.requests, count=count))
    best, cost = _average(tops), _average(owns)
    times = (cost.web + cost.database) / (best.web + best.database)
    print(
        f"{operation.name:<40}{cost.web:>8.0f}{cost.database:>10.0f}{best.web:>9.0f}{best.database:>10.0f}{times:>8.1f}",
        flush=True,
    )


def _average(costs: list[Cost]) -> Cost:
    web, database = (sorted(each)[:KEPT_TURNS] for each in zip(*((c.web, c.database) for c in costs), strict=True))
    return Cost(sum(web) / len(web), sum(database) / len(database))


def used_by(pid: int) -> float:
    """Read a process's clock of processor time, which Linux numbers after the process."""
    return time.clock_gettime_ns(~pid << 3 | 2) / 1_000


if __name__ == "__main__":
    main()
