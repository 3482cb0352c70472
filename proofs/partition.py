"""Cut lines in a cluster under a storm of bookings: from the service to the database, from the primary to others."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from proofs.cluster import Cluster, Node, cluster, wait_for
from proofs.figures import Figure
from proofs.proxy import Fault, FaultProxy
from proofs.storm import Storm, count_bookings, storm

# A request gives up before a primary that is cut off does, so that people ask it again.
TIMING = {"ttl": 12, "loop_wait": 1, "retry_timeout": 5}
LIMITS = {"OPENSLOT_DATABASE_WAIT_SECONDS": "1", "OPENSLOT_DATABASE_STATEMENT_SECONDS": "1"}
CUT_FOR = 8.0
BACK_WITHIN = 10.0
CALM = 2.0


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Cut each line in each way, heal it, and count what is lost and doubled."""
    return asyncio.run(_prove(place, short=short))


async def _prove(place: Path, *, short: bool) -> list[Figure]:
    faults = () if short else (Fault.BLACK_HOLE, Fault.RESET, Fault.HALF_CLOSE, Fault.MUTE)
    async with (
        cluster(place, proxied=True, timing=TIMING) as engine,
        FaultProxy("127.0.0.1", engine.pooler_port).running() as line,
    ):
        async with storm(place, engine, database_port=line.port, limits=LIMITS) as blowing:
            back = [await _isolate_primary(engine, blowing, lines=lines) for lines in ((3,) if short else (3, 1))]
            back += [await _cut(line, fault, blowing) for fault in faults]
            await asyncio.sleep(CALM)
        return [
            Figure("lines cut", len(back)),
            *await count_bookings(engine.direct_url, blowing.acknowledged),
            Figure("longest from healed to booked, s", round(max(back), 1), at_most=BACK_WITHIN),
            *blowing.count_answers(),
        ]


async def _cut(line: FaultProxy, fault: Fault, blowing: Storm) -> float:
    """Cut the service off from its database, heal that, and tell how long it took until somebody could book."""
    await asyncio.sleep(CALM)
    async with line.broken(fault):
        await asyncio.sleep(CUT_FOR)
    back = await blowing.wait_for_service(time.monotonic())
    print(f"{'service from database: ' + fault:>44}  booked {back:.1f} s after it was healed", flush=True)
    return back


async def _isolate_primary(engine: Cluster, blowing: Storm, *, lines: int) -> float:
    """Cut the primary off from etcd alone, or from its standby too; the service still reaches it."""
    await asyncio.sleep(CALM)
    primary = await engine.get_primary()
    other = engine.get_other(primary)
    cut = "primary from etcd" if lines == 1 else "primary from etcd and standby"
    async with _isolated(primary, lines):
        began = time.monotonic()
        await wait_for(lambda: other.is_("primary"))
        promoted = time.monotonic() - began
        back = await blowing.wait_for_service(time.monotonic())
    returned = await wait_for(lambda: primary.is_("synchronous"))
    print(
        f"{cut:>44}  other promoted after {promoted:.1f} s, booked {back:.1f} s later, "
        f"standby again {returned:.1f} s after it was healed",
        flush=True,
    )
    return back


@asynccontextmanager
async def _isolated(node: Node, lines: int) -> AsyncIterator[None]:
    for line in node.lines[:lines]:
        line.fault = Fault.BLACK_HOLE
    try:
        yield
    finally:
        for line in node.lines[:lines]:
            line.fault = Fault.NONE
