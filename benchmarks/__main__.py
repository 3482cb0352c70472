"""Measure ceiling and service in turns, take the best of three, print the ratios."""

import asyncio

import asyncpg
import uvloop

from benchmarks.load import Result, run_load
from benchmarks.operations import Operation, ceiling_requests, operations
from benchmarks.scenery import make_ceiling, make_hosts
from benchmarks.stage import Stage, ceiling, service, stage
from openslot.core.migrate import migrate

ROUNDS = 3
COUNT = 6_000


def main() -> None:
    """Run everything and print a table."""
    with stage() as here:
        keys = asyncio.run(_set_up(here))
        with ceiling(here) as ceiling_port, service(here) as service_port:
            uvloop.run(_measure(ceiling_port, service_port, operations(keys)))


async def _set_up(here: Stage) -> list[str]:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    try:
        keys = await make_hosts(connection)
        await make_ceiling(connection)
        return keys
    finally:
        await connection.close()


async def _measure(ceiling_port: int, service_port: int, wanted: list[Operation]) -> None:
    print(f"{'operation':<34}{'req/s':>9}{'p95 ms':>9}{'ceiling':>9}{'ratio':>8}{'at least':>10}{'beyond':>8}")
    base = ceiling_requests()
    for operation in wanted:
        await run_load(service_port, operation.requests, count=COUNT // 3)
        pairs = []
        for _ in range(ROUNDS):
            top = await run_load(ceiling_port, base, count=COUNT)
            pairs.append((top, await run_load(service_port, operation.requests, count=COUNT)))
        best_top = max((top for top, _ in pairs), key=lambda result: result.per_second)
        best = max((own for _, own in pairs), key=lambda result: result.per_second)
        _print_row(operation, best_top, best)


def _print_row(operation: Operation, top: Result, own: Result) -> None:
    if set(own.statuses) != {200}:
        raise SystemExit(f"{operation.name} answered {own.statuses}")
    ratio = own.per_second / top.per_second
    print(
        f"{operation.name:<34}{own.per_second:>9.0f}{own.p95_ms:>9.1f}{top.per_second:>9.0f}"
        f"{ratio:>8.2f}{operation.at_least:>10.2f}{operation.beyond:>8.2f}"
    )


if __name__ == "__main__":
    main()
