"""Maintenance of the queue, the effects and the events."""

from datetime import datetime, timedelta
from uuid import UUID

from openslot.core.actor import SYSTEM
from openslot.core.effects import BEFORE_ALL, delete_finished, enqueue_due, release_held
from openslot.core.retention import delete_events, find_old_events, kept_since
from openslot.core.work import Periodic, Work
from openslot.jobs import store
from openslot.jobs.batches import Batch, repeat, walk

LOG_KEPT_FOR = timedelta(hours=1)
BEATS_KEPT_FOR = timedelta(hours=1)
RUNS_KEPT_FOR = timedelta(days=30)
SLIM = 2_000
# Deleting an event also deletes what belongs to it: about five effects each.
EVENTS = 50


async def sweep_effects(work: Work) -> str:
    """Release held effects, and queue a job for every effect that is due soon and has none."""

    async def release(_: bool) -> Batch[bool]:
        async with work.runtime.transaction(SYSTEM) as batch:
            released, has_more = await release_held(batch.db, now=work.now)
        return Batch(released, has_more or None)

    async def bring(behind: tuple[datetime, UUID]) -> Batch[tuple[datetime, UUID]]:
        async with work.runtime.transaction(SYSTEM) as batch:
            return Batch(*await enqueue_due(batch.db, now=work.now, behind=behind))

    released = await walk(release, True)
    return f"{released} released, {await walk(bring, BEFORE_ALL)} brought to the queue"


async def tidy_queue(work: Work) -> str:
    """Remove records of finished jobs, empty lanes, and workers and periodic jobs that no longer exist."""
    logs = await repeat(lambda limit: store.delete_logs(work.db, work.now - LOG_KEPT_FOR, limit=limit), size=SLIM)
    lanes = await repeat(lambda limit: store.delete_empty_lanes(work.db, limit=limit), size=SLIM)
    await store.delete_absent(work.db, beats_before=work.now - BEATS_KEPT_FOR, runs_before=work.now - RUNS_KEPT_FOR)
    return f"{logs} job logs, {lanes} lanes removed"


async def tidy_events(work: Work) -> str:
    """Remove events past their retention, with their effects and their places in the feed."""
    before, uses = kept_since(work.runtime.settings, now=work.now), work.runtime.wiring.event_uses

    async def delete(behind: int) -> Batch[int]:
        old = await find_old_events(work.db, uses=uses, before=before, behind=behind, limit=EVENTS)
        if not old.ids:
            return Batch(0, old.next)
        async with work.runtime.transaction(SYSTEM) as batch:
            return Batch(await delete_events(batch.db, old.ids, uses=uses), old.next)

    return f"{await walk(delete, 0)} events removed"


async def tidy_planned(work: Work) -> str:
    """Remove planned effects that finished longer ago than events are kept."""
    before = kept_since(work.runtime.settings, now=work.now)
    effects = await repeat(lambda limit: delete_finished(work.db, before=before, limit=limit), size=SLIM)
    return f"{effects} planned effects removed"


HOUSEKEEPING = (
    Periodic(name="effects.sweep", expression="* * * * *", run=sweep_effects, transaction="none"),
    Periodic(name="queue.tidy", expression="*/5 * * * *", run=tidy_queue, transaction="none"),
    Periodic(name="effects.tidy", expression="2-59/5 * * * *", run=tidy_planned, transaction="none"),
    Periodic(name="events.tidy", expression="1-59/5 * * * *", run=tidy_events, transaction="none"),
)
