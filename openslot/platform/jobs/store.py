"""The SQL of the worker: heartbeats, runs of periodic jobs, maintenance of lanes, and its health."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from openslot.platform.core import effects
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.work import Periodic

# By the database's own clock, which all workers share.
BEAT = """
insert into worker_beats (worker_id, host, pid, started_at, beat_at) values ($1, $2, $3, $4, now())
on conflict (worker_id) do update set beat_at = excluded.beat_at returning beat_at"""

# A run is due if none was claimed for this tick. What lies in the future was claimed before the clock was set back.
CLAIM_RUN = f"""
insert into periodic_runs as p (name, expression, due_at, started_at, lateness_ms, status, worker_id)
values ($1, $2, $3, $4, $5, 'running', $6)
on conflict (name) do update set expression = excluded.expression, due_at = excluded.due_at,
    started_at = excluded.started_at, finished_at = null, lateness_ms = excluded.lateness_ms, status = 'running',
    result = null, runs = p.runs + 1, worker_id = excluded.worker_id
where (p.due_at < excluded.due_at or p.due_at > excluded.started_at + interval '1 minute')
  and (p.status <> 'running' or p.worker_id = excluded.worker_id
       or not exists (
        select from worker_beats b where b.worker_id = p.worker_id and {effects.IS_ALIVE.format(after="$7")}))
returning true"""
END_RUN = """
update periodic_runs set finished_at = $2, status = $3, result = $4, failures = failures + ($3 = 'failed')::int
where name = $1"""

# In one order, so that two which fail for the same ones do not wait for each other.
KEEP_FAILED = """
with gone as (delete from failed_items where job = $1 and item = any($2::text[]))
insert into failed_items as f (job, item, error, first_at, last_at)
select $1, item, error, $5, $5 from unnest($3::text[], $4::text[]) as n (item, error) order by item
on conflict (job, item) do update set error = excluded.error, failures = f.failures + 1, last_at = excluded.last_at"""

# Lanes that are locked because something is joining them are skipped, to avoid deadlocks.
DELETE_EMPTY_LANES = """
delete from lanes where lane = any(array(
    select lane from lanes where unfinished <= 0 order by lane limit $1 for update skip locked))"""


async def beat(db: Db, worker_id: UUID, *, host: str, pid: int, now: datetime) -> datetime:
    """Store a heartbeat, and return when it was by the database's clock."""
    at: datetime = await db.fetchval(BEAT, worker_id, host, pid, now)
    return at


async def sees_beat(db: Db, worker_id: UUID, *, at: datetime) -> bool:
    """Return whether this is the database in which the heartbeat was just stored."""
    found = await db.fetchval("select true from worker_beats where worker_id = $1 and beat_at = $2", worker_id, at)
    return found is not None


async def delete_beat(db: Db, worker_id: UUID) -> None:
    await db.execute("delete from worker_beats where worker_id = $1", worker_id)


async def find_last_due(db: Db, name: str) -> datetime | None:
    due_at: datetime | None = await db.fetchval("select due_at from periodic_runs where name = $1", name)
    return due_at


async def claim_run(
    db: Db, job: Periodic, worker_id: UUID, *, due_at: datetime, lateness: timedelta, now: datetime
) -> bool:
    """Begin a run if no other worker has, and return whether it was begun."""
    lateness_ms = int(lateness.total_seconds() * 1000)
    arguments = (job.name, job.expression, due_at, now, lateness_ms, worker_id, effects.ABANDONED_AFTER)
    claimed = await db.fetchval(CLAIM_RUN, *arguments)
    return claimed is not None


async def end_run(db: Db, job: Periodic, status: str, result: str, *, now: datetime) -> None:
    await db.execute(END_RUN, job.name, now, status, result)


async def keep_failed(db: Db, job: str, *, served: Sequence[str], failed: Mapping[str, str], now: datetime) -> None:
    """Write for which of the many a job has failed, and forget those for which it has not."""
    await db.execute(KEEP_FAILED, job, served, list(failed), list(failed.values()), now)


async def delete_empty_lanes(db: Db, *, limit: int) -> int:
    return count_of(await db.execute(DELETE_EMPTY_LANES, limit))


