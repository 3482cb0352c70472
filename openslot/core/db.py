"""The way to PostgreSQL: how it is reached, and what a statement can be run on."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

import asyncpg

from openslot.core.errors import StartupError
from openslot.core.pool import ConnectionPool

OLDEST_SERVER = 150000
DOWN = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a statement on a connection that was killed a moment ago
)

Row = Mapping[str, Any]

# Planning costs more than running here, and every statement's plan is the same for all arguments. A plan that was made
# while a table was empty must not read the whole of it later: everything we ask for has an index.
DIRECT = {
    "application_name": "openslot",
    "timezone": "UTC",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
}
# A pooler passes on no other settings.
POOLED = {"application_name": "openslot", "timezone": "UTC"}


class Db(Protocol):
    """A pool, where every statement stands alone, or a connection inside a transaction."""

    async def fetch(self, query: str, *args: object) -> list[Row]:
        """Run a statement and return its rows."""

    async def fetchrow(self, query: str, *args: object) -> Row | None:
        """Run a statement and return its first row."""

    async def fetchval(self, query: str, *args: object) -> Any:
        """Run a statement and return the first column of its first row."""

    async def execute(self, query: str, *args: object) -> str:
        """Run a statement and return its command tag."""

    async def executemany(self, command: str, args: Sequence[Sequence[object]]) -> None:
        """Run a statement once for each set of arguments."""


class Pool(Db, Protocol):
    """Connections to one database, shared by all that a process does."""

    def acquire(self) -> Any:
        """Lend a connection for the length of an `async with`."""

    async def close(self) -> None:
        """Wait for what is under way, then close every connection."""


async def open_pool(url: str, *, most: int, wait_seconds: float, through_pooler: bool = False) -> Pool:
    """Connect to a database that is new enough, or stop with one clear sentence."""
    connect = partial(
        asyncpg.connect,
        url,
        statement_cache_size=0 if through_pooler else 400,
        command_timeout=60,
        timeout=10,
        server_settings=POOLED if through_pooler else DIRECT,
    )
    pool = ConnectionPool(connect, most=most, wait_seconds=wait_seconds)
    try:
        version = await pool.fetchval("select current_setting('server_version_num')::int")
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise StartupError(f"The database can't be reached at {hide_password(url)}: {reason(fault)}.") from None
    if version < OLDEST_SERVER:
        await pool.close()
        raise StartupError(f"PostgreSQL 15 or newer is needed; the database is version {version // 10000}.")
    return pool


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[Db]:
    """Lend a connection with an open transaction; commit at the end, or roll back on any exception."""
    async with pool.acquire() as connection, connection.transaction():
        yield connection


def count_of(tag: str) -> int:
    """Read from a command tag how many rows a statement changed."""
    return int(tag.rpartition(" ")[2])


def hide_password(url: str) -> str:
    """Write a database address without its password."""
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    place = re.sub(r"([?&]password=)[^&]*", r"\1…", place)
    return f"{scheme}{separator}{user}{':…' if colon and credentials != user + ':' else ''}{at}{place}"


def reason(fault: BaseException) -> str:
    """Say in a few words why a connection failed."""
    text = str(fault).strip().splitlines()
    return text[0].rstrip(".") if text else type(fault).__name__
