"""The operations that are measured, and the share of the ceiling that each should reach."""

import itertools
import random
from collections.abc import Iterator

from msgspec import Struct

from benchmarks.load import get


class Operation(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    at_least: float
    beyond: float
    requests: Iterator[bytes]


def ceiling_requests() -> Iterator[bytes]:
    """Ask for one row after the other."""
    return itertools.cycle([get(f"/{n}") for n in range(1, 1001)])


def operations(keys: list[str]) -> list[Operation]:
    """List what is measured."""
    shuffled = random.sample(keys, len(keys))
    return [
        Operation(
            name="GET /api/v1/me",
            at_least=0.45,
            beyond=0.55,
            requests=itertools.cycle([get("/api/v1/me", key) for key in shuffled]),
        )
    ]
