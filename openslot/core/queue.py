"""Enqueue jobs on the caller's own connection, so that a job exists exactly if the caller's change is committed."""

from collections.abc import Sequence
from datetime import timedelta
from enum import IntEnum
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.core.db import Db

ENTRYPOINT = "effect"
# Effects without an event use their own entrypoint, so that workers of older releases never pick them up.
PLANNED = "planned"
# The queue's own statement costs three times as much: it also logs every job, and nobody reads that log.
INSERT_JOBS = "insert into pgqueuer (priority, entrypoint, payload, execute_after, dedupe_key, status)"
NEW_JOBS = f"""{INSERT_JOBS}
select j.priority, j.entrypoint, j.payload, now() + j.after, j.dedupe_key, 'queued'
from unnest($1::int[], $2::text[], $3::bytea[], $4::interval[], $5::text[])
    as j (priority, entrypoint, payload, after, dedupe_key)"""
ENQUEUE = f"{NEW_JOBS} on conflict do nothing"
HURRY = f"""{NEW_JOBS} order by j.dedupe_key
on conflict (dedupe_key) where status in ('queued', 'picked') and dedupe_key is not null
do update set execute_after = excluded.execute_after, priority = excluded.priority where pgqueuer.status = 'queued'"""
# Effects that are due later than this are not enqueued yet, because workers would have to skip over them. The sweeper
# runs every minute and enqueues them in time.
AHEAD = timedelta(minutes=2)


class Priority(IntEnum):
    """Which jobs run first: those that have failed or were put back yield to the rest."""

    SOON = 0
    LATER = -1


class Job(Struct, frozen=True, kw_only=True):
    """One attempt of one effect; the round prevents a second job for the same attempt."""

    effect_id: UUID
    round: int
    after: timedelta = timedelta()
    priority: Priority = Priority.SOON
    is_planned: bool = False
    """Whether the effect belongs to no event."""

    @property
    def name(self) -> str:
        return name_job(self.effect_id, self.round)

    def pack(self) -> bytes:
        return self.effect_id.bytes + self.round.to_bytes(4)

    @classmethod
    def unpack(cls, payload: bytes) -> "Job":
        """Decode the payload from the queue, ignoring fields that a newer version may have appended."""
        return cls(effect_id=UUID(bytes=payload[:16]), round=int.from_bytes(payload[16:20]))


async def enqueue(db: Db, jobs: Sequence[Job]) -> None:
    """Enqueue jobs, except those that are already in the queue or due much later."""
    jobs = [job for job in jobs if job.after <= AHEAD]
    if jobs:
        await db.execute(ENQUEUE, *_columns(jobs))


async def hurry(db: Db, jobs: Sequence[Job]) -> None:
    """Let jobs that are due later run now, whether they are in the queue already or not."""
    await db.execute(HURRY, *_columns([replace(job, after=timedelta(), priority=Priority.SOON) for job in jobs]))


def _columns(jobs: Sequence[Job]) -> tuple[object, ...]:
    return (
        [job.priority for job in jobs],
        [PLANNED if job.is_planned else ENTRYPOINT for job in jobs],
        [job.pack() for job in jobs],
        [job.after for job in jobs],
        [job.name for job in jobs],
    )


def name_job(effect_id: UUID, round_: int) -> str:
    """Return what the queue knows an attempt by."""
    return f"{effect_id}:{round_}"


def enqueue_new(effects: str) -> str:
    """Write the SQL that enqueues the first attempt of each new effect of an event, as `enqueue` does."""
    return f"""{INSERT_JOBS}
select {Priority.SOON:d}, '{ENTRYPOINT}', uuid_send(id) || int4send(0), now(), id || ':0', 'queued' from {effects}"""