async def delete_absent(db: Db, *, runs_before: datetime, failed_before: datetime) -> None:
    """Delete workers without a recent heartbeat and periodic jobs that no version has any more: few rows."""
    await db.execute("delete from worker_beats where beat_at < now() - interval '1 hour'")
    await db.execute("delete from periodic_runs where started_at < $1", runs_before)
    # What is not tried again any more, because it is gone.
    await db.execute("delete from failed_items where last_at < $1", failed_before)


# Each state by its own index: finished effects are many times more numerous.
UNFINISHED = " union all ".join(
    f"""(select id, no, reaction, target, key, state, attempts, next_try_at, last_error from effects
    where state = '{state}' and coalesce($1, '{state}') = '{state}' order by no desc limit $2)"""
    for state in ("waiting", "queued", "running", "dead")
)
LIST_UNFINISHED = f"""
select id, reaction, target, key, state, attempts, next_try_at, last_error from ({UNFINISHED}) e
order by no desc limit $2"""
# Each state by its own index here and below: with `in`, every effect there is would be read.
COUNT_BY_STATE = """
select 'queued' as state, count(*) as effects,
    coalesce(extract(epoch from $1::timestamptz - min(next_try_at)), 0)::float as oldest
from effects where state = 'queued'
union all select 'running', count(*), 0 from effects where state = 'running'
union all select 'waiting', count(*), 0 from effects where state = 'waiting'
union all select 'dead', count(*), 0 from effects where state = 'dead'"""
# In the words of their index. What waits for its first try, or because messages are stopped, does not yield.
COUNT_FAILING = """
select reaction, count(*) as effects from effects
where state = 'queued' and yields and attempts > 0 and event_id is not null and created_at < $1
group by reaction order by reaction"""
COUNT_LATE = """
select (select count(*) from effects where state = 'queued' and next_try_at < $1)
    + (select count(*) from effects where state = 'running' and next_try_at < $1)"""
COUNT_UNKNOWN = """
select reaction, count(*) as waiting from (
    select reaction from effects where state = 'queued'
    union all select reaction from effects where state = 'running'
    union all select reaction from effects where state = 'waiting') e
where reaction <> all($1::text[]) group by reaction order by reaction"""
COUNT_WORKERS = "select count(*) from worker_beats where beat_at > now() - interval '30 seconds'"
LIST_FAILED_RUNS = "select name from periodic_runs where status = 'failed' and name = any($1) order by name"
COUNT_FAILED_ITEMS = "select job, count(*) as items from failed_items group by job order by job"
LIST_FAILED_ITEMS = """
select job, item, error, failures, first_at, last_at from failed_items order by last_at desc, job, item limit $1"""
LIST_RUNS = "select name, started_at, lateness_ms, status, result from periodic_runs order by name"


async def list_unfinished(db: Db, state: str | None, *, limit: int) -> list[Row]:
    """Read unfinished effects, newest first."""
    return await db.fetch(LIST_UNFINISHED, state, limit)


async def count_by_state(db: Db, *, now: datetime) -> list[Row]:
    """Count unfinished effects by state, with how many seconds ago the oldest became due."""
    return await db.fetch(COUNT_BY_STATE, now)


async def count_failing(db: Db, *, created_before: datetime) -> list[Row]:
    """Count, by reaction, the effects of earlier events that have failed and will be tried again."""
    return await db.fetch(COUNT_FAILING, created_before)


async def count_late(db: Db, *, due_before: datetime) -> int:
    """Count effects that should have been tried by then."""
    return int(await db.fetchval(COUNT_LATE, due_before))


async def count_unknown(db: Db, known: Sequence[str]) -> list[Row]:
    """Count unfinished effects by reaction, except those of known reactions."""
    return await db.fetch(COUNT_UNKNOWN, known)


async def count_workers(db: Db) -> int:
    """Count the workers with a heartbeat in the last 30 seconds."""
    return int(await db.fetchval(COUNT_WORKERS))


async def count_failed_items(db: Db) -> list[Row]:
    """Count, by job, for how many of those that it serves it failed when it served them last."""
    return await db.fetch(COUNT_FAILED_ITEMS)


async def list_failed_items(db: Db, *, limit: int) -> list[Row]:
    return await db.fetch(LIST_FAILED_ITEMS, limit)


async def list_failed_runs(db: Db, names: Sequence[str]) -> list[Row]:
    """Read which of these periodic jobs have failed when they ran last."""
    return await db.fetch(LIST_FAILED_RUNS, names)


async def list_runs(db: Db) -> list[Row]:
    return await db.fetch(LIST_RUNS)
