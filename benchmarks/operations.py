"""The operations that are measured, and the share of the ceiling that each should reach."""

import itertools
import random
from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct

from benchmarks.data import BUSY, BenchmarkData
from benchmarks.load import get, send
from openslot.demo.large import LargeHost
from openslot.doors.public_tools.booking import PATH
from openslot.platform.core.times import iso
from openslot.platform.core.work import system_clock

ASSISTANTS = 10_000


class Operation(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    requests: Iterator[bytes]
    at_least: float | None = None
    beyond: float | None = None
    count: int = 6_000


def operations(data: BenchmarkData) -> list[Operation]:
    """List what is measured."""
    shuffled = random.sample(data.keys, len(data.keys))
    return [
        Operation(
            name="GET /me", at_least=0.45, beyond=0.55, requests=_cycle([get("/api/v1/me", key) for key in shuffled])
        ),
        Operation(
            name="GET /bookings, 20 rows",
            at_least=0.22,
            beyond=0.27,
            requests=_cycle([get("/api/v1/bookings", key) for key in shuffled]),
            count=3_000,
        ),
        *(_history(keys, bookings=bookings) for bookings, keys in data.long_standing.items()),
        Operation(
            name="GET /bookings/:id",
            at_least=0.35,
            beyond=0.45,
            requests=_cycle([get(f"/api/v1/bookings/{booking}", key) for key, booking in data.booked]),
        ),
        Operation(
            name="GET /contacts?search=, 10,000",
            at_least=0.15,
            beyond=0.30,
            requests=_cycle(
                [get(f"/api/v1/contacts?search={n % 900 + 100:05}", key) for n, key in enumerate(data.popular)]
            ),
            count=2_000,
        ),
        _slots(data.busy[0], days=7, busy=0),
        _slots(data.busy[50], days=7, busy=50, at_least=0.20, beyond=0.25),
        _public_slots(data.hosts[: BUSY[50]], busy=50),
        _slots(data.busy[500], days=31, busy=500),
        _slots(data.busy[500], days=62, busy=500, at_least=0.05, beyond=0.10),
        _slots(data.busy[5_000], days=62, busy=5_000),
    ]


def changes(data: BenchmarkData) -> tuple[Operation, Iterator[tuple[str, str]]]:
    """Make the operation that books, and the free starts that are left for moving what was booked."""
    wishes = ((key, iso(start)) for key, start in data.free)
    booking = Operation(
        name="POST /bookings",
        at_least=0.08,
        beyond=0.12,
        requests=(send("POST", "/api/v1/bookings", key, _wish(start)) for key, start in wishes),
        count=1_500,
    )
    return booking, wishes


def moves(made: list[tuple[str, str]], wishes: Iterator[tuple[str, str]]) -> list[Operation]:
    """List what is done to bookings that were made: each is moved, then cancelled."""
    by_key: dict[str, list[str]] = {}
    for key, booking in made:
        by_key.setdefault(key, []).append(booking)
    paths = ((key, f"/api/v1/bookings/{by_key[key].pop()}", start) for key, start in wishes if by_key.get(key))
    moving = (send("PATCH", f"{path}/reschedule", key, {"newStartTime": start}) for key, path, start in paths)
    cancelling = (send("POST", f"/api/v1/bookings/{booking}/cancel", key, {}) for key, booking in made)
    return [
        Operation(name="PATCH /bookings/:id/reschedule", at_least=0.08, beyond=0.12, requests=moving, count=1_000),
        Operation(name="POST /bookings/:id/cancel", at_least=0.08, beyond=0.12, requests=cancelling, count=1_000),
    ]


def _wish(start: str) -> dict[str, str]:
    return {
        "eventTypeSlug": "30min",
        "startTime": start,
        "inviteeName": "Bench Client",
        "inviteeEmail": "client@bench.example",
        "inviteeTimezone": "Europe/Berlin",
    }


def _history(keys: list[str], *, bookings: int) -> Operation:
    return Operation(
        name=f"GET /bookings, 20 of {bookings:,}",
        at_least=0.20,
        beyond=0.25,
        requests=_cycle([get("/api/v1/bookings", key) for key in keys]),
        count=3_000,
    )


def _slots(
    keys: list[str], *, days: int, busy: int, at_least: float | None = None, beyond: float | None = None
) -> Operation:
    today = system_clock().date()
    query = f"timezone=America/New_York&startDate={today}&endDate={today + timedelta(days=days - 1)}"
    requests = [get(f"/api/v1/availability/30min?{query}", key) for key in keys]
    return Operation(
        name=f"GET /availability, {days} days, {busy} busy",
        requests=_cycle(requests),
        at_least=at_least,
        beyond=beyond,
        count=2_000 if days < 31 else 600,
    )


def _public_slots(hosts: list[LargeHost], *, busy: int) -> Operation:
    """Ask the public tool server for the times of a week, from many addresses: each has a limit."""
    today = system_clock().date()
    asked = {"timezone": "America/New_York", "startDate": str(today), "endDate": str(today + timedelta(days=6))}
    messages = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "list_free_times", "arguments": {"eventTypeId": str(host.event_type_id), **asked}},
        }
        for host in hosts
    ]
    requests = [
        send("POST", PATH, "", messages[n % len(messages)], address=f"10.0.{n // 250}.{n % 250}")
        for n in range(ASSISTANTS)
    ]
    return Operation(
        name=f"list_free_times, 7 days, {busy} busy",
        # The door refuses requests to names that are not the installation's own.
        requests=_cycle([request.replace(b"Host: bench", b"Host: localhost", 1) for request in requests]),
        at_least=0.15,
        count=2_000,
    )


def _cycle(requests: list[bytes]) -> Iterator[bytes]:
    return itertools.cycle(requests)
