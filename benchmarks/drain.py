"""What follows a booking: processor time of the worker and of PostgreSQL from the last request until all is drained."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import asyncpg
import psutil
import uvloop
from msgspec import Struct

from benchmarks.data import set_up
from benchmarks.load import Tally, run_load
from benchmarks.operations import changes
from benchmarks.processor import used_by
from benchmarks.stage import Stage, running, service, stage

HISTORY = 1_000
WARM, BURST, TRICKLE = 100, 400, 100
PAUSE = 0.05
UNFINISHED = """
select count(*) from effects
where state in ('waiting', 'running') or (state = 'queued' and next_try_at < now() + interval '1 minute')"""


class Reading(Struct, frozen=True):
    """What has been used until now: µs of processor time, and bytes of WAL."""

    worker: float
    database: float
    wal: int


def main() -> None:
    """Let one worker drain what many bookings at once, and then single ones, have caused; print what each cost."""
    with stage() as here:
        data = asyncio.run(set_up(here.url, bookings=HISTORY))
        with service(here) as web, running(["openslot", "worker"], None, here) as worker:
            booking, _ = changes(data)
            uvloop.run(_measure(here, web.port, worker, booking.requests))


async def _measure(here: Stage, port: int, worker: int, requests: Iterator[bytes]) -> None:
    connection = await asyncpg.connect(here.url)
    await _book(port, requests, WARM)
    await _wait(connection)
    os.kill(worker, signal.SIGSTOP)
    await _book(port, requests, BURST)
    before, began = await read_used(connection, worker), time.perf_counter()
    os.kill(worker, signal.SIGCONT)
    await _wait(connection)
    took = time.perf_counter() - began
    _print("at once", BURST, before, await read_used(connection, worker), f"; drained in {took:.1f} s")
    before = await read_used(connection, worker)
    for _ in range(TRICKLE):
        await _book(port, requests, 1)
        await asyncio.sleep(PAUSE)
    await _wait(connection)
    _print("one by one, with their requests in PostgreSQL", TRICKLE, before, await read_used(connection, worker), "")
    await connection.close()


async def _book(port: int, requests: Iterator[bytes], count: int) -> None:
    tally = Tally()
    await run_load(port, requests, tally, count=count)
    if set(tally.statuses) != {200}:
        raise SystemExit(f"bookings were answered with {tally.statuses}")


async def _wait(connection: asyncpg.Connection) -> None:
    while await connection.fetchval(UNFINISHED):  # noqa: ASYNC110 - the database is asked
        await asyncio.sleep(0.1)


async def read_used(connection: asyncpg.Connection, worker: int) -> Reading:
    server = psutil.Process(await connection.fetchval("select pg_backend_pid()")).parent()
    processes = [server, *server.children()] if server else []
    used = sum(used_by(process.pid) for process in processes)
    wal = await connection.fetchval("select pg_current_wal_lsn() - '0/0'::pg_lsn")
    return Reading(used_by(worker), used, int(wal))


def _print(label: str, count: int, before: Reading, after: Reading, more: str) -> None:
    worker, database = (after.worker - before.worker) / count, (after.database - before.database) / count
    print(
        f"{count} bookings {label}: {(worker + database) / 1000:.1f} ms of processor time each until drained "
        f"(worker {worker / 1000:.1f}, PostgreSQL {database / 1000:.1f}), "
        f"{(after.wal - before.wal) / count / 1000:.0f} kB of WAL{more}",
        flush=True,
    )


if __name__ == "__main__":
    main()
