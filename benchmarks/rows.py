"""A table of operations beside the ceiling: what each is, and how its figures are measured and printed."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from benchmarks.load import Result
from benchmarks.turns import measure_in_turns

HEAD = f"{'operation':<36}{'req/s':>9}{'p95 ms':>9}{'ceiling':>9}{'ratio':>8}{'at least':>10}{'beyond':>8}"


class Row(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    requests: Iterator[bytes]
    count: int
    at_least: str = ""
    beyond: str = ""


async def measure_rows(ports: tuple[int, int], rows: Iterable[Row]) -> None:
    """Measure every operation in turns with the ceiling, and print the table."""
    print(HEAD)
    for row in rows:
        _print_row(row, *await measure_in_turns(ports, row.requests, count=row.count))


def _print_row(row: Row, top: Result, own: Result) -> None:
    if set(own.statuses) != {200}:
        raise SystemExit(f"{row.name} answered {own.statuses}")
    ratio = own.per_second / top.per_second
    print(
        f"{row.name:<36}{own.per_second:>9.0f}{own.p95_ms:>9.1f}{top.per_second:>9.0f}{ratio:>8.2f}"
        f"{row.at_least:>10}{row.beyond:>8}",
        flush=True,
    )
