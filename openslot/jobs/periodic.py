"""Periodic jobs: runs them, and stores the last run, its result and its lateness."""

from datetime import UTC, datetime

import structlog
from croniter import croniter

from openslot.core.actor import SYSTEM
from openslot.core.events import Periodic
from openslot.core.work import Runtime
from openslot.jobs import store

log = structlog.get_logger()


async def run_periodic(runtime: Runtime, job: Periodic) -> None:
    """Run a periodic job and store its result."""
    now = runtime.clock()
    previous = await store.find_last_due(runtime.pool, job.name)
    due_at = due_since(job.expression, previous, now=now)
    lateness_ms = int((now - due_at).total_seconds() * 1000)
    await store.begin_run(runtime.pool, job, due_at=due_at, lateness_ms=lateness_ms, now=now)
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


def due_since(expression: str, previous: datetime | None, *, now: datetime) -> datetime:
    """Return when the run that begins now was due: after the previous one, or at the last tick."""
    if previous is not None:
        planned = datetime.fromtimestamp(croniter(expression, previous).get_next(), UTC)
        if planned <= now:
            return planned
    return datetime.fromtimestamp(croniter(expression, now).get_prev(), UTC)
