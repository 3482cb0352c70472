"""Measure ceiling and service in turns, take the best of three, print the ratios."""

import asyncio
import sys

import asyncpg
import uvloop

from benchmarks import engine
from benchmarks.load import Result, run_load
from benchmarks.operations import Operation, ceiling_requests, changes, moves, operations
from benchmarks.scenery import Scenery, make_ceiling, make_scenery
from benchmarks.stage import Stage, ceiling, service, stage
from openslot.core.migrate import migrate

ROUNDS = 3
BOOKINGS = 100_000
CEILING_COUNT = 6_000


def main() -> None:
    """Run everything and print the tables."""
    bookings = int(sys.argv[1]) if len(sys.argv) > 1 else BOOKINGS
    engine.main()
    with stage() as here:
        scenery = asyncio.run(_set_up(here, bookings))
        print(f"\n{bookings:,} bookings of 1,000 hosts, one web process, concurrency 32")
        with ceiling(here) as ceiling_port, service(here) as service_port:
            uvloop.run(_measure_all(here, scenery, (ceiling_port, service_port)))


async def _measure_all(here: Stage, scenery: Scenery, ports: tuple[int, int]) -> None:
    booking, wishes = changes(scenery)
    await _measure(*ports, [*operations(scenery), booking])
    connection = await asyncpg.connect(here.url)
    keys = {host.id: host.api_key for host in scenery.hosts}
    rows = await connection.fetch("select host_id, id from bookings where invitee_email = 'client@bench.example'")
    await connection.close()
    await _measure(*ports, moves([(keys[row["host_id"]], str(row["id"])) for row in rows], wishes))


async def _set_up(here: Stage, bookings: int) -> Scenery:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    try:
        await make_ceiling(connection)
        return await make_scenery(connection, bookings=bookings)
    finally:
        await connection.close()


async def _measure(ceiling_port: int, service_port: int, wanted: list[Operation]) -> None:
    print(f"\n{'operation':<40}{'req/s':>9}{'p95 ms':>9}{'ceiling':>9}{'ratio':>8}{'at least':>10}{'beyond':>8}")
    base = ceiling_requests()
    for operation in wanted:
        await run_load(service_port, operation.requests, count=operation.count // 3)
        pairs = []
        for _ in range(ROUNDS):
            top = await run_load(ceiling_port, base, count=CEILING_COUNT)
            pairs.append((top, await run_load(service_port, operation.requests, count=operation.count)))
        best_top = max((top for top, _ in pairs), key=lambda result: result.per_second)
        best = max((own for _, own in pairs), key=lambda result: result.per_second)
        _print_row(operation, best_top, best)


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
