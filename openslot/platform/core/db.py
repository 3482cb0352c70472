"""Access to PostgreSQL: how to connect, a pool of connections, and what statements can be run on."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any, Protocol

import asyncpg

from openslot.platform.core.connecting import connect, unreachable
from openslot.platform.core.errors import StartupError
from openslot.platform.core.outages import LOST, OUTAGE, Outage, is_lost, reason
from openslot.platform.core.profiles import KEPT_PLANS, ConnectionProfile
from openslot.platform.core.turns import TurnTimeoutError

OLDEST_SERVER = 150000
DOWN = (
    OSError,
    TimeoutError,
    *LOST,
    asyncpg.InterfaceError,
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

    async def fetch(self, query: str, *args: object) -> list[Row]: ...
    async def fetchrow(self, query: str, *args: object) -> Row | None: ...
    async def fetchval(self, query: str, *args: object) -> Any: ...
    async def execute(self, query: str, *args: object) -> str: ...
    async def executemany(self, command: str, args: Sequence[Sequence[object]]) -> None: ...


class Pool(Db, Protocol):
    """Connections to one database, shared by everything in a process."""

    def acquire(self) -> Any: ...

    def opening(self, *, waits: bool) -> str | None:
        """Return the statement that a transaction starts with; it decides whether to wait for a turn or be refused."""

    async def close(self) -> None:
        """Wait for running statements, then close every connection."""


async def open_pool(url: str, *, max_: int, profile: ConnectionProfile, through_pooler: bool = False) -> Pool:
    """Connect to a database, or raise a `StartupError` if it can't be reached or is too old."""
    pool = make_pool(url, max_=max_, profile=profile, through_pooler=through_pooler)
    try:
        version = await pool.fetchval("select current_setting('server_version_num')::int")
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise unreachable(url, fault) from None
    if version < OLDEST_SERVER:
        await pool.close()
        raise StartupError(f"PostgreSQL 15 or newer is needed; the database is version {version // 10000}.")
    return pool


def make_pool(
    url: str,
    *,
    max_: int,
    profile: ConnectionProfile,
    through_pooler: bool = False,
    outage: Outage | None = OUTAGE,
) -> Pool:
    """Make a pool that connects when it is used; without an outage it tells nobody that it can't."""
    plans = KEPT_PLANS if profile.keeps_plans else {}
    chosen = profile.server_settings()
    if profile.refuse_turns:
        chosen[TURNS] = "refuse"
    open_one = partial(
        connect,
        url,
        within=profile.connect,
        statement_cache_size=0 if through_pooler else 400,
        command_timeout=profile.command,
        server_settings=POOLED if through_pooler else {**DIRECT, **plans, **chosen},
    )
    return ConnectionPool(
        open_one,
        max_=max_,
        outage=outage,
        wait_seconds=profile.acquire,
        refusing=set_local(chosen) if through_pooler else None,
        waiting=set_local({**(chosen if through_pooler else {}), **({TURNS: "wait"} if profile.refuse_turns else {})}),
    )


