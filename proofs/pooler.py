"""Restart the pooler of a cluster under a storm of bookings, in order and with `kill -9`, and count what is lost."""

import asyncio
import statistics
import time
from pathlib import Path

from proofs.cluster import Cluster, cluster
from proofs.figures import Figure
from proofs.storm import Storm, count_bookings, storm

RESTARTS = 10
AWAY_FOR = 1.0
BACK_WITHIN = 10.0
CALM = 2.0


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Stop PgBouncer for a second again and again, every other time without warning."""
    return asyncio.run(_prove(place, 2 if short else RESTARTS))


async def _prove(place: Path, restarts: int) -> list[Figure]:
    async with cluster(place) as engine:
        async with storm(place, engine) as blowing:
            figures = await restart_pooler(engine, blowing, restarts=restarts)
            await asyncio.sleep(CALM)
        return [
            *figures,
            *await count_bookings(engine.direct_url, blowing.acknowledged),
            *blowing.count_answers(),
        ]


async def restart_pooler(engine: Cluster, blowing: Storm, *, restarts: int) -> list[Figure]:
    """Restart it so often, and tell for how long nobody could book."""
    away = [await _restart(engine, blowing, is_warned=bool(number % 2)) for number in range(restarts)]
    return [
        Figure("PgBouncer restarted", len(away), at_least=restarts),
        Figure("median without service, s", round(statistics.median(away), 1)),
        Figure("longest without service, s", round(max(away), 1), within=BACK_WITHIN),
    ]


async def _restart(engine: Cluster, blowing: Storm, *, is_warned: bool) -> float:
    """Restart it, and tell for how long nobody could book."""
    await asyncio.sleep(CALM)
    began = time.monotonic()
    (engine.pooler.stop if is_warned else engine.pooler.kill)()
    await asyncio.sleep(AWAY_FOR)
    engine.pooler.start()
    return await blowing.wait_for_service(began)
