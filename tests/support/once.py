"""What all processes of a test run share: made by the first that needs it, while the others wait."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a directory of the run after `make` has filled it, once."""
    place = factory.getbasetemp() / name
    done = place.with_name(f"{name}.done")
    with place.with_name(f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not done.exists():
            place.mkdir()
            make(place)
            done.touch()
    return place
