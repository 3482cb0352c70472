"""How the deferred work is doing: who works, what is not done, what is late and what has failed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from openslot.core.db import Db
from openslot.jobs import health_store as store

UnfinishedState = Literal["waiting", "queued", "running", "dead"]


class UnfinishedEffect(Struct, frozen=True, kw_only=True):
    """An effect that is not done."""

    id: UUID
    reaction: str
    target: str | None
    key: str | None
    """Which plan it is, where it was planned for a time."""
    state: UnfinishedState
    attempts: int
    next_try_at: datetime
    last_error: str | None


class EffectCounts(Struct, frozen=True, kw_only=True):
    """How many effects are not done, and how long the oldest of those that are due has been waiting."""

    waiting: int = 0
    queued: int = 0
    running: int = 0
    dead: int = 0
    late_seconds: float = 0.0


class PeriodicRun(Struct, frozen=True, kw_only=True):
    """The last run of a periodic job."""

    name: str
    started_at: datetime
    status: Literal["running", "ok", "failed"]
    result: str | None


async def list_unfinished(db: Db, state: UnfinishedState | None = None, *, limit: int) -> list[UnfinishedEffect]:
    """List effects that are not done, newest first."""
    return [UnfinishedEffect(**row) for row in await store.list_unfinished(db, state, limit=limit)]


async def count_effects(db: Db, *, now: datetime) -> EffectCounts:
    """Count what is not done, by state."""
    rows = {row["state"]: row for row in await store.count_by_state(db, now=now)}
    oldest = rows["queued"]["oldest"] if "queued" in rows else 0.0
    return EffectCounts(**{state: row["effects"] for state, row in rows.items()}, late_seconds=max(0.0, oldest))


async def count_late(db: Db, *, due_before: datetime) -> int:
    """Count effects that should have been tried by then."""
    return await store.count_late(db, due_before=due_before)


async def count_unknown(db: Db, known: Sequence[str]) -> dict[str, int]:
    """Count by reaction the unfinished effects that only a newer version knows."""
    return {row["reaction"]: row["waiting"] for row in await store.count_unknown(db, known)}


async def count_workers(db: Db, *, now: datetime) -> int:
    """Count the workers that were heard of within 30 seconds."""
    return await store.count_workers(db, now=now)


async def list_runs(db: Db) -> list[PeriodicRun]:
    """List the last run of every periodic job."""
    return [PeriodicRun(**row) for row in await store.list_runs(db)]
