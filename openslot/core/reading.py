"""Reading what may be a few seconds old from a standby, as long as it is not further behind than that."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

import asyncpg

from openslot.core.db import BUSY, DOWN, Db, Pool, Row

Result = TypeVar("Result")

OLDEST = 10.0
"""How many seconds a standby may be behind, by the heartbeats of workers that it has received."""

LOOK_EVERY = 2.0
LOOK_AGAIN_AFTER = 10.0
"""For how many seconds a standby that has failed, or is behind, is left alone."""

PATIENCE = 1.0
# Workers store a heartbeat every three seconds, by the clock of the database.
BEHIND = "select extract(epoch from clock_timestamp() - max(beat_at))::float8 from worker_beats"
FAULTS = (*DOWN, *BUSY, asyncpg.PostgresError, ValueError)


async def measure_lag(standby: Db) -> float | None:
    """Return how many seconds a standby is behind at most; None if it has no heartbeat of a worker."""
    seconds: float | None = await standby.fetchval(BEHIND)
    return seconds


class StandbyReader:
    """A database to read from; what is written goes to the database itself."""

    def __init__(self, database: Pool, standby: Pool) -> None:
        self._database = database
        self._standby = standby
        self._is_trusted = False
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
        except FAULTS:
            self._leave_alone()
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
                behind = await measure_lag(self._standby)
        except FAULTS:
            behind = None
        finally:
            self._looking = None
        if behind is None or behind > OLDEST:
            self._leave_alone()
        else:
            self._is_trusted, self._look_at = True, monotonic() + LOOK_EVERY

    def _leave_alone(self) -> None:
        self._is_trusted, self._look_at = False, monotonic() + LOOK_AGAIN_AFTER
