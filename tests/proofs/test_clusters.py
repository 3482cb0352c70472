"""The short form of each proof that needs a cluster: every figure is within its bound."""

import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from proofs.figures import Figure

INSTALL = Path(__file__).parents[2] / "scripts/install-cluster"
MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module", autouse=True)
def _engines() -> None:
    """PostgreSQL of Debian, Patroni, etcd and PgBouncer."""
    done = subprocess.run([INSTALL], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"scripts/install-cluster could not install what is needed: {done.stderr.strip()}")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory, where PostgreSQL returns sooner."""
    with TemporaryDirectory(prefix="openslot-cluster-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        made = Path(name)
        made.chmod(0o755)
        yield made


@pytest.mark.parametrize("part", ["failover"])
def test_every_figure_is_kept(part: str, place: Path) -> None:
    figures: list[Figure] = import_module(f"proofs.{part}").prove(place, short=True)
    assert [str(figure) for figure in figures if not figure.is_kept] == []
