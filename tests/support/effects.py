"""Workers in the test's own process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from openslot.core.queue import Job
from openslot.core.work import Runtime
from openslot.jobs.effects import run_effect
from openslot.jobs.worker import run_worker
from tests.support.clocks import MovingClock

WITHIN = 60.0


@asynccontextmanager
async def working(runtime: Runtime) -> AsyncIterator[None]:
    """Keep a worker running."""
    stop = asyncio.Event()
    task = asyncio.create_task(run_worker(runtime, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, WITHIN)


async def next_try(runtime: Runtime) -> datetime | None:
    """Tell when the next planned effect is due."""
    due: datetime | None = await runtime.pool.fetchval("select min(next_try_at) from effects where state = 'queued'")
    return due


async def work_off(runtime: Runtime, clock: MovingClock) -> None:
    """Run all that is due at this moment, one after the other."""
    while True:
        row = await runtime.pool.fetchrow(
            """select id, round from effects where state = 'queued' and next_try_at <= $1
            order by next_try_at, no limit 1""",
            clock.now,
        )
        if row is None:
            return
        await run_effect(runtime, Job(effect_id=row["id"], round=row["round"]))


async def work_until_settled(runtime: Runtime, clock: MovingClock) -> None:
    """Move the clock from try to try until nothing is planned any more."""
    while (due := await next_try(runtime)) is not None:
        clock.now = max(clock.now, due)
        await work_off(runtime, clock)
