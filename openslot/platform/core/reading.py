"""Reading what may be a few seconds old from a standby, as long as it is not further behind than that."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

import asyncpg
import structlog
from msgspec.structs import replace

from openslot.platform.core.db import BUSY, DOWN, Db, Pool, PoolTimeoutError, Row, make_pool
from openslot.platform.core.outages import reason
from openslot.platform.core.profiles import ConnectionProfile

Result = TypeVar("Result")

OLDEST = 8.0
"""How many seconds a standby may be behind, by the heartbeats of workers that it has received."""

AHEAD = 1.0
"""How many seconds a heartbeat may seem to lie in the future; beyond, the clock of the standby is behind."""

LOOK_EVERY = 2.0
LOOK_AGAIN_AFTER = 10.0
"""How many seconds a standby that has failed, or is behind, is left alone."""

PATIENCE = 1.0
"""How many seconds a look and a read wait for a standby."""

BOUND = OLDEST + PATIENCE + LOOK_EVERY + PATIENCE
"""How many seconds old an answer may be: as old as at a look, which took its time, until a last read has taken its."""

# Workers store a heartbeat every three seconds, by the clock of the database.
BEHIND = "select extract(epoch from clock_timestamp() - max(beat_at))::float8 from worker_beats"
FAULTS = (*DOWN, *BUSY, asyncpg.PostgresError, ValueError)

log = structlog.get_logger()


def make_standby_pool(url: str, *, max_: int, profile: ConnectionProfile) -> Pool:
    """Make a pool for a standby, which waits no longer than its readers do; that it can't connect is no outage."""
    # Whoever waits for a connection that others use gives up before it would seem that the standby does not answer.
    hasty = replace(profile, acquire=PATIENCE / 2, connect=PATIENCE)
    return make_pool(url, max_=max_, profile=hasty, outage=None)


async def measure_lag(standby: Db) -> float | None:
    """Return how many seconds a standby is behind at most; None if it has no heartbeat of a worker."""
    seconds: float | None = await standby.fetchval(BEHIND)
    return seconds


def find_fault(behind: float | None) -> str | None:
    """Say why a standby that is so many seconds behind can't be trusted."""
    if behind is None:
        return "it has no heartbeat of a worker"
    if behind > OLDEST:
        return f"it may be {behind:.0f} seconds behind; {OLDEST:.0f} are allowed"
    if behind < -AHEAD:
        return f"its clock is at least {-behind:.0f} seconds behind that of the database"
    return None


def describe(fault: BaseException) -> str:
    """Say in a few words why a standby can't be read; a pooler is known by what it refuses."""
    if "unsupported startup parameter" in str(fault):
        return "it is a pooler; OPENSLOT_READ_DATABASE_URL has to lead to the standby itself"
    if isinstance(fault, TimeoutError):
        return f"it does not answer within {PATIENCE:g} s"
    return reason(fault)


class StandbyReader:
    """A database to read from; what is written goes to the database itself."""

    def __init__(self, database: Pool, standby: Pool) -> None:
        self._database = database
        self._standby = standby
        self._is_trusted = False
        # What the log says of it; nothing, as long as it is used from the beginning.
        self._is_said_to_be_used = True
        self._look_at = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def fetch(self, query: str, *args: object) -> list[Row]:
        return await self._read(lambda db: db.fetch(query, *args))

    async def fetchrow(self, query: str, *args: object) -> Row | None:
        return await self._read(lambda db: db.fetchrow(query, *args))

    async def fetchval(self, query: str, *args: object) -> Any:
        return await self._read(lambda db: db.fetchval(query, *args))

    async def execute(self, query: str, *args: object) -> str:
        return await self._database.execute(query, *args)

    async def executemany(self, command: str, args: Sequence[Sequence[object]]) -> None:
        await self._database.executemany(command, args)

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        await self._standby.close()

    async def _read(self, ask: Callable[[Db], Awaitable[Result]]) -> Result:
        if not await self._check():
            return await ask(self._database)
        try:
            async with asyncio.timeout(PATIENCE):
                return await ask(self._standby)
        except PoolTimeoutError:
            # This process asks more than its connections can carry: the standby is not to blame.
            return await ask(self._database)
        except FAULTS as fault:
            self._leave_alone(describe(fault))
            return await ask(self._database)

    async def _check(self) -> bool:
        """Answer whether a standby was fresh a moment ago; all who ask at once wait for one look."""
        if monotonic() >= self._look_at:
            self._looking = self._looking or asyncio.create_task(self._look())
            await asyncio.shield(self._looking)
        return self._is_trusted

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                why = find_fault(await measure_lag(self._standby))
        except PoolTimeoutError:
            self._is_trusted, self._look_at = False, monotonic()
            return
        except FAULTS as fault:
            why = describe(fault)
        finally:
            self._looking = None
        if why is not None:
            self._leave_alone(why)
            return
        self._is_trusted, self._look_at = True, monotonic() + LOOK_EVERY
        if not self._is_said_to_be_used:
            self._is_said_to_be_used = True
            log.warning("The standby is used again for free times")

    def _leave_alone(self, why: str) -> None:
        self._is_trusted, self._look_at = False, monotonic() + LOOK_AGAIN_AFTER
        if self._is_said_to_be_used:
            self._is_said_to_be_used = False
            log.warning("The standby is not used; free times are read from the database itself", error=why)
