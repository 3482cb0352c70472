"""The main operations with 1, 8, 32 and 100 requests at a time, and with few and many bookings, beside the ceiling."""

import asyncio
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import cycle

import uvloop

from benchmarks.data import BenchmarkData, list_made, set_up
from benchmarks.load import Result, Tally, run_load
from benchmarks.operations import Operation, changes, moves, operations
from benchmarks.stage import Stage, ceiling, service, stage
from benchmarks.turns import CEILING_REQUESTS

SIZES = (100, 100_000, 1_000_000)
LEVELS = (1, 8, 32, 100)
MAIN = (
    "GET /me",
    "GET /bookings, 20 rows",
    "GET /bookings/:id",
    "GET /availability, 7 days, 50 busy",
    "GET /availability, 62 days, 500 busy",
)
# Ceiling and service take turns, and the best turn of each counts: this is a look at all of them, in a few minutes.
TURNS = 3
CEILING_COUNT = 800
SHARE_OF_COUNT = 10
ALLOWED = 1.3

# The shares of the ceiling of each operation, by how many requests there are at a time.
Shares = dict[str, dict[int, float]]


def main(arguments: list[str]) -> None:
    """Measure with each number of bookings, and print the tables and what growth has cost."""
    sizes = [int(size) for size in arguments] or SIZES
    by_size = {size: _measure_size(size) for size in sizes}
    if len(by_size) > 1:
        _print_growth(by_size)


def _measure_size(bookings: int) -> Shares:
    with stage() as here:
        began = time.perf_counter()
        data = asyncio.run(set_up(here.url, bookings=bookings))
        took = time.perf_counter() - began
        print(f"\n{bookings:,} bookings of 1,000 hosts (written in {took:.0f} s), one web process")
        print(f"{'at a time':<38}" + "".join(f"{level:>23}" for level in LEVELS))
        print(f"{'operation':<38}" + f"{'req/s':>8}{'p95 ms':>8}{'share':>7}" * len(LEVELS))
        with ceiling(here) as top, service(here) as own:
            return uvloop.run(_measure_all(here, data, (top.port, own.port)))


async def _measure_all(here: Stage, data: BenchmarkData, ports: tuple[int, int]) -> Shares:
    booking, wishes = changes(data)
    chosen = [operation for operation in operations(data) if operation.name in MAIN]
    shares = await _measure(ports, [*chosen, booking])
    return shares | await _measure(ports, moves(await list_made(here.url, data), wishes))


async def _measure(ports: tuple[int, int], wanted: Iterable[Operation]) -> Shares:
    shares: Shares = {}
    for operation in wanted:
        shares[operation.name] = {}
        print(f"{operation.name:<38}", end="")
        for level in LEVELS:
            top, own = await _measure_level(ports, operation, level)
            if set(own.statuses) != {200}:
                raise SystemExit(f"{operation.name} answered {own.statuses} with {level} at a time")
            shares[operation.name][level] = own.per_second / top.per_second
            print(f"{own.per_second:>8.0f}{own.p95_ms:>8.1f}{shares[operation.name][level]:>7.2f}", end="", flush=True)
        print()
    return shares


async def _measure_level(ports: tuple[int, int], operation: Operation, level: int) -> tuple[Result, Result]:
    count = max(operation.count // SHARE_OF_COUNT, level)
    best: tuple[list[Result], list[Result]] = ([], [])
    for _ in range(TURNS):
        for port, requests, many, results in (
            (ports[0], cycle(CEILING_REQUESTS), CEILING_COUNT, best[0]),
            (ports[1], operation.requests, count, best[1]),
        ):
            results.append(await _take_turn(port, requests, count=many, level=level))
    top, own = (max(results, key=lambda result: result.per_second) for results in best)
    return top, own


async def _take_turn(port: int, requests: Iterator[bytes], *, count: int, level: int) -> Result:
    tally = Tally()
    await run_load(port, requests, tally, count=count, concurrency=level)
    return tally.result()


def _print_growth(by_size: dict[int, Shares]) -> None:
    """Print how many times smaller each share is with the most bookings than with the fewest."""
    few, many = min(by_size), max(by_size)
    print(f"\nslower with {many:,} bookings than with {few:,}, by shares of the ceiling (we allow {ALLOWED} x)")
    print(f"{'at a time':<38}" + "".join(f"{level:>8}" for level in LEVELS))
    for name, shares in by_size[few].items():
        times = (shares[level] / by_size[many][name][level] for level in LEVELS)
        print(f"{name:<38}" + "".join(f"{each:>8.2f}" for each in times))


if __name__ == "__main__":
    main(sys.argv[1:])
