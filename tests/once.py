"""What all processes of a test run share: made by the first that needs it, while the others wait."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def run_dir(factory: pytest.TempPathFactory) -> Path:
    """Return the directory that all processes of this run have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a directory of the run after `make` has filled it, once."""
    place = run_dir(factory) / name
    done = place.with_name(f"{name}.done")
    with place.with_name(f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not done.exists():
            place.mkdir()
            make(place)
            done.touch()
    return place
