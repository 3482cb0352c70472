"""Health for machines: alive, ready, and measured."""

from litestar import Response, Router, get
from litestar.di import NamedDependency
from prometheus_client import CONTENT_TYPE_LATEST

from openslot.core.errors import StartupError
from openslot.core.migrate import missing_migrations
from openslot.core.work import Work
from openslot.http.metrics import BEATS, write_metrics


@get("/healthz", include_in_schema=False)
async def healthz() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@get("/readyz", include_in_schema=False)
async def readyz(work: NamedDependency[Work]) -> Response[dict[str, str]]:
    """Say whether database, migrations and a worker are there; 503 while one is not."""
    checks = {"database": "ok", "migrations": "ok", "worker": "ok"}
    async with work.house.pool.acquire() as connection:
        try:
            missing = await missing_migrations(connection, work.house.wiring.migrations)
            checks["migrations"] = f"{len(missing)} missing" if missing else "ok"
        except StartupError as fault:
            checks["migrations"] = str(fault)
    if not await work.db.fetchval(BEATS, work.now):
        checks["worker"] = "no heartbeat in the last 30 seconds"
    ready = all(state == "ok" for state in checks.values())
    return Response({"status": "ready" if ready else "not ready", **checks}, status_code=200 if ready else 503)


@get("/metrics", include_in_schema=False)
async def metrics(work: NamedDependency[Work]) -> Response[bytes]:
    """Write the metrics for Prometheus."""
    return Response(await write_metrics(work.db, work.now), media_type=CONTENT_TYPE_LATEST)


health_router = Router("/", route_handlers=[healthz, readyz, metrics])
