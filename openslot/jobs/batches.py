"""Large work in small steps: each batch is a transaction of its own, so that nobody waits long for its locks."""

from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

BATCH = 500
# Enough for what gathers between two runs of a busy service; the rest is left to the next run.
MOST_BATCHES = 400

Place = TypeVar("Place")


class Batch(NamedTuple, Generic[Place]):
    """How much one batch changed, and where the next one begins; None at the end."""

    changed: int
    next: Place | None


async def repeat(change: Callable[[int], Awaitable[int]], *, size: int = BATCH, most: int = MOST_BATCHES) -> int:
    """Call what changes up to so many rows until it finds fewer; tell how many there were."""
    total = 0
    for _ in range(most):
        changed = await change(size)
        total += changed
        if changed < size:
            break
    return total


async def walk(change: Callable[[Place], Awaitable[Batch[Place]]], start: Place, *, most: int = MOST_BATCHES) -> int:
    """Go from place to place to the end, or until so many batches have changed something; tell how much changed."""
    total = 0
    place: Place | None = start
    while place is not None and most:
        changed, place = await change(place)
        total += changed
        most -= bool(changed)
    return total
