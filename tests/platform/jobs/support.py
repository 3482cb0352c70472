"""Effects that are caused and waited for."""

import asyncio
from collections.abc import Callable
from uuid import UUID

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Periodic, Runtime
from tests.platform.jobs.probes import Poked
from tests.support.effects import WITHIN


async def poke(runtime: Runtime, note: str, *, thing: UUID | None = None) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.record(Poked(thing=thing or new_id(), note=note))


async def forget_run(runtime: Runtime, job: Periodic) -> None:
    """Let the last run of a job be so long ago that another one is due."""
    await runtime.pool.execute(
        """insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status)
        values ($1, $2, now() - interval '2 years', now() - interval '2 years', 0, 'ok')
        on conflict (name) do update set due_at = excluded.due_at""",
        job.name,
        job.expression,
    )


async def list_failed(runtime: Runtime, job: str) -> dict[str, str]:
    """Tell for whom a job has failed, and why."""
    rows = await runtime.pool.fetch("select item, error from failed_items where job = $1 order by item", job)
    return {row["item"]: row["error"] for row in rows}


async def states(runtime: Runtime) -> list[str]:
    return [row["state"] for row in await runtime.pool.fetch("select state from effects order by no")]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(WITHIN):
        while not condition():
            await asyncio.sleep(0.01)


async def settled(runtime: Runtime) -> list[str]:
    """Wait until nothing is left to do."""
    async with asyncio.timeout(WITHIN):
        while {"waiting", "queued", "running"} & set(now := await states(runtime)):
            await asyncio.sleep(0.01)
    return now
