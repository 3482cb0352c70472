"""Many are served one after the other: what fails for one of them does not keep the others from it."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

import asyncpg
import structlog
from msgspec import Struct

from openslot.platform.core.db import PoolClosedError, is_unavailable
from openslot.platform.core.turns import find_turn
from openslot.platform.core.work import Work
from openslot.platform.jobs import store

LONGEST_ERROR = 300

log = structlog.get_logger()

Item = TypeVar("Item")
Result = TypeVar("Result")


class Served(Struct, Generic[Result], frozen=True):
    results: list[Result]
    """The results of the items for which it succeeded, in their order."""

    failed: int


async def serve_each(
    work: Work,
    name: str,
    items: Iterable[Item],
    serve: Callable[[Item], Awaitable[Result]],
    *,
    key: Callable[[Item], object] = str,
    for_all: tuple[type[Exception], ...] = (),
) -> Served[Result]:
    """Do the same for each of many; whatever fails is undone, logged, and kept for the doctor and the metrics.

    Within a transaction each has a savepoint; otherwise `serve` opens the transactions that it needs. Faults `for_all`,
    which all that follow would have too, are raised at once.
    """
    results: list[Result] = []
    served: list[str] = []
    failed: dict[str, str] = {}
    ended_by: Exception | None = None
    for item in items:
        try:
            results.append(await _serve(work, item, serve))
        # Whatever it is, it is about this one; a cancellation is no Exception.
        except Exception as fault:
            if _is_database(fault):
                raise
            if isinstance(fault, for_all):
                ended_by = fault
                break
            log.exception("one of many failed", job=name, item=str(key(item)))
            failed[str(key(item))] = describe(fault)
        else:
            served.append(str(key(item)))
    if served or failed:
        await store.keep_failed(work.db, name, served=served, failed=failed, now=work.now)
    if ended_by is not None:
        raise ended_by
    return Served(results, len(failed))


async def _serve(work: Work, item: Item, serve: Callable[[Item], Awaitable[Result]]) -> Result:
    if work.db is work.runtime.pool:
        return await serve(item)
    async with work.attempt():
        return await serve(item)


def _is_database(fault: Exception) -> bool:
    """Return whether it is about none of them: no database, or a turn for which the whole transaction runs again."""
    if isinstance(fault, asyncpg.LockNotAvailableError):
        return find_turn(fault) is not None
    return isinstance(fault, PoolClosedError) or is_unavailable(fault)


def describe(fault: Exception) -> str:
    """Write what failed, without the details, in which the database quotes rows."""
    return f"{type(fault).__name__}: {fault}".partition("\n")[0][:LONGEST_ERROR]
