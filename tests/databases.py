"""Databases for tests: a prepared server to copy from, databases of one's own, and the one that tests share."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from openslot.core.embedded import start_server, stop_server
from openslot.core.ids import new_id
from openslot.core.migrate import migrate

UNSAFE_AND_FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    # What tests leave is removed between them; statistics must not depend on how long a session runs.
    "autovacuum": "off",
}
TEMPLATE = "template_openslot"
EMPTY = "template1"
# An empty database is small enough to be written through the log, which spares two checkpoints.
STRATEGIES = {TEMPLATE: "file_copy", EMPTY: "wal_log"}


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
