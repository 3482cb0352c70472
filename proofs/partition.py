"""Cut lines in a cluster under a storm of bookings: from the service to the database, from the primary to others."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from proofs.cluster import Cluster, Node, cluster, wait_for
from proofs.figures import Figure
from proofs.proxy import Fault, FaultProxy
from proofs.storm import Storm, count_bookings, storm

# A request gives up before a primary that is cut off does, so that people ask it again.
TIMING = {"ttl": 12, "loop_wait": 1, "retry_timeout": 5}
LIMITS = {"OPENSLOT_DATABASE_WAIT_SECONDS": "1", "OPENSLOT_DATABASE_STATEMENT_SECONDS": "1"}
EVERY_LINE = ("etcd", "postgres", "rest")
CUT_FOR = 8.0
BACK_WITHIN = 10.0
CALM = 2.0


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Cut each line in each way, heal it, and count what is lost and doubled."""
    return asyncio.run(_prove(place, short=short))


async def _prove(place: Path, *, short: bool) -> list[Figure]:
    faults = () if short else (Fault.BLACK_HOLE, Fault.RESET, Fault.HALF_CLOSE, Fault.MUTE)
    isolations = (EVERY_LINE,) if short else (EVERY_LINE, ("etcd",))
    async with (
        cluster(place, proxied=EVERY_LINE, timing=TIMING) as engine,
        FaultProxy("127.0.0.1", engine.pooler_port).running() as line,
    ):
        async with storm(place, engine, database_port=line.port, limits=LIMITS) as blowing:
            figures = [
                *await cut_primary(engine, blowing, isolations=isolations),
                *await cut_service(line, blowing, faults=faults),
            ]
            await asyncio.sleep(CALM)
        return [
            *figures,
            *await count_bookings(engine.direct_url, blowing.acknowledged),
            *blowing.count_answers(),
        ]


async def cut_primary(engine: Cluster, blowing: Storm, *, isolations: Sequence[Sequence[str]]) -> list[Figure]:
    """Cut the primary off by each of these sets of lines; the service still reaches it."""
    done = [await _isolate_primary(engine, blowing, lines=lines) for lines in isolations]
    writable = sum(is_writable for _, is_writable in done)
    return [
        *_tell("primary cut off", [back for back, _ in done]),
        Figure("it took writes when the other was promoted", writable, at_most=0),
    ]


async def cut_service(
    line: FaultProxy, blowing: Storm, *, faults: Sequence[Fault], cut_for: float = CUT_FOR
) -> list[Figure]:
    """Cut the service off from its database in each of these ways."""
    done = [await _cut(line, fault, blowing, cut_for) for fault in faults]
    figures = _tell("service cut off", [back for back, _ in done])
    if done:
        figures.append(Figure("service cut off: fewest answers 503", min(many for _, many in done), at_least=1))
    return figures


def _tell(what: str, back: Sequence[float]) -> list[Figure]:
    return [
        Figure(f"{what}, times", len(back)),
        Figure(f"{what}: longest from healed to booked, s", round(max(back, default=0.0), 1), within=BACK_WITHIN),
    ]


async def _cut(line: FaultProxy, fault: Fault, blowing: Storm, cut_for: float) -> tuple[float, int]:
    """Cut the service off from its database and heal that; return how soon somebody could book, and how many 503s."""
    await asyncio.sleep(CALM)
    before = blowing.count_answered(503)
    async with line.broken(fault):
        await asyncio.sleep(cut_for)
    back = await blowing.wait_for_service(time.monotonic())
    print(f"{'service from database: ' + fault:>44}  booked {back:.1f} s after it was healed", flush=True)
    return back, blowing.count_answered(503) - before


async def _isolate_primary(engine: Cluster, blowing: Storm, *, lines: Sequence[str]) -> tuple[float, bool]:
    """Cut the primary off from etcd alone, or from its standby too.

    Return how long nobody could book after the other one was promoted, and whether the former one took writes then.
    """
    await asyncio.sleep(CALM)
    primary = await engine.get_primary()
    other = engine.get_other(primary)
    cut = "primary from etcd and standby" if lines == EVERY_LINE else "primary from etcd"
    async with _isolated(primary, lines):
        began = time.monotonic()
        await wait_for(lambda: other.is_("primary"))
        promoted = time.monotonic() - began
        is_writable = await primary.takes_writes()
        back = await blowing.wait_for_service(time.monotonic())
    returned = await wait_for(lambda: primary.is_("synchronous"))
    print(
        f"{cut:>44}  other promoted after {promoted:.1f} s, booked {back:.1f} s later, "
        f"standby again {returned:.1f} s after it was healed",
        flush=True,
    )
    return back, is_writable


@asynccontextmanager
async def _isolated(node: Node, lines: Sequence[str]) -> AsyncIterator[None]:
    for line in lines:
        node.lines[line].fault = Fault.BLACK_HOLE
    try:
        yield
    finally:
        for line in lines:
            node.lines[line].fault = Fault.NONE
