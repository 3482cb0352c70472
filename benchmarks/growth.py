"""Growth: what every periodic job and /metrics take with 1,000,000 bookings and 5,000,000 effects, and with few."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median
from types import TracebackType
from typing import Any

import asyncpg
import httpx2
from msgspec import Struct
from msgspec.structs import replace

from benchmarks.history import EFFECTS_AN_EVENT, Size, age_events, let_time_pass, make_history
from benchmarks.stage import METRICS_TOKEN, Stage, service, stage
from openslot.platform.core.db import Pool
from openslot.platform.core.environment import load_settings
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import Periodic, Runtime, system_clock
from openslot.platform.jobs.periodic import run_job
from openslot.runtime import open_runtime
from openslot.wiring import WIRING

FEW = Size(hosts=100, bookings=1_000)
MANY = Size(hosts=1_000, bookings=1_000_000)
RUNS = 7
LIMIT_MS = 100.0
BACKLOG = 20_000


class Timing(Struct, frozen=True):
    """What a job took: with what had gathered since its last run, and again right after it."""

    first_ms: float
    again_ms: float
    longest_ms: float
    result: str


class Watched:
    """A pool that remembers how long the longest statement or transaction was."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.longest = 0.0

    def acquire(self) -> "Watched":
        """Watch a connection for the length of an `async with`."""
        return self

    async def __aenter__(self) -> Any:
        self._loan = self._pool.acquire()
        self._since = time.perf_counter()
        return await self._loan.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._loan.__aexit__(kind, fault, trace)
        self._note(self._since)

    def opening(self, *, waits: bool) -> str | None:
        """Return the statement that a transaction starts with."""
        return self._pool.opening(waits=waits)

    def __getattr__(self, name: str) -> Any:
        run = getattr(self._pool, name)

        async def watched(*args: object) -> Any:
            since = time.perf_counter()
            try:
                return await run(*args)
            finally:
                self._note(since)

        return watched

    def _note(self, since: float) -> None:
        self.longest = max(self.longest, time.perf_counter() - since)


def main(arguments: list[str]) -> None:
    """Measure with few and with many, and print both."""
    many = Size(MANY.hosts, int(arguments[0])) if arguments else MANY
    few = asyncio.run(_measure(FEW))
    timings = asyncio.run(_measure(many, backlog=BACKLOG))
    print(f"\n{many.bookings:,} bookings and {many.effects:,} effects against {FEW.bookings:,} and {FEW.effects:,}")
    print(f"{'':<22}{'few ms':>9}{'many ms':>9}{'again ms':>10}{'longest transaction ms':>24}  result")
    for name, timing in timings.items():
        before = f"{few[name].first_ms:>9.1f}" if name in few else f"{'':>9}"
        print(
            f"{name:<22}{before}{timing.first_ms:>9.1f}{timing.again_ms:>10.1f}{timing.longest_ms:>24.1f}  "
            f"{timing.result}"
        )
    slow = [name for name, timing in timings.items() if timing.longest_ms > LIMIT_MS]
    print(f"over {LIMIT_MS:.0f} ms: {', '.join(slow) or 'none'}")


async def _measure(size: Size, *, backlog: int = 0) -> dict[str, Timing]:
    with stage() as here:
        await migrate(here.url)
        connection = await asyncpg.connect(here.url, command_timeout=3600)
        began = time.perf_counter()
        await make_history(connection, size, system_clock())
        found = await connection.fetchval("select count(*) from effects")
        if found != size.bookings * EFFECTS_AN_EVENT:
            raise SystemExit(f"{found} effects were written")
        took = time.perf_counter() - began
        bytes_used = await connection.fetchval("select pg_size_pretty(pg_database_size(current_database()))")
        print(f"{size.bookings:,} bookings, {found:,} effects written in {took:.0f} s, {bytes_used}", flush=True)
        async with _runtime(here) as runtime:
            timings = {job.name: await _time_job(runtime, job) for job in WIRING.periodic}
            timings["/metrics"] = await _time_metrics(here)
            if backlog:
                await age_events(connection, backlog)
                await let_time_pass(connection)
                for job in WIRING.periodic:
                    if job.name in {"events.tidy", "effects.sweep"}:
                        timings[f"{job.name}, backlog"] = await _time_job(runtime, job)
        await connection.close()
        return timings


async def _time_job(runtime: Runtime, job: Periodic) -> Timing:
    pool = runtime.pool
    watched = Watched(pool)
    runtime.pool = watched
    took = []
    results = []
    try:
        for _ in range(RUNS):
            began = time.perf_counter()
            results.append(await run_job(runtime, job))
            took.append((time.perf_counter() - began) * 1000)
    finally:
        runtime.pool = pool
    return Timing(took[0], median(took[1:]), watched.longest * 1000, results[0])


async def _time_metrics(here: Stage) -> Timing:
    with service(here) as server:
        headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", headers=headers) as client:
            took = []
            # The first request of a process pays for all that is loaded then.
            await client.get("/metrics")
            for _ in range(RUNS):
                began = time.perf_counter()
                answer = await client.get("/metrics")
                took.append((time.perf_counter() - began) * 1000)
                if answer.status_code != 200:
                    raise SystemExit(f"/metrics answered {answer.status_code}")
    told = [line for line in answer.text.splitlines() if line.startswith("openslot_effects{")]
    return Timing(took[0], median(took[1:]), max(took), ", ".join(line[17:].replace("} ", " ") for line in told))


@asynccontextmanager
async def _runtime(here: Stage) -> AsyncIterator[Runtime]:
    settings = replace(load_settings(), database_url=here.url, data_dir=here.data_dir)
    async with open_runtime(settings) as runtime:
        yield runtime


if __name__ == "__main__":
    main(sys.argv[1:])
