"""The short form of the proofs that need a cluster, one after the other in the same one: every figure is kept."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from proofs.asynchronous import kill_while_behind
from proofs.cluster import cluster
from proofs.failover import kill_primaries
from proofs.figures import Figure, Impossible
from proofs.partition import EVERY_LINE, LIMITS, cut_primary, cut_service
from proofs.pooler import restart_pooler
from proofs.proxy import Fault, FaultProxy
from proofs.storm import count_bookings, storm

MEMORY = Path("/dev/shm")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory, where PostgreSQL returns sooner."""
    with TemporaryDirectory(prefix="openslot-cluster-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        made = Path(name)
        made.chmod(0o755)
        yield made


def test_every_figure_is_kept(place: Path) -> None:
    """Also that the count finds what the last one loses, whose standby was not asked to keep it."""
    try:
        figures = asyncio.run(break_everything(place))
    except Impossible as fault:
        pytest.skip(str(fault))
    # Beside other tests everything takes longer.
    assert [str(figure) for figure in figures if not figure.is_kept and figure.within is None] == []


async def break_everything(place: Path) -> list[Figure]:
    async with (
        cluster(place, proxied=EVERY_LINE) as engine,
        FaultProxy("127.0.0.1", engine.pooler_port).running() as line,
    ):
        async with storm(place, engine, database_port=line.port, limits=LIMITS) as blowing:
            figures = [
                *await restart_pooler(engine, blowing, restarts=1),
                *await cut_service(line, blowing, faults=[Fault.BLACK_HOLE], cut_for=3),
                *await cut_primary(engine, blowing, isolations=[EVERY_LINE]),
                *await kill_primaries(engine, blowing, kills=1),
            ]
            lost, safe = await kill_while_behind(engine, blowing)
        return [
            *figures,
            *lost,
            *await count_bookings(engine.direct_url, blowing.acknowledged, safe=safe),
            *blowing.count_answers(),
        ]
