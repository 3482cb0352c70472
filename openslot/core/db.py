"""The way to PostgreSQL: how it is reached, and what a statement can be run on."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

import asyncpg

from openslot.core.errors import StartupError
from openslot.core.pool import ConnectionPool, is_cut_off
from openslot.core.profiles import ConnectionProfile

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
# The server is there and can't do it now: a lock that others hold, a statement that takes too long, a full disk.
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
# For short statements that run again and again and find everything by an index: one plan for all arguments, also where
# it was made while the table was small (docs/performance.md, Plans).
KEPT_PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
NEW_PLANS = {"plan_cache_mode": "force_custom_plan", "enable_seqscan": "on"}
TURNS = "openslot.turns"
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

    def opening(self, *, waits: bool) -> str | None:
        """Tell what a transaction begins with, whether it waits for a turn that another has or is refused it."""

    async def close(self) -> None:
        """Wait for what is under way, then close every connection."""


async def open_pool(url: str, *, most: int, profile: ConnectionProfile, through_pooler: bool = False) -> Pool:
    """Connect to a database that is new enough, or stop with one clear sentence."""
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
        most=most,
        wait_seconds=profile.acquire,
        refusing=_set_local(chosen) if through_pooler else None,
        waiting=_set_local({**(chosen if through_pooler else {}), **({TURNS: "wait"} if profile.refuse_turns else {})}),
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
async def transaction(pool: Pool, *, waits: bool = True) -> AsyncIterator[Db]:
    """Lend a connection with an open transaction; commit at the end, or roll back on any exception.

    Whoever can run the whole of it again asks not to wait for a turn that another has, and is refused it.
    """
    async with pool.acquire() as connection:
        opened = connection.transaction()
        await opened.start()
        try:
            if opening := pool.opening(waits=waits):
                await connection.execute(opening)
            yield connection
        except BaseException as fault:
            # To roll back would be to wait for a server that does not answer.
            if not connection.is_closed() and not is_cut_off(fault):
                await opened.rollback()
            raise
        await opened.commit()


@asynccontextmanager
async def planned_anew(pool: Pool) -> AsyncIterator[Db]:
    """Lend a connection that plans each statement for its arguments: for analytics and optional filters."""
    async with transaction(pool) as db:
        await db.execute(_set_local(NEW_PLANS) or "")
        yield db


def _set_local(settings: Mapping[str, str]) -> str | None:
    """Write what sets this for one transaction: through a pooler the next one may run on another connection."""
    return "; ".join(f"set local {name} = '{value}'" for name, value in settings.items()) or None


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
