"""The operations that are measured, and the share of the ceiling that each should reach."""

import itertools
import random
from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct

from benchmarks.load import get
from benchmarks.scenery import Scenery
from openslot.core.clock import system_clock
from openslot.demo.large import LargeHost


class Operation(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    requests: Iterator[bytes]
    at_least: float | None = None
    beyond: float | None = None
    count: int = 6_000


def ceiling_requests() -> Iterator[bytes]:
    """Ask for one row after the other."""
    return itertools.cycle([get(f"/{n}") for n in range(1, 1001)])


def operations(scenery: Scenery) -> list[Operation]:
    """List what is measured."""
    shuffled = random.sample(scenery.keys, len(scenery.keys))
    return [
        Operation(
            name="GET /me", at_least=0.45, beyond=0.55, requests=_cycle([get("/api/v1/me", key) for key in shuffled])
        ),
        _slots(scenery.busy[0], days=7, busy=0),
        _slots(scenery.busy[50], days=7, busy=50, at_least=0.22, beyond=0.30),
        _slots(scenery.busy[500], days=31, busy=500),
        _slots(scenery.busy[500], days=62, busy=500, at_least=0.05, beyond=0.10),
        _slots(scenery.busy[5_000], days=62, busy=5_000),
    ]


def _slots(
    hosts: list[LargeHost], *, days: int, busy: int, at_least: float | None = None, beyond: float | None = None
) -> Operation:
    today = system_clock().date()
    query = f"timezone=America/New_York&startDate={today}&endDate={today + timedelta(days=days - 1)}"
    requests = [get(f"/api/v1/availability/30min?{query}", host.api_key) for host in hosts]
    return Operation(
        name=f"GET /availability, {days} days, {busy} busy",
        requests=_cycle(requests),
        at_least=at_least,
        beyond=beyond,
        count=2_000 if days < 31 else 600,
    )


def _cycle(requests: list[bytes]) -> Iterator[bytes]:
    return itertools.cycle(requests)
