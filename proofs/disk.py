"""Fill the disk of the database, and a data directory without a database, while people book; then make room again."""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path

import asyncpg
import httpx2
from msgspec import Struct
from msgspec.structs import replace

from openslot.platform.core.embedded import stop_server
from openslot.platform.core.secrets import KEY_FILE
from proofs.figures import Figure, Impossible
from proofs.scene import Scene, count_arrived, scene
from tests.support.installation import Installation, installed
from tests.support.killable import Guests, count_told, list_starts, processes, wait_until_done
from tests.support.live import connect

DATABASE_DISK, DATA_DISK = 400_000_000, 4_000_000
WAYS = ("tables", "write-ahead log")
ROUNDS, SHORT_ROUNDS = 3, 1
FULL_FOR, SHORT_FULL_FOR = 12.0, 2.0
AT_ONCE = 4
MOST_PER_ROUND = 120
# What `serve` waits at most before it starts the database again, and the recovery of that database.
BACK_WITHIN = 45.0
ALLOWED = {"OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8", "OPENSLOT_LIMIT_KEY": "1000000"}
PAGES = ("/ida", "/ida/short")


class Round(Struct, kw_only=True):
    """What was seen while a disk was full, and after it."""

    way: str
    unavailable: int = 0
    reads: int = 0
    """Reads that were answered nevertheless."""
    failed_pages: int = 0
    is_named: bool = False
    """Whether /readyz, the doctor and the refused backup all say that the disk is full."""
    back_after: float = 0.0

    def __str__(self) -> str:
        words = f"503 {self.unavailable} times, {self.reads} reads answered, booked again after {self.back_after:.1f} s"
        return f"{self.way:>44}  {words}"


