"""Installations for the terminal's tests: one is made once, and every test gets a copy of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.installation import Installation, installed


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Make a data directory with demo data, and keep what `seed` told about it."""
    data_dir = tmp_path_factory.mktemp("furnished")
    with installed(data_dir) as installation:
        seeded = installation.told("seed")
        installation.wait_until_gone()
    return data_dir, seeded


@pytest.fixture
def seeded(furnished: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """Give what `seed` told."""
    return furnished[1]


@pytest.fixture
def home(furnished: tuple[Path, dict[str, Any]], tmp_path: Path) -> Iterator[Installation]:
    """Lend an installation that somebody lives in."""
    shutil.copytree(furnished[0], tmp_path / "data", symlinks=True)
    with installed(tmp_path / "data") as installation:
        yield installation


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Installation]:
    """Lend an installation that has never been started."""
    with installed(tmp_path / "data") as installation:
        yield installation
