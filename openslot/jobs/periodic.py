"""What the clock does, with its last run, result and lateness kept."""

from datetime import UTC, datetime

import structlog
from croniter import croniter

from openslot.core.actor import SYSTEM
from openslot.core.db import Db
from openslot.core.events import Periodic
from openslot.core.work import Runtime

log = structlog.get_logger()

BEGIN = """
insert into periodic_runs as p (name, expression, due_at, started_at, lateness_ms, status)
values ($1, $2, $3, $4, $5, 'running')
on conflict (name) do update set expression = excluded.expression, due_at = excluded.due_at,
    started_at = excluded.started_at, finished_at = null, lateness_ms = excluded.lateness_ms, status = 'running',
    result = null, runs = p.runs + 1"""
END = """
update periodic_runs set finished_at = $2, status = $3, result = $4, failures = failures + ($3 = 'failed')::int
where name = $1"""


async def run_periodic(runtime: Runtime, job: Periodic) -> None:
    """Run a periodic job and keep how it went."""
    now = runtime.clock()
    previous = await runtime.pool.fetchval("select due_at from periodic_runs where name = $1", job.name)
    due_at = due_since(job.expression, previous, now=now)
    lateness_ms = int((now - due_at).total_seconds() * 1000)
    await runtime.pool.execute(BEGIN, job.name, job.expression, due_at, now, lateness_ms)
    structlog.contextvars.bind_contextvars(periodic=job.name)
    try:
        result = await run_job(runtime, job)
    # Whatever a job raises is a failed run, and is kept.
    except Exception as fault:
        log.exception("periodic job failed")
        await _end(runtime.pool, job, "failed", f"{type(fault).__name__}: {fault}", runtime.clock())
    else:
        await _end(runtime.pool, job, "ok", result, runtime.clock())


async def run_job(runtime: Runtime, job: Periodic) -> str:
    """Do what a periodic job does, in the transactions that it declares."""
    if job.transaction == "none":
        return await job.run(runtime.work(SYSTEM))
    async with runtime.transaction(SYSTEM) as work:
        return await job.run(work)


def due_since(expression: str, previous: datetime | None, *, now: datetime) -> datetime:
    """Tell when the run that begins now was due: after the previous one, or at the last tick."""
    if previous is not None:
        planned = datetime.fromtimestamp(croniter(expression, previous).get_next(), UTC)
        if planned <= now:
            return planned
    return datetime.fromtimestamp(croniter(expression, now).get_prev(), UTC)


async def _end(db: Db, job: Periodic, status: str, result: str, now: datetime) -> None:
    await db.execute(END, job.name, now, status, result[:1000])