class Turns(Struct):
    """Whose turn it is to book, when, and how long a disk stays full."""

    starts: Sequence[datetime]
    full_for: float
    taken: int = 0

    def take(self) -> int:
        self.taken += 1
        return self.taken - 1


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Fill the disk of the embedded database in two ways, and a data directory whose database is elsewhere."""
    rounds, full_for = (SHORT_ROUNDS, SHORT_FULL_FOR) if short else (ROUNDS, FULL_FOR)
    with disk(place / "database", DATABASE_DISK) as of_database, disk(place / "files", DATA_DISK) as of_files:
        return asyncio.run(_prove(place, of_database, of_files, [*WAYS * rounds], full_for))


@contextmanager
def disk(place: Path, size: int) -> Iterator[Path]:
    """Mount a disk of so many bytes, which is a part of the memory."""
    place.mkdir()
    options = f"size={size},mode=755"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        raise Impossible(f"Only root can mount a small disk: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def filled(place: Path) -> Iterator[None]:
    """Leave not a byte on the disk of this directory."""
    ballast = place / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(shutil.disk_usage(place).free - 1_000_000, 1))
            while file.write(bytes(4096)):
                file.seek(0, os.SEEK_END)
        yield
    finally:
        ballast.unlink()


async def _prove(place: Path, of_database: Path, of_files: Path, ways: Sequence[str], full_for: float) -> list[Figure]:
    async with scene(place, data_dir=of_database / "data") as set_up:
        starts = await list_starts(set_up.runtime, set_up.user.id, 2 * MOST_PER_ROUND * (len(ways) + 1))
        turns = Turns(starts, full_for)
        refused = await _fill_files(set_up, of_files, turns)
        # From here on the database belongs to `serve`, as in most installations.
        await asyncio.to_thread(stop_server, set_up.data_dir)
        with installed(set_up.data_dir, **set_up.environment, **ALLOWED) as served:
            served.start("serve")
            await asyncio.to_thread(served.wait_until_ready)
            async with Guests([served.port], set_up.headers, timeout=60) as guests:
                rounds = [await _fill(set_up, served, guests, turns, way) for way in ways]
            drained = await wait_until_done(set_up.runtime, within=300)
            figures = await count_arrived(set_up, turns.taken, count_told(turns.taken))
    others = sum(many for status, many in guests.answers.items() if status not in {0, 200, 201, 409, 503})
    return [
        Figure("times that the database's disk was full", len(rounds)),
        Figure("fewest 503s", min(each.unavailable for each in rounds), at_least=1),
        Figure("fewest reads answered, tables", min(each.reads for each in rounds if each.way == "tables"), at_least=1),
        Figure("answers that were not JSON", len(guests.other_than_json), at_most=0),
        Figure("answers other than success, 409 and 503", others, at_most=0),
        Figure("requests without an answer", guests.answers[0], at_most=0),
        Figure("pages other than 200 and 503", sum(each.failed_pages for each in rounds), at_most=0),
        Figure("not named by readyz, doctor, backup", sum(not each.is_named for each in rounds), at_most=0),
        Figure("longest until booked again, s", round(max(each.back_after for each in rounds), 1), within=BACK_WITHIN),
        Figure("data directory full: requests refused", refused, at_most=0),
        Figure("seconds until all effects were done", round(drained, 1)),
        *figures,
    ]


async def _fill_files(set_up: Scene, place: Path, turns: Turns) -> int:
    """Book while the data directory is full and the database elsewhere is not; tell how many requests were refused."""
    shutil.copy(set_up.data_dir / KEY_FILE, place)
    settings = replace(set_up.settings, data_dir=place)
    verbose = {**set_up.environment, "OPENSLOT_LOG_LEVEL": "debug"}
    async with (
        processes(settings, verbose, webs=1, workers=1, logs=place) as running,
        Guests(running.ports, set_up.headers) as guests,
    ):
        await guests.book(turns.take(), turns.starts)
        guests.answers.clear()
        with filled(place):
            for _ in range(AT_ONCE):
                await guests.book(turns.take(), turns.starts)
            await wait_until_done(set_up.runtime, within=60)
            refused = sum(many for status, many in guests.answers.items() if status not in {200, 201})
            # Whatever dies while the disk is full is started again.
            for name in running.running:
                await asyncio.to_thread(running.restart, name)
            await guests.book(turns.take(), turns.starts)
            await wait_until_done(set_up.runtime, within=60)
    return refused + len(guests.other_than_json)


async def _fill(set_up: Scene, served: Installation, guests: Guests, turns: Turns, way: str) -> Round:
    """Fill the database's disk while people book, keep it full for a while, and make room again."""
    round_ = Round(way=way)
    before, first = guests.answers[503], turns.taken
    with filled(set_up.data_dir):
        is_over = asyncio.Event()

        async def book() -> None:
            while not is_over.is_set() and turns.taken - first < MOST_PER_ROUND:
                await guests.book(turns.take(), turns.starts)

        booking = [asyncio.create_task(book()) for _ in range(AT_ONCE)]
        if round_.way == "write-ahead log":
            await _use_up_log(set_up)
        async with asyncio.timeout(60):
            while guests.answers[503] == before:
                await asyncio.sleep(0.05)
        await _look(served, guests, round_)
        await asyncio.sleep(turns.full_for)
        round_.unavailable = guests.answers[503] - before
        is_over.set()
    began = time.monotonic()
    await guests.book(turns.take(), turns.starts)
    round_.back_after = time.monotonic() - began
    await asyncio.gather(*booking)
    print(round_, flush=True)
    return round_


async def _use_up_log(set_up: Scene) -> None:
    """Have PostgreSQL go on to the next file of its write-ahead log until it has no space for one, and stops."""
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        for _ in count():
            await set_up.runtime.pool.fetchval("select pg_switch_wal()")
            await asyncio.sleep(0.05)


async def _look(served: Installation, guests: Guests, round_: Round) -> None:
    """Look at what works while the disk is full, and at what is said about it."""
    async with connect(served.base_url) as client:
        for path in PAGES:
            round_.failed_pages += (await client.get(path)).status_code not in {200, 503}
        for path in ("/me", "/bookings", "/event-types"):
            answer = await guests.send("GET", path)
            round_.reads += answer is not None and answer.status_code == 200
        ready: httpx2.Response = await client.get("/readyz")
    _, examined, _ = await asyncio.to_thread(served.run, "doctor", "--json")
    code, _, said = await asyncio.to_thread(served.run, "backup", "create")
    left = [*(served.data_dir / "backups").glob("**/*")]
    is_refused = code == 1 and len(said.strip().splitlines()) == 1 and not left
    round_.is_named = "full" in ready.json()["disk"] and "The disk is full" in examined and is_refused
