"""Kill the primary of a cluster under a storm of bookings, again and again, and count what is lost and doubled."""

import asyncio
import statistics
import time
from pathlib import Path

from msgspec import Struct

from proofs.cluster import Cluster, cluster, wait_for
from proofs.figures import Figure
from proofs.storm import Storm, count_bookings, storm

KILLS = 10
# Patroni waits for the lease of the primary to end (4 s), looks again every second, and promotes.
BACK_WITHIN = 20.0
CALM = 3.0


class Kill(Struct, frozen=True):
    """What one kill has done, in seconds from it."""

    promoted_after: float
    service_after: float
    returned_after: float
    """When the former primary was the synchronous standby."""

    def __str__(self) -> str:
        cells = (self.promoted_after, self.service_after, self.returned_after)
        return "".join(f"{cell:>22.1f}" for cell in cells)


HEAD = "".join(f"{name:>22}" for name in ("promoted after s", "service after s", "standby again after s"))


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Kill the primary with `kill -9`, ten times, each time after the last one has returned as a standby."""
    return asyncio.run(_prove(place, 1 if short else KILLS))


async def _prove(place: Path, kills: int) -> list[Figure]:
    async with cluster(place) as engine:
        async with storm(place, engine) as blowing:
            figures = await kill_primaries(engine, blowing, kills=kills)
            await asyncio.sleep(CALM)
        return [
            *figures,
            *await count_bookings(engine.direct_url, blowing.acknowledged),
            *blowing.count_answers(),
        ]


async def kill_primaries(engine: Cluster, blowing: Storm, *, kills: int) -> list[Figure]:
    """Kill whichever server is the primary so often, and tell for how long nobody could book."""
    print(HEAD, flush=True)
    done = []
    for _ in range(kills):
        await asyncio.sleep(CALM)
        done.append(await _kill_primary(engine, blowing))
        print(done[-1], flush=True)
    away = [kill.service_after for kill in done]
    return [
        Figure("kill -9 of PostgreSQL and Patroni", len(done), at_least=kills),
        Figure("median without service, s", round(statistics.median(away), 1)),
        Figure("longest without service, s", round(max(away), 1), within=BACK_WITHIN),
    ]


async def _kill_primary(engine: Cluster, blowing: Storm) -> Kill:
    """Kill it, wait until the other one has taken over, start it again, and wait until it follows."""
    primary = await engine.get_primary()
    other = engine.get_other(primary)
    began = time.monotonic()
    primary.kill_all()
    serving = asyncio.create_task(blowing.wait_for_service(began))
    await wait_for(lambda: other.is_("primary"))
    promoted_after = time.monotonic() - began
    primary.start()
    await wait_for(lambda: primary.is_("synchronous"))
    returned_after = time.monotonic() - began
    return Kill(promoted_after, await serving, returned_after)
