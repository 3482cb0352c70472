"""Periodic jobs: runs them, and stores the last run, its result and its lateness."""

from datetime import UTC, datetime, timedelta

import structlog
from croniter import croniter

from openslot.core.actor import SYSTEM
from openslot.core.clock import system_clock
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


async def follow_clock(runtime: Runtime) -> None:
    """Keep periodic jobs running after the database's clock was set back."""
    now = system_clock()
    if await store.follow_clock(runtime.pool, [_until_next(job, now) for job in runtime.wiring.periodic]):
        log.warning("the database's clock was set back, and periodic jobs are planned again")


def _until_next(job: Periodic, now: datetime) -> tuple[str, str, timedelta]:
    planned = croniter(job.expression, now)
    # As the queue writes it.
    expression = " ".join(planned.expressions)
    return job.name, expression, datetime.fromtimestamp(planned.get_next(), UTC) - now


def due_since(expression: str, previous: datetime | None, *, now: datetime) -> datetime:
    """Return when the run that begins now was due: after the previous one, or at the last tick."""
    if previous is not None:
        planned = datetime.fromtimestamp(croniter(expression, previous).get_next(), UTC)
        if planned <= now:
            return planned
    return datetime.fromtimestamp(croniter(expression, now).get_prev(), UTC)
