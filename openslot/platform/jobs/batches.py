"""Large changes in small steps: each batch has its own transaction, so that its locks are held only briefly."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from openslot.platform.core.db import Db, delete_oldest

BATCH = 500
# Enough for what accumulates between two runs of a busy service; the next run does the rest.
MAX_BATCHES = 400

Position = TypeVar("Position")


class Batch(NamedTuple, Generic[Position]):
    """How much one batch changed, and where the next one begins; None at the end."""

    changed: int
    next: Position | None


async def repeat(change: Callable[[int], Awaitable[int]], *, size: int = BATCH, max_: int = MAX_BATCHES) -> int:
    """Call `change` with a batch size until it changes fewer rows than that; return how many it has changed."""
    total = 0
    for _ in range(max_):
        changed = await change(size)
        total += changed
        if changed < size:
            break
    return total


async def delete_old(db: Db, table: str, by: str, *, before: datetime, key: str = "id") -> int:
    """Delete all rows of a table whose time is not after another, batch by batch, and return how many they were."""
    return await repeat(lambda limit: delete_oldest(db, table, by, before=before, limit=limit, key=key))


async def walk(
    change: Callable[[Position], Awaitable[Batch[Position]]], start: Position, *, max_: int = MAX_BATCHES
) -> int:
    """Go from position to position until the end, or until `max_` batches have changed something; return the total."""
    total = 0
    position: Position | None = start
    while position is not None and max_:
        changed, position = await change(position)
        total += changed
        max_ -= bool(changed)
    return total
