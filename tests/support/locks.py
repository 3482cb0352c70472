"""Locks held until others wait for them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from openslot.platform.core.db import transaction
from openslot.platform.core.work import Runtime

WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


async def until_waiting(runtime: Runtime, count: int) -> None:
    """Go on as soon as so many wait for a lock."""
    async with asyncio.timeout(60):
        while await runtime.pool.fetchval(WAITING) < count:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def held(
    runtime: Runtime, statement: str, *arguments: object, waiting: int
) -> AsyncIterator[list[Awaitable[object]]]:
    """Hold a lock until all that is begun meanwhile waits for it."""
    begun: list[Awaitable[object]] = []
    async with transaction(runtime.pool) as db:
        await db.execute(statement, *arguments)
        yield begun
        await until_waiting(runtime, waiting)


async def wait_for_locks(runtime: Runtime, count: int) -> None:
    """Wait until so many statements wait for a lock."""
    waiting = """select count(*) from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()"""
    for _ in range(2000):
        if await runtime.pool.fetchval(waiting) >= count:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("nobody waits")
