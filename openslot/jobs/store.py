"""The SQL of what keeps the queue in order."""

from datetime import datetime

from openslot.core.db import Db, count_of

DELETE_LOGS = """
delete from pgqueuer_log where id = any(array(
    select id from pgqueuer_log where created < $1 order by created limit $2))"""
# Who is just joining a lane is not waited for: two who wait for each other would both lose. What is locked stays empty.
DELETE_EMPTY_LANES = """
delete from lanes where lane = any(array(
    select lane from lanes where unfinished <= 0 order by lane limit $1 for update skip locked))"""


async def delete_logs(db: Db, before: datetime, *, limit: int) -> int:
    """Remove traces of finished jobs."""
    return count_of(await db.execute(DELETE_LOGS, before, limit))


async def delete_empty_lanes(db: Db, *, limit: int) -> int:
    """Remove lanes in which nothing is left to do."""
    return count_of(await db.execute(DELETE_EMPTY_LANES, limit))


async def delete_absent(db: Db, *, beats_before: datetime, runs_before: datetime) -> None:
    """Remove what is left of workers that no longer beat and of jobs that no version has any more: few rows."""
    await db.execute("delete from worker_beats where beat_at < $1", beats_before)
    await db.execute("delete from periodic_runs where started_at < $1", runs_before)
    await db.execute("delete from pgqueuer_schedules where coalesce(last_run, created) < $1", runs_before)
    await db.execute("delete from pgqueuer_statistics where created < $1", beats_before)
