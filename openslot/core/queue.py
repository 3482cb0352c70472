"""Hand a job to the queue, on the caller's own connection: it is there when the change is, or not at all."""

from collections.abc import Sequence
from datetime import timedelta
from enum import IntEnum
from uuid import UUID

from msgspec import Struct
from pgqueuer.adapters.persistence.qb import QueryQueueBuilder

from openslot.core.db import Db

ENTRYPOINT = "effect"
# Effects without an event have their own, which workers of releases that know no such effects never take from.
PLANNED = "planned"
# The queue's own statement, written once: building it anew for every job costs more than sending it.
ENQUEUE = QueryQueueBuilder().build_enqueue_query("skip")
# What is due later than this is not in the queue yet: to look for work is to pass over all that is not due. The sweeper
# comes every minute and brings it in time.
AHEAD = timedelta(minutes=2)


class Priority(IntEnum):
    """What goes first: whatever has failed or was put back makes room for the rest."""

    SOON = 0
    LATER = -1


class Job(Struct, frozen=True, kw_only=True):
    """One try of one effect; the round keeps a second job for the same try out."""

    effect_id: UUID
    round: int
    after: timedelta = timedelta()
    priority: Priority = Priority.SOON
    is_planned: bool = False
    """Whether the effect belongs to no event."""

    def pack(self) -> bytes:
        """Write what the queue carries."""
        return self.effect_id.bytes + self.round.to_bytes(4)

    @classmethod
    def unpack(cls, payload: bytes) -> "Job":
        """Read what the queue has carried; what a newer version writes behind it is not read."""
        return cls(effect_id=UUID(bytes=payload[:16]), round=int.from_bytes(payload[16:20]))


async def enqueue(db: Db, jobs: Sequence[Job]) -> None:
    """Put jobs into the queue, leaving out those that are there already and those that are due much later."""
    jobs = [job for job in jobs if job.after <= AHEAD]
    if not jobs:
        return
    await db.execute(
        ENQUEUE,
        [job.priority for job in jobs],
        [PLANNED if job.is_planned else ENTRYPOINT for job in jobs],
        [job.pack() for job in jobs],
        [job.after for job in jobs],
        [f"{job.effect_id}:{job.round}" for job in jobs],
        [None] * len(jobs),
    )
