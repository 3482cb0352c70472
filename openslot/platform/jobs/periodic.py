"""Periodic jobs: which run is due, which worker gets it, and its record."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from croniter import croniter

from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.work import Periodic, Runtime
from openslot.platform.jobs import store

LONGEST_SLEEP = timedelta(minutes=1)

log = structlog.get_logger()


async def claim_run(runtime: Runtime, job: Periodic, worker_id: UUID, *, since: datetime) -> bool:
    """Return whether a run of this job is due and this worker gets it; a job's first run is one due after `since`."""
    now = runtime.clock()
    due_at = last_tick(job.expression, now=now)
    previous = await store.find_last_due(runtime.pool, job.name)
    if previous is None and due_at <= since:
        return False
    lateness = now - first_missed(job.expression, previous, now=now)
    return await store.claim_run(runtime.pool, job, worker_id, due_at=due_at, lateness=lateness, now=now)


async def run_periodic(runtime: Runtime, job: Periodic) -> None:
    """Run a job that was claimed, and store its result."""
    structlog.contextvars.bind_contextvars(periodic=job.name)
    try:
        result = await run_job(runtime, job)
    # Any exception of a job is a failed run, and is stored.
    except Exception as fault:
        log.exception("periodic job failed")
        result = f"{type(fault).__name__}: {fault}"
        await store.end_run(runtime.pool, job, "failed", result[:1000], now=runtime.clock())
    else:
        await store.end_run(runtime.pool, job, "ok", result[:1000], now=runtime.clock())


async def run_job(runtime: Runtime, job: Periodic) -> str:
    """Run a periodic job's verb, in the transactions that it declares."""
    if job.transaction == "none":
        return await job.run(runtime.work(SYSTEM))
    async with runtime.transaction(SYSTEM) as work:
        return await job.run(work)


def until_next(jobs: Iterable[Periodic], *, now: datetime) -> timedelta:
    """Return how long to wait for the next run of any of these jobs; never long, because clocks may be set."""
    ticks = (timedelta(seconds=croniter(job.expression, now).get_next() - now.timestamp()) for job in jobs)
    return min([*ticks, LONGEST_SLEEP])


def first_missed(expression: str, previous: datetime | None, *, now: datetime) -> datetime:
    """Return when the run that begins now was due: after the previous one, or at the last tick."""
    if previous is not None:
        planned = datetime.fromtimestamp(croniter(expression, previous).get_next(), UTC)
        if planned <= now:
            return planned
    return last_tick(expression, now=now)


def last_tick(expression: str, *, now: datetime) -> datetime:
    """Return when a job was last due; a tick of this very moment counts."""
    return datetime.fromtimestamp(croniter(expression, now + timedelta(microseconds=1)).get_prev(), UTC)