@asynccontextmanager
async def transaction(
    pool: Pool, *, waits: bool = True, rolls_back: Callable[[], bool] = lambda: False
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
        await (opened.rollback() if rolls_back() else opened.commit())


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


Connect = Callable[[], Awaitable[asyncpg.Connection]]
Waiter = asyncio.Future[asyncpg.Connection | None]

# A firewall or proxy may silently drop a connection that was idle for this long.
LONGEST_IDLE = 300.0
CLOSE_WITHIN = 2.0
# Each connection is a process of the server with up to 12 MB of its own, and a process on one core can't keep more than
# a few of them busy. Whoever has waited for this long, because slow statements or locks hold those, opens one more.
# While they come back, the machine is slow and one more would not help: then it takes so many times as long.
FEW = 4
GROW_AFTER = 0.25
PATIENCE = 8
# A connection beyond the first ones that nobody has needed for this long is closed.
SPARE_AFTER = 60.0
ALWAYS_KEPT = 2


class PoolTimeoutError(TimeoutError):
    """No connection became free within the time limit."""


class PoolClosedError(asyncpg.InterfaceError):  # type: ignore[misc]
    """The process is about to end, and lends no connection any more."""


def is_cut_off(fault: BaseException | None) -> bool:
    """Return whether a statement may still be running because nothing waited for its end."""
    is_timeout = isinstance(fault, TimeoutError) and not isinstance(fault, PoolTimeoutError)
    return is_timeout or (fault is not None and not isinstance(fault, Exception))


def is_unavailable(fault: BaseException) -> bool:
    """Return whether the database could not be asked or had no room, which is no fault of whoever asked it."""
    kinds = (asyncpg.InsufficientResourcesError, asyncpg.ReadOnlySQLTransactionError, PoolTimeoutError)
    return not isinstance(fault, PoolClosedError) and (is_lost(fault) or isinstance(fault, kinds))


def is_refused(fault: BaseException) -> bool:
    """Return whether the database can't do what it was asked, by its own error.

    What else a request touches, such as files and other services, raises `OSError` too.
    """
    waited = (PoolTimeoutError, TurnTimeoutError, asyncpg.ReadOnlySQLTransactionError)
    return is_lost(fault) or isinstance(fault, (*waited, *BUSY))


def is_unlogged(fault: BaseException | None) -> bool:
    """Return whether a standby was asked for an unlogged table, which it refuses with a code of many meanings."""
    is_refused = isinstance(fault, asyncpg.FeatureNotSupportedError)
    return is_refused and getattr(fault, "server_source_function", None) == "get_relation_info"


class ConnectionPool:
    """Lends a limited number of connections; when all are in use, callers wait in line, up to a time limit."""

    def __init__(
        self,
        connect: Connect,
        *,
        max_: int,
        wait_seconds: float,
        refusing: str | None = None,
        waiting: str | None = None,
        outage: Outage | None = OUTAGE,
    ) -> None:
        self._connect = connect
        self._outage = outage
        self._refusing = refusing
        self._waiting_for_turns = waiting
        self._max = max_
        self._wait_seconds = wait_seconds
        self._idle: list[tuple[asyncpg.Connection, float]] = []
        self._in_use = 0
        self._waiting: deque[Waiter] = deque()
        self._all_back: asyncio.Event | None = None
        self._has_connected = False
        self._came_back = 0
        self._sparing: asyncio.TimerHandle | None = None

    def acquire(self) -> "PooledConnection":
        return PooledConnection(self)

    def opening(self, *, waits: bool) -> str | None:
        return self._waiting_for_turns if waits else self._refusing

    async def fetch(self, query: str, *args: object) -> list[Any]:
        async with PooledConnection(self) as connection:
            rows: list[Any] = await connection.fetch(query, *args)
            return rows

    async def fetchrow(self, query: str, *args: object) -> Any:
        async with PooledConnection(self) as connection:
            return await connection.fetchrow(query, *args)

    async def fetchval(self, query: str, *args: object) -> Any:
        async with PooledConnection(self) as connection:
            return await connection.fetchval(query, *args)

    async def execute(self, query: str, *args: object) -> str:
        async with PooledConnection(self) as connection:
            tag: str = await connection.execute(query, *args)
            return tag

    async def executemany(self, command: str, args: Sequence[Sequence[object]]) -> None:
        async with PooledConnection(self) as connection:
            await connection.executemany(command, args)

    async def close(self) -> None:
        self._all_back = asyncio.Event()
        if self._in_use:
            await self._all_back.wait()
        if self._sparing is not None:
            self._sparing.cancel()
        while self._idle:
            # A connection that can't be closed in time is aborted.
            with suppress(Exception):
                await self._idle.pop()[0].close(timeout=CLOSE_WITHIN)

    async def take(self) -> asyncpg.Connection:
        """Return the most recently used idle connection, a new one, or the next that is released."""
        if self._all_back is not None:
            raise PoolClosedError("the connections are being closed")
        while self._idle:
            connection, since = self._idle.pop()
            if connection.is_closed():
                continue
            if monotonic() - since < LONGEST_IDLE:
                self._in_use += 1
                return connection
            connection.terminate()
        if self._in_use < min(FEW, self._max):
            self._in_use += 1
        elif (handed := await self._wait()) is not None:
            return handed
        return await self._open()

    async def _open(self) -> asyncpg.Connection:
        try:
            connection = await self._connect()
        except BaseException as fault:
            self._pass_on(None)
            if self._outage is not None and self._has_connected and isinstance(fault, Exception):
                self._outage.begin(reason(fault))
            raise
        self._has_connected = True
        if self._outage is not None:
            self._outage.end()
        return connection

    def give_back(self, connection: asyncpg.Connection, fault: BaseException | None) -> None:
        """Release a connection; one with an interrupted statement or an open transaction is not used again.

        Nor is one to a server that has become read-only: a new connection may find the server that took its place.
        """
        is_useless = is_cut_off(fault) or isinstance(fault, asyncpg.ReadOnlySQLTransactionError) or is_unlogged(fault)
        if not connection.is_closed() and (is_useless or connection.is_in_transaction()):
            connection.terminate()
        self._pass_on(None if connection.is_closed() else connection)

    async def _wait(self) -> asyncpg.Connection | None:
        """Wait for a slot; return its connection if the previous user has left a usable one."""
        loop = asyncio.get_running_loop()
        waiter: Waiter = loop.create_future()
        self._waiting.append(waiter)
        timer = loop.call_later(self._wait_seconds, self._refuse, waiter)
        impatience = loop.call_later(GROW_AFTER, self._grow, waiter, self._came_back, 1)
        try:
            return await waiter
        except (asyncio.CancelledError, PoolTimeoutError):
            if waiter.cancelled() or waiter.exception() is not None:
                with suppress(ValueError):
                    self._waiting.remove(waiter)
            else:
                # The connection was handed over at the same moment as the cancellation.
                self._pass_on(waiter.result())
            raise
        finally:
            timer.cancel()
            impatience.cancel()

    def _grow(self, waiter: Waiter, came_back: int, times: int) -> None:
        """Let somebody who waits open a connection, if there may be one more and none comes back, or only slowly."""
        if waiter.done() or self._in_use >= self._max:
            return
        if self._came_back > came_back and times < PATIENCE:
            loop = asyncio.get_running_loop()
            loop.call_later(GROW_AFTER, self._grow, waiter, self._came_back, times + 1)
            return
        self._in_use += 1
        self._waiting.remove(waiter)
        waiter.set_result(None)

    def _refuse(self, waiter: Waiter) -> None:
        if not waiter.done():
            words = f"none of {self._max} connections was free within {self._wait_seconds:g} seconds"
            waiter.set_exception(PoolTimeoutError(words))

    def _pass_on(self, connection: asyncpg.Connection | None) -> None:
        self._came_back += connection is not None
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        self._in_use -= 1
        if connection is not None:
            self._idle.append((connection, monotonic()))
            if len(self._idle) > ALWAYS_KEPT and self._sparing is None:
                self._spare_later()
        if self._all_back is not None and not self._in_use:
            self._all_back.set()

    def _spare_later(self) -> None:
        unused_for = monotonic() - self._idle[0][1]
        self._sparing = asyncio.get_running_loop().call_later(SPARE_AFTER - unused_for, self._spare)

    def _spare(self) -> None:
        """Close what nobody has needed for a while; the least recently used come first."""
        self._sparing = None
        while len(self._idle) > ALWAYS_KEPT and monotonic() - self._idle[0][1] >= SPARE_AFTER:
            self._idle.pop(0)[0].terminate()
        if len(self._idle) > ALWAYS_KEPT:
            self._spare_later()


class PooledConnection:
    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    async def __aenter__(self) -> asyncpg.Connection:
        self._connection = await self._pool.take()
        return self._connection

    async def __aexit__(
        self, _kind: type[BaseException] | None, fault: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._pool.give_back(self._connection, fault)
        if is_unlogged(fault):
            raise asyncpg.ReadOnlySQLTransactionError(str(fault)) from fault
