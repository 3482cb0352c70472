"""Maintenance of the effects, their lanes and the events."""

from datetime import timedelta

from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.effects import call_left, delete_finished, release_held
from openslot.platform.core.holding import forget_sent
from openslot.platform.core.retention import delete_events, find_old_events, kept_since
from openslot.platform.core.work import Periodic, Work
from openslot.platform.jobs import store
from openslot.platform.jobs.batches import Batch, repeat, walk
from openslot.platform.jobs.places import LONGEST_OF_SUSPECTS, TURNED_AWAY

RUNS_KEPT_FOR = timedelta(days=30)
# Longer than from one run of any job to the next.
FAILED_ITEMS_KEPT_FOR = timedelta(days=3)
SLIM = 2_000
# In a minute: most of them are turned away again if their target is still slow.
MAX_CALLED = 1_000
# Deleting an event also deletes what belongs to it: about five effects each.
EVENTS = 50


async def sweep_effects(work: Work) -> str:
    """Release effects that waited long enough behind a failing one, and those that a worker put off which is gone."""

    async def release(_: bool) -> Batch[bool]:
        async with work.runtime.transaction(SYSTEM) as batch:
            released, has_more = await release_held(batch.db, now=work.now)
        return Batch(released, has_more or None)

    released = await walk(release, True)
    put_off = await call_left(work.db, now=work.now, reasons=TURNED_AWAY, within=LONGEST_OF_SUSPECTS, limit=MAX_CALLED)
    return f"{released + put_off} released"


async def tidy_queue(work: Work) -> str:
    """Remove empty lanes, and workers, periodic jobs and faults of single items that no longer exist."""
    lanes = await repeat(lambda limit: store.delete_empty_lanes(work.db, limit=limit), size=SLIM)
    await store.delete_absent(
        work.db, runs_before=work.now - RUNS_KEPT_FOR, failed_before=work.now - FAILED_ITEMS_KEPT_FOR
    )
    return f"{lanes} lanes removed"


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
    """Remove planned effects that finished longer ago than events are kept, and notes about messages that were held."""
    before = kept_since(work.runtime.settings, now=work.now)
    effects = await repeat(lambda limit: delete_finished(work.db, before=before, limit=limit), size=SLIM)
    await repeat(lambda limit: forget_sent(work.db, limit=limit), size=SLIM)
    return f"{effects} planned effects removed"


HOUSEKEEPING = (
    Periodic(name="effects.sweep", expression="* * * * *", run=sweep_effects, transaction="none"),
    Periodic(name="queue.tidy", expression="*/5 * * * *", run=tidy_queue, transaction="none"),
    Periodic(name="effects.tidy", expression="2-59/5 * * * *", run=tidy_planned, transaction="none"),
    Periodic(name="events.tidy", expression="1-59/5 * * * *", run=tidy_events, transaction="none"),
)
