"""Measure the engine alone, every operation against the ceiling, the worker, pages and growth; print the figures."""

import asyncio
import sys

import uvloop

from benchmarks import (
    agents,
    concurrency,
    dashboard,
    drain,
    effects,
    engine,
    fairness,
    figures,
    growth,
    mail,
    pages,
    scim,
    teams,
)
from benchmarks.data import BenchmarkData, list_made, set_up
from benchmarks.load import Result
from benchmarks.operations import Operation, changes, moves, operations
from benchmarks.stage import Stage, ceiling, service, stage
from benchmarks.turns import measure_in_turns

BOOKINGS = 100_000


def main() -> None:
    """Run everything and print the tables."""
    if sys.argv[1:2] == ["growth"]:
        growth.main(sys.argv[2:])
        return
    bookings = int(sys.argv[1]) if len(sys.argv) > 1 else BOOKINGS
    engine.main()
    print()
    fairness.main()
    with stage() as here:
        data = asyncio.run(set_up(here.url, bookings=bookings))
        print(f"\n{bookings:,} bookings of 1,000 hosts, one web process, concurrency 32")
        with ceiling(here) as top, service(here) as own:
            uvloop.run(_measure_all(here, data, (top.port, own.port)))
    concurrency.main([])
    print()
    effects.main()
    drain.main()
    mail.main()
    print()
    scim.main()
    teams.main()
    print()
    agents.main()
    print()
    figures.main()
    print()
    pages.main()
    print()
    dashboard.main()
    print()
    growth.main(["200000"])


async def _measure_all(here: Stage, data: BenchmarkData, ports: tuple[int, int]) -> None:
    booking, wishes = changes(data)
    await _measure(ports, [*operations(data), booking])
    await _measure(ports, moves(await list_made(here.url, data), wishes))


async def _measure(ports: tuple[int, int], wanted: list[Operation]) -> None:
    print(f"\n{'operation':<40}{'req/s':>9}{'p95 ms':>9}{'ceiling':>9}{'ratio':>8}{'at least':>10}{'beyond':>8}")
    for operation in wanted:
        _print_row(operation, *await measure_in_turns(ports, operation.requests, count=operation.count))


def _print_row(operation: Operation, top: Result, own: Result) -> None:
    if set(own.statuses) != {200}:
        raise SystemExit(f"{operation.name} answered {own.statuses}")
    ratio = own.per_second / top.per_second
    print(
        f"{operation.name:<40}{own.per_second:>9.0f}{own.p95_ms:>9.1f}{top.per_second:>9.0f}{ratio:>8.2f}"
        f"{_target(operation.at_least):>10}{_target(operation.beyond):>8}",
        flush=True,
    )


def _target(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.2f}"


if __name__ == "__main__":
    main()
