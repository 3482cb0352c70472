"""The SQL of the worker: heartbeats, runs of periodic jobs, maintenance of the queue, and its health."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from openslot.core.db import Db, Row, count_of
from openslot.core.work import Periodic

if TYPE_CHECKING:
    from pgqueuer.db import Driver


BEAT = """
insert into worker_beats (worker_id, host, pid, started_at, beat_at) values ($1, $2, $3, $4, $4)
on conflict (worker_id) do update set beat_at = excluded.beat_at"""

BEGIN_RUN = """
insert into periodic_runs as p (name, expression, due_at, started_at, lateness_ms, status)
values ($1, $2, $3, $4, $5, 'running')
on conflict (name) do update set expression = excluded.expression, due_at = excluded.due_at,
    started_at = excluded.started_at, finished_at = null, lateness_ms = excluded.lateness_ms, status = 'running',
    result = null, runs = p.runs + 1"""
END_RUN = """
update periodic_runs set finished_at = $2, status = $3, result = $4, failures = failures + ($3 = 'failed')::int
where name = $1"""

# What lies further ahead than the next run, or than this moment, was written before the clock was set back.
FOLLOW_CLOCK = """
with ahead as (
    select s.id, w.after from pgqueuer_schedules s
    join unnest($1::text[], $2::text[], $3::interval[]) as w (name, expression, after)
        on s.entrypoint = w.name and s.expression = w.expression
    where s.next_run > now() + w.after + interval '1 minute' or s.heartbeat > now() + interval '1 minute'
    for update of s skip locked
)
update pgqueuer_schedules s set next_run = least(s.next_run, now() + a.after), heartbeat = least(s.heartbeat, now())
from ahead a where s.id = a.id"""
# Otherwise jobs of a worker that was killed would belong to it until the clock is as late again.
FOLLOW_CLOCK_IN_QUEUE = """
update pgqueuer set heartbeat = now() where id = any(array(
    select id from pgqueuer where status = 'picked' and heartbeat > now() + interval '1 minute'
    for update skip locked))"""

DELETE_LOGS = """
delete from pgqueuer_log where id = any(array(
    select id from pgqueuer_log where created < $1 order by created limit $2))"""
# Lanes that are locked because something is joining them are skipped, to avoid deadlocks.
DELETE_EMPTY_LANES = """
delete from lanes where lane = any(array(
    select lane from lanes where unfinished <= 0 order by lane limit $1 for update skip locked))"""


async def beat(db: Db, worker_id: UUID, *, host: str, pid: int, now: datetime) -> None:
    await db.execute(BEAT, worker_id, host, pid, now)


async def sees_beat(queue: "Driver", worker_id: UUID, *, now: datetime) -> bool:
    """Return whether the queue is in the same database as the heartbeat that was just stored."""
    return bool(await queue.fetch("select 1 from worker_beats where worker_id = $1 and beat_at = $2", worker_id, now))


async def delete_beat(db: Db, worker_id: UUID) -> None:
    await db.execute("delete from worker_beats where worker_id = $1", worker_id)


async def find_last_due(db: Db, name: str) -> datetime | None:
    due_at: datetime | None = await db.fetchval("select due_at from periodic_runs where name = $1", name)
    return due_at


async def begin_run(db: Db, job: Periodic, *, due_at: datetime, lateness_ms: int, now: datetime) -> None:
    await db.execute(BEGIN_RUN, job.name, job.expression, due_at, now, lateness_ms)


async def end_run(db: Db, job: Periodic, status: str, result: str, *, now: datetime) -> None:
    await db.execute(END_RUN, job.name, now, status, result)


async def follow_clock(db: Db, jobs: Sequence[tuple[str, str, timedelta]]) -> bool:
    """Plan periodic jobs (name, expression, time until the next run) again if the database's clock was set back."""
    columns = [list(column) for column in zip(*jobs, strict=True)] or [[], [], []]
    if not count_of(await db.execute(FOLLOW_CLOCK, *columns)):
        return False
    await db.execute(FOLLOW_CLOCK_IN_QUEUE)
    return True


async def delete_logs(db: Db, before: datetime, *, limit: int) -> int:
    return count_of(await db.execute(DELETE_LOGS, before, limit))


async def delete_empty_lanes(db: Db, *, limit: int) -> int:
    return count_of(await db.execute(DELETE_EMPTY_LANES, limit))


async def delete_absent(db: Db, *, beats_before: datetime, runs_before: datetime) -> None:
    """Delete workers without a recent heartbeat and periodic jobs that no version has any more: few rows."""
    await db.execute("delete from worker_beats where beat_at < $1", beats_before)
    await db.execute("delete from periodic_runs where started_at < $1", runs_before)
    await db.execute("delete from pgqueuer_schedules where coalesce(last_run, created) < $1", runs_before)
    await db.execute("delete from pgqueuer_statistics where created < $1", beats_before)


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
    return await db.fetch(LIST_RUNS)
