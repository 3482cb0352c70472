"""Effects that are caused and waited for."""

import asyncio
from collections.abc import Callable
from uuid import UUID

from openslot.core.actor import OPERATOR
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from tests.jobs.probes import Poked
from tests.support.effects import WITHIN


async def poke(runtime: Runtime, note: str, *, thing: UUID | None = None) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.record(Poked(thing=thing or new_id(), note=note))


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
