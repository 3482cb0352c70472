"""What Prometheus reads: requests by door and route, and how far the effects have come."""

import os
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY

from openslot.core.db import Db

REQUESTS = Histogram(
    "openslot_request_seconds",
    "Time from a request's arrival to its answer.",
    ("door", "route", "method", "status"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
REFUSED = Counter(
    "openslot_refused", "Requests and connections that were refused before any door, by error code.", ("code",)
)
# Any other would let a caller make as many series as there are words.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

# Each part reads an index of its own: those that are done are many times as many.
STATE = """
select state, count(*) as effects, coalesce(extract(epoch from $1::timestamptz - min(next_try_at)), 0)::float as oldest
from effects where state in ('queued', 'running') group by state
union all select 'waiting', count(*), 0 from effects where state = 'waiting'
union all select 'dead', count(*), 0 from effects where state = 'dead'"""
BEATS = "select count(*) from worker_beats where beat_at > $1::timestamptz - interval '30 seconds'"


def observe(door: str, route: str | None, method: str, status: int, *, seconds: float) -> None:
    """Count one request."""
    _series(door, route or "none", method if method in METHODS else "other", status).observe(seconds)


def count_refused(code: str) -> None:
    """Count a request or connection that no door has seen."""
    REFUSED.labels(code).inc()


@lru_cache(maxsize=4096)
def _series(door: str, route: str, method: str, status: int) -> Histogram:
    # Looking a series up by its labels costs more than counting in it.
    return REQUESTS.labels(door, route, method, status)


async def write_metrics(db: Db, now: object) -> bytes:
    """Write all metrics: the processes' own, and those that the database knows for all of them."""
    return generate_latest(_requests()) + generate_latest(await _from_database(db, now))


def _requests() -> CollectorRegistry:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


async def _from_database(db: Db, now: object) -> CollectorRegistry:
    registry = CollectorRegistry()
    effects = Gauge("openslot_effects", "Effects that are not done, by state.", ("state",), registry=registry)
    late = Gauge("openslot_effects_late_seconds", "How long the oldest due effect waits.", registry=registry)
    workers = Gauge("openslot_workers", "Workers whose heart beats.", registry=registry)
    for state in ("waiting", "queued", "running", "dead"):
        effects.labels(state).set(0)
    for row in await db.fetch(STATE, now):
        effects.labels(row["state"]).set(row["effects"])
        if row["state"] == "queued":
            late.set(max(0.0, row["oldest"]))
    workers.set(await db.fetchval(BEATS, now))
    return registry
