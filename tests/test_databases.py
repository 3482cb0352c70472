"""Where the tests' PostgreSQL keeps its data: in memory if there is enough, and nothing stays of a killed run."""

import os
from pathlib import Path

import pytest

from tests.support import databases
from tests.support.databases import fast_dir

NOBODY = 2**22 + 1  # above the largest process id of Linux


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take a directory for memory, and any room for enough."""
    monkeypatch.setattr(databases, "MEMORY", tmp_path)
    monkeypatch.setattr(databases, "MEMORY_NEEDED", 0)
    return tmp_path


def test_what_a_killed_run_has_left_in_memory_is_removed_and_another_run_keeps_its_own(memory: Path) -> None:
    killed, running = (memory / f"openslot-tests-{pid}" for pid in (NOBODY, os.getppid()))
    for place in (killed, running):
        (place / "postgres").mkdir(parents=True)

    with fast_dir(memory / "otherwise") as place:
        assert place.parent == memory
        assert place.is_dir()
        assert sorted(memory.iterdir()) == sorted([running, place])

    assert list(memory.iterdir()) == [running]


def test_with_little_memory_data_goes_elsewhere(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "MEMORY_NEEDED", 2**62)
    with fast_dir(memory / "otherwise") as place:
        assert place == memory / "otherwise"

    monkeypatch.setattr(databases, "MEMORY", memory / "missing")
    with fast_dir(memory / "otherwise") as place:
        assert place == memory / "otherwise"
