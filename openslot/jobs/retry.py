"""When a failed effect is tried again."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from random import uniform

JITTER = 0.1
LONGEST_WISH = timedelta(hours=24)
SHORTEST_HAND_OVER, LONGEST_HAND_OVER = timedelta(seconds=5), timedelta(seconds=30)


def hand_over_delay(age: timedelta, *, spread: Callable[[float, float], float] = uniform) -> timedelta:
    """Choose how long an effect waits for a worker that knows it: seconds at first, half a minute when it is old."""
    return min(max(age / 4, SHORTEST_HAND_OVER), LONGEST_HAND_OVER) * spread(1 - JITTER, 1 + JITTER)


def next_delay(
    delays: Sequence[timedelta],
    attempts: int,
    *,
    wished: timedelta | None = None,
    spread: Callable[[float, float], float] = uniform,
) -> timedelta | None:
    """Choose the delay after this many attempts, or return None if there were enough.

    A delay that the other side asks for is honoured up to a day, and never shortens our own.
    """
    if attempts > len(delays):
        return None
    planned = delays[attempts - 1] * spread(1 - JITTER, 1 + JITTER)
    return max(planned, min(wished, LONGEST_WISH)) if wished is not None else planned
