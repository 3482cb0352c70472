"""Health, readiness and metrics of a process, and who may read the metrics."""

import asyncio
import hmac
import os
from collections.abc import Iterable

import asyncpg
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from openslot.domains.access.door import bearer, is_loopback, is_trusted
from openslot.doors.http.errors import headers_of
from openslot.platform.core.config import Settings
from openslot.platform.core.db import BUSY, DOWN
from openslot.platform.core.errors import StartupError, Unauthorized, Unavailable
from openslot.platform.core.migrate import missing_migrations
from openslot.platform.core.outages import OUTAGE, REFUSED, DiskState, read_disk
from openslot.platform.core.work import Work
from openslot.platform.jobs.health import count_effects, count_failed_items, count_failing, count_workers, list_failed
from openslot.platform.routing import Mount, Request, Response, get

ANSWER_WITHIN = 1.5


def _requests() -> CollectorRegistry:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def _registry(*families: GaugeMetricFamily) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Read(*families))
    return registry


def _gauge(name: str, documentation: str, value: float | None) -> GaugeMetricFamily:
    """Make a metric of one value; of none if there is nothing to tell."""
    family = GaugeMetricFamily(name, documentation)
    if value is not None:
        family.add_metric((), value)
    return family


def _read_about_disk(disk: DiskState) -> list[GaugeMetricFamily]:
    full = "1 while the database has no space to write, otherwise 0."
    return [
        _gauge("openslot_disk_full", full, int(disk.is_full)),
        _gauge("openslot_disk_free_bytes", "Free space on the disk of the embedded database.", disk.free),
    ]


async def _read_from_database(work: Work) -> list[GaugeMetricFamily]:
    """Read what the database knows; if it can't be asked, nothing but that."""
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            found = await _ask_database(work)
    except (*DOWN, *BUSY, asyncpg.PostgresError) as fault:
        REFUSED.note(fault)
        OUTAGE.mention(fault)
        found = []
    about = "1 if the database answers this process in time, otherwise 0."
    return [_gauge("openslot_database_up", about, int(bool(found))), *found]


async def _ask_database(work: Work) -> list[GaugeMetricFamily]:
    db = work.db
    counts = await count_effects(db, now=work.now)
    effects = GaugeMetricFamily("openslot_effects", "Effects that are not done, by state.", labels=("state",))
    for state in ("waiting", "queued", "running", "dead"):
        effects.add_metric((state,), getattr(counts, state))
    about = "Effects of events that have failed and are not done after 15 minutes, by reaction."
    failing = GaugeMetricFamily("openslot_effects_failing", about, labels=("reaction",))
    for reaction, count in (await count_failing(db, now=work.now)).items():
        failing.add_metric((reaction,), count)
    about = "1 for each periodic job that has failed when it ran last."
    failed = GaugeMetricFamily("openslot_periodic_failed", about, labels=("name",))
    for name in await list_failed(db, work.runtime.wiring.periodic):
        failed.add_metric((name,), 1)
    about = "How many of those that a job serves it failed for when it served them last, by job."
    items = GaugeMetricFamily("openslot_items_failed", about, labels=("name",))
    for job, count in (await count_failed_items(db)).items():
        items.add_metric((job,), count)
    late = _gauge("openslot_effects_late_seconds", "Age of the oldest due effect, in seconds.", counts.late_seconds)
    return [effects, failing, failed, items, late, _gauge("openslot_workers", "Live workers.", await count_workers(db))]


class _Read(Collector):
    """Values that were just read; a `Gauge` would keep them for each process and show them again as its own."""

    def __init__(self, *families: GaugeMetricFamily) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families


# A request that came through a proxy is not local, even if the proxy runs on this machine.
FORWARDED = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"})


def check_may_measure(request: Request, settings: Settings) -> None:
    """Refuse a request that is neither from this machine nor has the token."""
    if not (has_token(request, settings.metrics_token) or is_local(request, settings)):
        raise Unauthorized("Metrics can be read on the machine itself, or with the token of OPENSLOT_METRICS_TOKEN")


def has_token(request: Request, token: str | None) -> bool:
    """Return whether a request carries the token; never if the settings have none."""
    given = bearer(request.headers.get("authorization", ""))
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def is_local(request: Request, settings: Settings) -> bool:
    """Return whether a request was made on this machine, to this machine, and without a proxy in between.

    A browser on this machine can be sent to a foreign name that resolves to this machine; the `Host` header reveals
    that.
    """
    peer = request.peer or ""
    if not is_loopback(peer) or is_trusted(peer, settings.trusted_proxies):
        return False
    if any(name in FORWARDED or name.startswith("x-forwarded-") for name in request.headers):
        return False
    return is_loopback(request.headers.get("host", ""))


@get("/healthz")
async def healthz() -> dict[str, str]:
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
        OUTAGE.mention(fault)
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
        if not await count_workers(connection):
            checks["worker"] = "no heartbeat in the last 30 seconds"
    return checks


@get("/metrics")
async def metrics(request: Request, work: Work) -> Response:
    """Write the metrics for Prometheus, on this machine or with the token; without the database those that are left.

    Otherwise an outage would look as if the whole service was gone, and nothing would be told of what goes on.
    """
    check_may_measure(request, work.runtime.settings)
    read = await _read_from_database(work) + _read_about_disk(read_disk(work.runtime.settings))
    # Those of the processes, and those that were read just now and apply to all of them.
    body = generate_latest(_requests()) + generate_latest(_registry(*read))
    return Response(headers={"content-type": CONTENT_TYPE_LATEST}, body=body)


HEALTH = Mount(prefix="", handlers=[healthz, readyz, metrics])
