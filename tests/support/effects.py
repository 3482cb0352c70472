"""Workers in the test's own process, and effects that a test starts one by one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from openslot.platform.core.actor import EffectAttempt
from openslot.platform.core.db import Db
from openslot.platform.core.effects import TAKE, read_effect
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.effects import run_effect
from openslot.platform.jobs.places import FairPlaces
from openslot.platform.jobs.worker import run_worker
from tests.support.clocks import MovingClock

WITHIN = 60.0
TAKE_ONE = TAKE.format(
    due="""due as (
        select id from effects
        where id = $3 and round = $4 and state in ('queued', 'running') for update)""",
    walked_to="null::uuid",
)


async def start_effect(db: Db, attempt: EffectAttempt, *, now: datetime) -> Effect | None:
    """Start an attempt as a worker does, whether it is due or not; None if the effect is finished or at another."""
    rows = await db.fetch(TAKE_ONE, new_id(), now, *attempt)
    return read_effect(rows[0]) if rows[0]["id"] is not None else None


async def run_attempt(runtime: Runtime, attempt: EffectAttempt, fair_places: FairPlaces | None = None) -> None:
    """Make one attempt of an effect, if it can be started."""
    effect = await start_effect(runtime.pool, attempt, now=runtime.clock())
    if effect is not None:
        await run_effect(runtime, effect, fair_places)


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


async def work_off(runtime: Runtime, clock: MovingClock, fair_places: FairPlaces | None = None) -> None:
    """Run all that is due at this moment, one after the other; each as if it were the first, or with shared places."""
    while True:
        row = await runtime.pool.fetchrow(
            """select id, round from effects where state = 'queued' and next_try_at <= $1
            order by next_try_at, no limit 1""",
            clock.now,
        )
        if row is None:
            return
        await run_attempt(runtime, EffectAttempt(row["id"], row["round"]), fair_places)


async def work_until_settled(runtime: Runtime, clock: MovingClock) -> None:
    """Move the clock from try to try until nothing is planned any more."""
    while (due := await next_try(runtime)) is not None:
        clock.now = max(clock.now, due)
        await work_off(runtime, clock)
