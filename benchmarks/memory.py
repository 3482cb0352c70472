"""Memory of the running service, all processes together: idle, after load, and when the load has ended."""

import asyncio
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import asyncpg
import psutil
import uvloop

from benchmarks.data import BenchmarkData, create_data
from benchmarks.load import Tally, run_load
from benchmarks.operations import changes, operations
from benchmarks.pages import visit
from benchmarks.stage import free_port
from openslot.platform.core.embedded import find_server

BOOKINGS = 10_000
REQUESTS = 10_000
IDLE_SECONDS, QUIET_SECONDS = 20, 75
MOST = {"idle": 180, "after load": 350}
KINDS = ("supervisor", "web", "worker", "connections", "shared memory", "other PostgreSQL")

Readings = dict[str, Counter[str]]


def main() -> None:
    """Prepare an installation, start it a second time, measure it, print."""
    with TemporaryDirectory(prefix="openslot-bench-") as directory:
        place, port = Path(directory), free_port()
        with _serving(place, port):
            data, pages = asyncio.run(_fill(place))
        began = time.monotonic()
        with _serving(place, port) as tree:
            started_in = time.monotonic() - began
            readings = uvloop.run(_measure(tree, port, _mixed(data, pages)))
    _print(readings)
    print(f"\nsecond start to first answer: {started_in:.1f} s (aim: 3 s)", flush=True)


@contextmanager
def _serving(place: Path, port: int) -> Iterator[psutil.Process]:
    """Run `openslot serve` until the block ends; begin at its first answer."""
    environment = {
        **os.environ,
        "OPENSLOT_DATA_DIR": str(place),
        "OPENSLOT_PORT": str(port),
        "OPENSLOT_LIMIT_KEY": "1000000",
        "OPENSLOT_LOG_LEVEL": "error",
        "OPENSLOT_TRUSTED_PROXIES": "127.0.0.1",
    }
    environment.pop("DATABASE_URL", None)
    command = [sys.executable, "-m", "openslot", "serve", "--demo"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_for_answer(port, process)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _wait_for_answer(port: int, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
            return
        time.sleep(0.02)
    raise SystemExit("the service did not start")


async def _fill(place: Path) -> tuple[BenchmarkData, Iterator[bytes]]:
    """Write hosts with bookings beside the demo data; return them and requests for their pages."""
    connection = await asyncpg.connect(find_server(place))
    try:
        data = await create_data(connection, bookings=BOOKINGS)
        rows = await connection.fetch("select username from users where id = any($1)", [host.id for host in data.hosts])
    finally:
        await connection.close()
    paths = [path for row in rows for path in (f"/{row['username']}", f"/{row['username']}/30min", "/login")]
    pages = visit(paths)
    return data, pages


def _mixed(data: BenchmarkData, pages: Iterator[bytes]) -> Iterator[bytes]:
    """Send each operation as often as any other, in an order that is random but the same in every run."""
    booking, _ = changes(data)
    streams = [*(operation.requests for operation in operations(data)), booking.requests, pages]
    chosen = random.Random(7)
    while True:
        yield next(chosen.choice(streams))


async def _measure(tree: psutil.Process, port: int, requests: Iterator[bytes]) -> Readings:
    await asyncio.sleep(IDLE_SECONDS)
    readings = {"idle": _read(tree)}
    for name in ("after load", "after as much again"):
        tally = Tally()
        await run_load(port, requests, tally, count=REQUESTS)
        if set(tally.statuses) != {200}:
            raise SystemExit(f"the service answered {tally.statuses}")
        readings[name] = _read(tree)
    await asyncio.sleep(QUIET_SECONDS)
    readings["quiet again"] = _read(tree)
    return readings


def _read(tree: psutil.Process) -> Counter[str]:
    """Sum up the proportional set size of every process, in MB: pages that several share are counted once."""
    found: Counter[str] = Counter()
    for process in (tree, *tree.children(recursive=True)):
        with suppress(psutil.Error, OSError):
            title, sizes = " ".join(process.cmdline()), _sizes(process.pid)
            kind = _kind(process, title, tree)
            is_database = kind in {"connections", "other PostgreSQL"}
            shared = sizes["Pss_Shmem"] if is_database else 0
            found["shared memory"] += shared
            found[kind] += sizes["Pss"] - shared
            found["number of connections"] += kind == "connections"
    return found


def _kind(process: psutil.Process, title: str, tree: psutil.Process) -> str:
    if "postgres" in process.name():
        return "connections" if "[local]" in title else "other PostgreSQL"
    if process.pid == tree.pid:
        return "supervisor"
    return "worker" if process.name().endswith("worker") or title.endswith("worker") else "web"


def _sizes(pid: int) -> Counter[str]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return Counter({line.partition(":")[0]: int(line.split()[1]) for line in lines})


def _print(readings: Readings) -> None:
    print(f"{BOOKINGS:,} bookings; memory in MB (PSS); load: {REQUESTS:,} mixed requests, 32 at a time\n")
    print(f"{'':<28}" + "".join(f"{name:>22}" for name in readings))
    for kind in KINDS:
        print(f"{kind:<28}" + "".join(f"{reading[kind] / 1024:>22.1f}" for reading in readings.values()))
    totals = {name: sum(reading[kind] for kind in KINDS) / 1024 for name, reading in readings.items()}
    print(f"{'all':<28}" + "".join(f"{total:>22.1f}" for total in totals.values()))
    print(f"{'aim':<28}" + "".join(f"{MOST.get(name, ''):>22}" for name in readings))
    print(f"{'number of connections':<28}" + "".join(f"{r['number of connections']:>22}" for r in readings.values()))


if __name__ == "__main__":
    main()
