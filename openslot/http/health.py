"""Health for machines: alive, ready, and measured."""

import asyncio

import structlog
from prometheus_client import CONTENT_TYPE_LATEST

from openslot.core.db import BUSY, DOWN
from openslot.core.disk import read_disk
from openslot.core.errors import StartupError, Unavailable
from openslot.core.migrate import missing_migrations
from openslot.core.outages import reason
from openslot.core.work import Work
from openslot.http.measuring import check_may_measure
from openslot.http.metrics import write_metrics
from openslot.http.refusals import headers_of
from openslot.jobs.health import count_workers
from openslot.routing import Mount, Request, Response, get

ANSWER_WITHIN = 1.5

log = structlog.get_logger()


@get("/healthz")
async def healthz() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@get("/readyz")
async def readyz(work: Work) -> Response:
    """Say whether database, migrations and a worker are there; 503 while one is not, and never after a long wait.

    A full disk is named, but does not make it 503: reads still work.
    """
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            checks = await _look(work)
    except (*DOWN, *BUSY) as fault:
        log.warning("database unavailable", error=reason(fault))
        words = "does not answer in time" if isinstance(fault, TimeoutError) else "can't be used right now"
        checks = {"database": words, "migrations": "unknown", "worker": "unknown"}
    ready = all(state == "ok" for state in checks.values())
    return Response(
        status=200 if ready else 503,
        headers={} if ready else headers_of(Unavailable()),
        body={"status": "ready" if ready else "not ready", **checks, "disk": read_disk(work.runtime.settings).words},
    )


async def _look(work: Work) -> dict[str, str]:
    checks = {"database": "ok", "migrations": "ok", "worker": "ok"}
    async with work.runtime.pool.acquire() as connection:
        try:
            missing = await missing_migrations(connection, work.runtime.wiring.migrations)
            checks["migrations"] = f"{len(missing)} missing" if missing else "ok"
        except StartupError as fault:
            checks["migrations"] = str(fault)
        if not await count_workers(connection, now=work.now):
            checks["worker"] = "no heartbeat in the last 30 seconds"
    return checks


@get("/metrics")
async def metrics(request: Request, work: Work) -> Response:
    """Write the metrics for Prometheus, on this machine or with the token."""
    check_may_measure(request, work.runtime.settings)
    disk = read_disk(work.runtime.settings)
    return Response(headers={"content-type": CONTENT_TYPE_LATEST}, body=await write_metrics(work.db, work.now, disk))


HEALTH = Mount(prefix="", handlers=[healthz, readyz, metrics])
