"""The worker: takes jobs from the queue, runs periodic jobs, and sends heartbeats."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import structlog
from croniter import croniter
from pgqueuer import PgQueuer
from pgqueuer.db import Driver
from pgqueuer.models import Job as QueuedJob
from pgqueuer.models import Schedule

from openslot.core.actor import SYSTEM
from openslot.core.db import DOWN
from openslot.core.ids import new_id
from openslot.core.outages import OUTAGE, reason
from openslot.core.queue import ENTRYPOINT, PLANNED, Job
from openslot.core.work import Periodic, Runtime, system_clock
from openslot.jobs import store
from openslot.jobs.effects import run_effect
from openslot.jobs.gate import Gate

BEAT_EVERY = timedelta(seconds=5)
ABANDONED_AFTER = timedelta(seconds=10)
POLL_EVERY = timedelta(seconds=5)
LONGEST_PAUSE = 10.0
# Effects are what is kept: if the server crashes, the queue may forget what it has handed out and what is finished.
FORGETFUL = "set synchronous_commit = off"
# After a failover one of the addresses may still lead to the former primary.
TWO_DATABASES = "DATABASE_URL and OPENSLOT_DIRECT_DATABASE_URL lead to different databases"

log = structlog.get_logger()


async def run_worker(runtime: Runtime, stop: asyncio.Event) -> None:
    """Run until told to stop, and start again whenever the database was unreachable."""
    worker_id = new_id()
    gate = Gate(places=runtime.settings.worker_concurrency)
    pause = 0.5
    while not stop.is_set():
        try:
            await _work(runtime, worker_id, gate, stop)
            pause = 0.5
        except (*DOWN, asyncpg.PostgresError, RuntimeError) as fault:
            if isinstance(fault, DOWN):
                OUTAGE.begin(reason(fault))
            else:
                log.warning("The worker can't use the database", error=str(fault), next_try_in_seconds=pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)
    with suppress(*DOWN):
        await store.delete_beat(runtime.pool, worker_id)


async def _work(runtime: Runtime, worker_id: UUID, gate: Gate, stop: asyncio.Event) -> None:
    settings = runtime.settings
    connection = await asyncpg.connect(settings.direct_database_url or settings.database_url, timeout=10)
    OUTAGE.end()
    try:
        await connection.execute(FORGETFUL)
        queuer = PgQueuer.from_asyncpg_connection(connection)
        _attach(queuer, runtime, gate)
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        beating = beat(runtime, worker_id, queuer.connection)
        await _run_until(queuer, (stop, lost), beating, concurrency=settings.worker_concurrency)
    finally:
        with suppress(*DOWN):
            await connection.close(timeout=5)


def _attach(queuer: PgQueuer, runtime: Runtime, gate: Gate) -> None:
    @queuer.entrypoint(ENTRYPOINT)
    @queuer.entrypoint(PLANNED)
    async def run(job: QueuedJob) -> None:
        await run_effect(runtime, Job.unpack(job.payload or b""), gate)

    for periodic in runtime.wiring.periodic:
        queuer.schedule(periodic.name, periodic.expression)(_scheduled(runtime, periodic))


def _scheduled(runtime: Runtime, periodic: Periodic) -> Callable[[Schedule], Awaitable[None]]:
    async def run(_: Schedule) -> None:
        await run_periodic(runtime, periodic)

    return run


async def _run_until(
    queuer: PgQueuer, signals: tuple[asyncio.Event, ...], beat: Awaitable[None], *, concurrency: int
) -> None:
    """Run queue, periodic jobs and heartbeat together; after a stop signal, finish running jobs and start none."""
    running = asyncio.ensure_future(
        queuer.run(
            dequeue_timeout=POLL_EVERY,
            # The queue requires room for two batches.
            batch_size=min(10, concurrency // 2),
            max_concurrent_tasks=concurrency,
            heartbeat_timeout=ABANDONED_AFTER,
            log_aggregation_interval=timedelta(0),
        )
    )
    beating = asyncio.ensure_future(beat)
    waiting = [asyncio.ensure_future(signal.wait()) for signal in signals]
    try:
        await asyncio.wait([running, beating, *waiting], return_when=asyncio.FIRST_COMPLETED)
        queuer.shutdown.set()
        await running
        if beating.done():
            beating.result()
    finally:
        for task in (beating, *waiting):
            task.cancel()


async def beat(runtime: Runtime, worker_id: UUID, queue: Driver) -> None:
    """Store a heartbeat again and again; end with an error if the queue is in another database."""
    while True:
        now = runtime.clock()
        await store.beat(runtime.pool, worker_id, host=socket.gethostname(), pid=os.getpid(), now=now)
        if not await store.sees_beat(queue, worker_id, now=now):
            await store.delete_beat(runtime.pool, worker_id)
            raise RuntimeError(TWO_DATABASES)
        await follow_clock(runtime)
        await asyncio.sleep(BEAT_EVERY.total_seconds())


async def run_periodic(runtime: Runtime, job: Periodic) -> None:
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
