"""Keeping the audit record of every call: with the change that it made, or together with other calls that only read."""

import asyncio
from collections.abc import Sequence

from openslot.agents import audit_store as store
from openslot.agents.chain import ChainEnd, extend
from openslot.agents.models import CallRecord
from openslot.core.db import Db, transaction
from openslot.core.work import Runtime, Work


class CachedChainEnd:
    """The end of the chain as this process has last seen it, and the turn of its batches to write behind it."""

    __slots__ = ("end", "turn")

    def __init__(self) -> None:
        self.end: ChainEnd | None = None
        self.turn = asyncio.Lock()


async def keep(runtime: Runtime, record: CallRecord) -> None:
    """Keep the record of a call that changed nothing; all that come at the same moment are chained in one commit."""
    await runtime.batcher(_keep_all).ask(record)


async def keep_with(work: Work, record: CallRecord) -> None:
    """Keep the record of a call together with its change: the last statement before the commit."""
    known = work.runtime.one(CachedChainEnd)
    after = await _try_to_append(work.runtime, work.db, [record], known.end)
    # If this is not committed after all, the next one does not find its end and asks for it.
    known.end = after if after is not None else await _append(work.runtime, work.db, [record])


async def _keep_all(runtime: Runtime, records: Sequence[CallRecord]) -> list[None]:
    known = runtime.one(CachedChainEnd)
    async with known.turn:
        after = await _try_to_append(runtime, runtime.pool, records, known.end)
        if after is None:
            async with transaction(runtime.pool) as db:
                after = await _append(runtime, db, records)
        known.end = after
    return [None] * len(records)


async def _append(runtime: Runtime, db: Db, records: Sequence[CallRecord]) -> ChainEnd:
    end = await store.lock_end(db)
    after = await _try_to_append(runtime, db, records, end)
    if after is None:
        raise RuntimeError("the end of the audit chain has changed in spite of the lock")
    return after


async def _try_to_append(
    runtime: Runtime, db: Db, records: Sequence[CallRecord], end: ChainEnd | None
) -> ChainEnd | None:
    """Append behind an end, without asking the database for it first; None if the chain ends elsewhere by now."""
    if end is None:
        return None
    links, after = extend(runtime.signer, end, records)
    return after if await store.append(db, links, before=end, after=after) else None
