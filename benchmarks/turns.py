"""Ceiling and service in short turns, so that both see the same machine; the best of three rounds counts."""

from collections.abc import Iterator
from itertools import cycle

from benchmarks.load import Result, Tally, get, run_load

ROUNDS = 3
# A shared machine changes its speed within seconds: both have their turn several times in a round.
TURNS = 5
CEILING_COUNT = 6_000
CEILING_REQUESTS = [get(f"/{n}") for n in range(1, 1001)]


async def measure_in_turns(ports: tuple[int, int], requests: Iterator[bytes], *, count: int) -> tuple[Result, Result]:
    """Send so many requests a round to the service, and many to the ceiling between them; tell the best of each."""
    ceiling_port, service_port = ports
    await run_load(service_port, requests, Tally(), count=count // 3)
    tops, owns = [], []
    for _ in range(ROUNDS):
        top, own = Tally(), Tally()
        for _ in range(TURNS):
            await run_load(ceiling_port, cycle(CEILING_REQUESTS), top, count=CEILING_COUNT // TURNS)
            await run_load(service_port, requests, own, count=count // TURNS)
        tops.append(top.result())
        owns.append(own.result())
    return max(tops, key=_speed), max(owns, key=_speed)


def _speed(result: Result) -> float:
    return result.per_second
