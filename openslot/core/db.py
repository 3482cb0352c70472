"""Access to PostgreSQL: how to connect, and what statements can be run on."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import asyncpg

from openslot.core.errors import StartupError
from openslot.core.outages import reason
from openslot.core.pool import ConnectionPool, is_cut_off
from openslot.core.profiles import KEPT_PLANS, ConnectionProfile

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
    asyncpg.ReadOnlySQLTransactionError,  # a standby, or a server that has become one
)
# The server is up but can't do it now: another session holds a lock, a statement takes too long, the disk is full.
BUSY = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.InsufficientResourcesError,
)

Row = Mapping[str, Any]

DIRECT = {"application_name": "openslot", "timezone": "UTC", "jit": "off"}
TURNS = "openslot.turns"
# A pooler does not pass on any other settings.
POOLED = {"application_name": "openslot", "timezone": "UTC"}


class Db(Protocol):
    """A pool, where every statement is its own transaction, or a connection inside a transaction."""

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
    """Connections to one database, shared by everything in a process."""

    def acquire(self) -> Any:
        """Acquire a connection for the duration of an `async with`."""

    def opening(self, *, waits: bool) -> str | None:
        """Return the statement that a transaction starts with; it decides whether to wait for a turn or be refused."""

    async def close(self) -> None:
        """Wait for running statements, then close every connection."""


async def open_pool(url: str, *, max_: int, profile: ConnectionProfile, through_pooler: bool = False) -> Pool:
    """Connect to a database, or raise a `StartupError` if it can't be reached or is too old."""
    plans = KEPT_PLANS if profile.keeps_plans else {}
    chosen = profile.server_settings()
    if profile.refuse_turns:
        chosen[TURNS] = "refuse"
    connect = partial(
        asyncpg.connect,
        url,
        statement_cache_size=0 if through_pooler else 400,
        command_timeout=profile.command,
        timeout=min(10, profile.acquire),
        server_settings=POOLED if through_pooler else {**DIRECT, **plans, **chosen},
    )
    pool = ConnectionPool(
        connect,
        max_=max_,
        wait_seconds=profile.acquire,
        refusing=set_local(chosen) if through_pooler else None,
        waiting=set_local({**(chosen if through_pooler else {}), **({TURNS: "wait"} if profile.refuse_turns else {})}),
    )
    try:
        version = await pool.fetchval("select current_setting('server_version_num')::int")
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise StartupError(f"The database can't be reached at {hide_password(url)}: {reason(fault)}.") from None
    if version < OLDEST_SERVER:
        await pool.close()
        raise StartupError(f"PostgreSQL 15 or newer is needed; the database is version {version // 10000}.")
    return pool


@asynccontextmanager
async def transaction(
    pool: Pool, *, waits: bool = True, is_undone: Callable[[], bool] = lambda: False
) -> AsyncIterator[Db]:
    """Acquire a connection with an open transaction; commit at the end, or roll back on any exception or if undone.

    With `waits=False`, a transaction that would have to wait for its turn is refused instead; this is for callers that
    can run the whole transaction again.
    """
    async with pool.acquire() as connection:
        opened = connection.transaction()
        await opened.start()
        try:
            if opening := pool.opening(waits=waits):
                await connection.execute(opening)
            yield connection
        except BaseException as fault:
            # A rollback would wait for a server that does not answer.
            if not connection.is_closed() and not is_cut_off(fault):
                await opened.rollback()
            raise
        await (opened.rollback() if is_undone() else opened.commit())


def set_local(settings: Mapping[str, str]) -> str:
    """Write the statement that sets this for one transaction; a pooler may run the next one on another connection."""
    return "; ".join(f"set local {name} = '{value}'" for name, value in settings.items())


def count_of(tag: str) -> int:
    """Return how many rows a statement changed, according to its command tag."""
    return int(tag.rpartition(" ")[2])


async def delete_oldest(db: Db, table: str, by: str, *, before: datetime, limit: int, key: str = "id") -> int:
    """Delete the oldest rows of a table, by a time that has an index, and return how many they were."""
    oldest = f"select {key} from {table} where {by} <= $1 order by {by} limit $2"
    return count_of(await db.execute(f"delete from {table} where {key} = any(array({oldest}))", before, limit))


def hide_password(url: str) -> str:
    """Write a database address without its password."""
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    place = re.sub(r"([?&]password=)[^&]*", r"\1…", place)
    return f"{scheme}{separator}{user}{':…' if colon and credentials != user + ':' else ''}{at}{place}"
