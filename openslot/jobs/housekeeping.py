"""What keeps the queue and the effects in order."""

from datetime import timedelta

from openslot.core.effects import enqueue_forgotten, release_held
from openslot.core.events import Periodic
from openslot.core.work import Work

GRACE = timedelta(minutes=1)
LOG_KEPT_FOR = timedelta(hours=1)
BEATS_KEPT_FOR = timedelta(hours=1)


async def sweep_effects(work: Work) -> str:
    """Let held effects go, and give a job to every due effect that has none."""
    released = await release_held(work.db, now=work.now)
    forgotten = await enqueue_forgotten(work.db, due_before=work.now - GRACE)
    return f"{released} released, {forgotten} taken up again"


async def tidy_queue(work: Work) -> str:
    """Remove traces of finished jobs, empty lanes and workers that are long gone."""
    logs = await work.db.execute("delete from pgqueuer_log where created < $1", work.now - LOG_KEPT_FOR)
    await work.db.execute("delete from pgqueuer_statistics where created < $1", work.now - LOG_KEPT_FOR)
    lanes = await work.db.execute("delete from lanes where unfinished <= 0")
    await work.db.execute("delete from worker_beats where beat_at < $1", work.now - BEATS_KEPT_FOR)
    return f"{logs.rpartition(' ')[2]} job logs, {lanes.rpartition(' ')[2]} lanes removed"


HOUSEKEEPING = (
    Periodic(name="effects.sweep", expression="* * * * *", run=sweep_effects),
    Periodic(name="queue.tidy", expression="*/5 * * * *", run=tidy_queue),
)
