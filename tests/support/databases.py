"""Databases for tests: a prepared server to copy from, databases of one's own, and the one that tests share."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg
import psutil

from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.ids import new_id
from openslot.platform.core.migrate import migrate
from tests.support.ladder import put_up_ladder

UNSAFE_AND_FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Everything fits into memory: handing reads to other processes costs more than reading.
    "io_method": "sync",
    "checkpoint_timeout": "1h",
    # What is no longer needed of the log is used again instead of filling the memory that it may lie in.
    "max_wal_size": "256MB",
    "max_connections": "300",
    # What tests leave is removed between them; statistics must not depend on how long a session runs.
    "autovacuum": "off",
}
TEMPLATE = "template_openslot"
EMPTY = "template1"
# An empty database is small enough to be written through the log, which spares two checkpoints.
STRATEGIES = {TEMPLATE: "file_copy", EMPTY: "wal_log"}
MEMORY = Path("/dev/shm")
MEMORY_NEEDED = 4 * 1024**3


@contextmanager
def fast_dir(otherwise: Path) -> Iterator[Path]:
    """Lend a directory in memory, where files cost half as much to make, or another one if there is little memory."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < MEMORY_NEEDED:
        yield otherwise
        return
    for left in MEMORY.glob("openslot-tests-*"):
        # A run that was killed could not remove it.
        if not psutil.pid_exists(int(left.name.rpartition("-")[2])):
            shutil.rmtree(left, ignore_errors=True)
    place = MEMORY / f"openslot-tests-{os.getpid()}"
    place.mkdir(mode=0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def prepare_data_dir(place: Path) -> None:
    """Make the data directory of a stopped server that has a migrated template."""
    server = start_server(place, options=UNSAFE_AND_FAST)
    asyncio.run(_make_template(server.url))
    stop_server(place)


def copy_data_dir(prepared: Path, to: Path) -> None:
    """Copy a prepared data directory, without what belongs to the server that made it."""
    to.mkdir(parents=True, exist_ok=True)
    shutil.copytree(prepared / "postgres", to / "postgres")
    (to / "postgres").chmod(0o700)


async def _make_template(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(f"create database {TEMPLATE}")
    await connection.close()
    await migrate(database_at(url, TEMPLATE))
    await put_up_ladder(database_at(url, TEMPLATE))


def database_at(url: str, name: str) -> str:
    """Name another database of the same server."""
    return url.replace("/openslot?", f"/{name}?")


@asynccontextmanager
async def new_database(postgres: str, template: str = TEMPLATE) -> AsyncIterator[str]:
    """Lend a copy of a template, and drop it in the end whoever is still connected to it."""
    name = f"test_{new_id().hex}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"create database {name} template {template} strategy {STRATEGIES[template]}")
    try:
        yield database_at(postgres, name)
    finally:
        await connection.execute(f"drop database {name} with (force)")
        await connection.close()
