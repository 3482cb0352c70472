"""The SQL for the state of deferred work."""

from collections.abc import Sequence
from datetime import datetime

from openslot.core.db import Db, Row

# Each state by its own index: finished effects are many times more numerous.
UNFINISHED = " union all ".join(
    f"""(select id, no, reaction, target, key, state, attempts, next_try_at, last_error from effects
    where state = '{state}' and coalesce($1, '{state}') = '{state}' order by no desc limit $2)"""
    for state in ("waiting", "queued", "running", "dead")
)
LIST_UNFINISHED = f"""
select id, reaction, target, key, state, attempts, next_try_at, last_error from ({UNFINISHED}) e
order by no desc limit $2"""
COUNT_BY_STATE = """
select state, count(*) as effects, coalesce(extract(epoch from $1::timestamptz - min(next_try_at)), 0)::float as oldest
from effects where state in ('queued', 'running') group by state
union all select 'waiting', count(*), 0 from effects where state = 'waiting'
union all select 'dead', count(*), 0 from effects where state = 'dead'"""
COUNT_LATE = "select count(*) from effects where state in ('queued', 'running') and next_try_at < $1"
COUNT_UNKNOWN = """
select reaction, count(*) as waiting from (
    select reaction from effects where state in ('queued', 'running')
    union all select reaction from effects where state = 'waiting') e
where reaction <> all($1::text[]) group by reaction order by reaction"""
COUNT_WORKERS = "select count(*) from worker_beats where beat_at > $1::timestamptz - interval '30 seconds'"
LIST_RUNS = "select name, started_at, lateness_ms, status, result from periodic_runs order by name"


async def list_unfinished(db: Db, state: str | None, *, limit: int) -> list[Row]:
    """Read unfinished effects, newest first."""
    return await db.fetch(LIST_UNFINISHED, state, limit)


async def count_by_state(db: Db, *, now: datetime) -> list[Row]:
    """Count unfinished effects by state, with how many seconds ago the oldest became due."""
    return await db.fetch(COUNT_BY_STATE, now)


async def count_late(db: Db, *, due_before: datetime) -> int:
    """Count effects that should have been tried by then."""
    return int(await db.fetchval(COUNT_LATE, due_before))


async def count_unknown(db: Db, known: Sequence[str]) -> list[Row]:
    """Count unfinished effects by reaction, except those of known reactions."""
    return await db.fetch(COUNT_UNKNOWN, known)


async def count_workers(db: Db, *, now: datetime) -> int:
    """Count the workers with a heartbeat in the last 30 seconds."""
    return int(await db.fetchval(COUNT_WORKERS, now))


async def list_runs(db: Db) -> list[Row]:
    """Read the last run of every periodic job."""
    return await db.fetch(LIST_RUNS)
