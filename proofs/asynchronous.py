"""The counter-example: the primary of a cluster whose standby is asynchronous is killed while the standby is behind."""

import asyncio
import time
from pathlib import Path

from proofs.cluster import cluster, wait_for
from proofs.figures import Figure
from proofs.proxy import Fault
from proofs.storm import count_bookings, storm

BEHIND_BY = 20
CALM = 2.0


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Hold the line to the standby up, kill the primary, and count the acknowledged bookings that are gone."""
    return asyncio.run(_prove(place))


async def _prove(place: Path) -> list[Figure]:
    async with cluster(place, synchronous=False, proxied=True) as engine:
        async with storm(place, engine) as blowing:
            await asyncio.sleep(CALM)
            primary = await engine.get_primary()
            other = engine.get_other(primary)
            _, replication, _ = primary.lines
            async with replication.broken(Fault.BLACK_HOLE):
                before = len(blowing.acknowledged)
                async with asyncio.timeout(60):
                    while len(blowing.acknowledged) < before + BEHIND_BY:
                        await asyncio.sleep(0.02)
                behind_by = len(blowing.acknowledged) - before
                began = time.monotonic()
                primary.kill_all()
                await wait_for(lambda: other.is_("primary"))
            away = await blowing.wait_for_service(began)
            await asyncio.sleep(CALM)
        return [
            Figure("acknowledged while the standby was behind", behind_by, at_least=BEHIND_BY),
            *await count_bookings(engine.direct_url, blowing.acknowledged, may_lose=True),
            Figure("seconds without service", round(away, 1)),
            *blowing.count_answers(),
        ]
