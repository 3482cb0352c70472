"""The short form of each proof that needs a cluster: every figure is within its bound."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from proofs.figures import Figure, Impossible

MEMORY = Path("/dev/shm")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory, where PostgreSQL returns sooner."""
    with TemporaryDirectory(prefix="openslot-cluster-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        made = Path(name)
        made.chmod(0o755)
        yield made


@pytest.mark.parametrize("part", ["failover"])
def test_every_figure_is_kept(part: str, place: Path) -> None:
    try:
        figures: list[Figure] = import_module(f"proofs.{part}").prove(place, short=True)
    except Impossible as fault:
        pytest.skip(str(fault))
    assert [str(figure) for figure in figures if not figure.is_kept] == []
