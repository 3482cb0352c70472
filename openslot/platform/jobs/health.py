"""The state of deferred work: which workers run, and what is unfinished, late or failed."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from croniter import croniter
from msgspec import Struct

from openslot.platform.core.db import Db
from openslot.platform.core.work import Periodic
from openslot.platform.jobs import store

UnfinishedState = Literal["waiting", "queued", "running", "dead"]
PeriodicState = Literal["ok", "running", "late", "failed", "never_run"]
LATE_AFTER = timedelta(minutes=5)
# Many servers take mail from a new sender only at the second or third try.
FAILING_AFTER = timedelta(minutes=15)


class UnfinishedEffect(Struct, frozen=True, kw_only=True):
    id: UUID
    reaction: str
    target: str | None
    key: str | None
    """The key of the plan, if it was planned for a time."""
    state: UnfinishedState
    attempts: int
    next_try_at: datetime
    last_error: str | None


class EffectCounts(Struct, frozen=True, kw_only=True):
    """How many effects are unfinished, and how long the oldest due one has been waiting."""

    waiting: int = 0
    queued: int = 0
    running: int = 0
    dead: int = 0
    late_seconds: float = 0.0


class PeriodicRun(Struct, frozen=True, kw_only=True):
    name: str
    started_at: datetime
    lateness_ms: int
    """How long after it was due it began."""
    status: Literal["running", "ok", "failed"]
    result: str | None


class FailedItem(Struct, frozen=True, kw_only=True):
    """One of the many that a job or a consequence serves, for which it failed."""

    job: str
    item: str
    error: str
    failures: int
    first_at: datetime
    last_at: datetime


class PeriodicHealth(Struct, frozen=True, kw_only=True):
    """How a periodic job stands: its last run, and when the next one is due."""

    name: str
    expression: str
    state: PeriodicState
    run: PeriodicRun | None
    next_due_at: datetime
    """When it is due next: in the past if it is overdue, after now if it has never run."""


async def list_unfinished(db: Db, state: UnfinishedState | None = None, *, limit: int) -> list[UnfinishedEffect]:
    return [UnfinishedEffect(**row) for row in await store.list_unfinished(db, state, limit=limit)]


async def count_effects(db: Db, *, now: datetime) -> EffectCounts:
    rows = {row["state"]: row for row in await store.count_by_state(db, now=now)}
    oldest = rows["queued"]["oldest"] if "queued" in rows else 0.0
    return EffectCounts(**{state: row["effects"] for state, row in rows.items()}, late_seconds=max(0.0, oldest))


async def count_failing(db: Db, *, now: datetime) -> dict[str, int]:
    """Count, by reaction, what follows from an event, has failed, and is not done after a quarter of an hour."""
    rows = await store.count_failing(db, created_before=now - FAILING_AFTER)
    return {row["reaction"]: row["effects"] for row in rows}


async def count_unknown(db: Db, known: Sequence[str]) -> dict[str, int]:
    """Count, by reaction, the unfinished effects that only a newer version knows."""
    return {row["reaction"]: row["waiting"] for row in await store.count_unknown(db, known)}


async def count_workers(db: Db) -> int:
    """Count the workers with a heartbeat in the last 30 seconds."""
    return await store.count_workers(db)


async def list_runs(db: Db) -> list[PeriodicRun]:
    return [PeriodicRun(**row) for row in await store.list_runs(db)]


async def list_failed(db: Db, periodic: Sequence[Periodic]) -> list[str]:
    """List the names of the periodic jobs of this version that have failed when they ran last."""
    return [row["name"] for row in await store.list_failed_runs(db, [job.name for job in periodic])]


async def count_failed_items(db: Db) -> dict[str, int]:
    """Count, by job, for how many of those that it serves it failed when it served them last."""
    return {row["job"]: row["items"] for row in await store.count_failed_items(db)}


async def list_failed_items(db: Db, *, limit: int) -> list[FailedItem]:
    """List for whom jobs have failed, while others went on; the latest first."""
    return [FailedItem(**row) for row in await store.list_failed_items(db, limit=limit)]


async def list_health(db: Db, periodic: Sequence[Periodic], *, now: datetime) -> list[PeriodicHealth]:
    """List every periodic job of this version with its state; failed is worse than late."""
    runs = {run.name: run for run in await list_runs(db)}
    return [judge_run(each, runs.get(each.name), now=now) for each in periodic]


def judge_run(job: Periodic, run: PeriodicRun | None, *, now: datetime) -> PeriodicHealth:
    last = run.started_at if run is not None else now
    due_at = datetime.fromtimestamp(croniter(job.expression, last).get_next(), UTC)
    state: PeriodicState
    if run is None:
        state = "never_run"
    elif run.status != "failed" and now - due_at > LATE_AFTER:
        state = "late"
    else:
        state = run.status
    return PeriodicHealth(name=job.name, expression=job.expression, state=state, run=run, next_due_at=due_at)
