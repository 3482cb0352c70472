"""The counter-example: the primary of a cluster whose standby is asynchronous is killed while the standby is behind."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from proofs.cluster import Cluster, cluster, wait_for
from proofs.figures import Figure
from proofs.proxy import Fault
from proofs.storm import Storm, count_bookings, storm

REPLICATION = ("postgres",)
BEHIND_BY = 20
CALM = 2.0


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Hold the line to the standby up, kill the primary, and count the acknowledged bookings that are gone."""
    return asyncio.run(_prove(place))


async def _prove(place: Path) -> list[Figure]:
    async with cluster(place, proxied=REPLICATION) as engine:
        async with storm(place, engine) as blowing:
            figures, safe = await kill_while_behind(engine, blowing)
            await asyncio.sleep(CALM)
        return [
            *figures,
            *await count_bookings(engine.direct_url, blowing.acknowledged, safe=safe),
            *blowing.count_answers(),
        ]


async def kill_while_behind(engine: Cluster, blowing: Storm) -> tuple[list[Figure], Mapping[str, UUID]]:
    """Let the standby be asynchronous and fall behind, and kill the primary; tell also what was acknowledged before."""
    primary = await engine.get_primary()
    other = engine.get_other(primary)
    await primary.make_asynchronous()
    await wait_for(lambda: other.is_("asynchronous"))
    safe = dict(blowing.acknowledged)
    await asyncio.sleep(CALM)
    async with primary.lines["postgres"].broken(Fault.BLACK_HOLE):
        before = len(blowing.acknowledged)
        async with asyncio.timeout(60):
            while len(blowing.acknowledged) < before + BEHIND_BY:
                await asyncio.sleep(0.02)
        behind_by = len(blowing.acknowledged) - before
        began = time.monotonic()
        primary.kill_all()
        await wait_for(lambda: other.is_("primary"))
    away = await blowing.wait_for_service(began)
    return [
        Figure("acknowledged while the standby was behind", behind_by, at_least=BEHIND_BY),
        Figure("seconds without service", round(away, 1)),
    ], safe
