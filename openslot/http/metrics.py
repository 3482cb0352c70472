"""Metrics for Prometheus: requests by door and route, and the state of the effects."""

import os
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from openslot.core.db import Db
from openslot.core.disk import DiskState
from openslot.jobs.health import count_effects, count_workers

REQUESTS = Histogram(
    "openslot_request_seconds",
    "Time from a request's arrival to its answer.",
    ("door", "route", "method", "status"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
REFUSED = Counter(
    "openslot_refused", "Requests and connections that were refused before any door, by error code.", ("code",)
)
# Other methods are not used as labels: callers could create any number of series.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def observe(door: str, route: str | None, method: str, status: int, *, seconds: float) -> None:
    """Count one request."""
    _series(door, route or "none", method if method in METHODS else "other", status).observe(seconds)


def count_refused(code: str) -> None:
    """Count a request or connection that was refused before it reached a door."""
    REFUSED.labels(code).inc()


@lru_cache(maxsize=4096)
def _series(door: str, route: str, method: str, status: int) -> Histogram:
    # Looking up a series by its labels costs more than incrementing it.
    return REQUESTS.labels(door, route, method, status)


async def write_metrics(db: Db, now: datetime, disk: DiskState) -> bytes:
    """Write all metrics: those of the processes, and those of the database that apply to all of them."""
    return generate_latest(_requests()) + generate_latest(await _from_database(db, now, disk))


def _requests() -> CollectorRegistry:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


async def _from_database(db: Db, now: datetime, disk: DiskState) -> CollectorRegistry:
    counts = await count_effects(db, now=now)
    effects = GaugeMetricFamily("openslot_effects", "Effects that are not done, by state.", labels=("state",))
    for state in ("waiting", "queued", "running", "dead"):
        effects.add_metric((state,), getattr(counts, state))
    late = GaugeMetricFamily(
        "openslot_effects_late_seconds", "Age of the oldest due effect, in seconds.", value=counts.late_seconds
    )
    workers = GaugeMetricFamily("openslot_workers", "Live workers.", value=await count_workers(db, now=now))
    full = GaugeMetricFamily(
        "openslot_disk_full", "1 while the database has no space to write, otherwise 0.", value=int(disk.is_full)
    )
    free = GaugeMetricFamily("openslot_disk_free_bytes", "Free space on the disk of the embedded database.")
    if disk.free is not None:
        free.add_metric((), disk.free)
    registry = CollectorRegistry()
    registry.register(_Read(effects, late, workers, full, free))
    return registry


class _Read(Collector):
    """Values that were just read; a `Gauge` would keep them for each process and show them again as its own."""

    def __init__(self, *families: GaugeMetricFamily) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families
