"""Periodic jobs of exports: files are deleted when their time is over."""

from datetime import timedelta

from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.exports import store
from openslot.jobs.batches import repeat

PIECES = 20
# The row without its file counts for the limit of a day.
ROWS_KEPT_FOR = timedelta(days=2)
ABANDONED_AFTER = timedelta(days=1)


async def delete_expired(work: Work) -> str:
    """Delete the files of expired exports, and give up exports that nobody works on."""
    db = work.db
    given_up = await store.fail_abandoned(db, before=work.now - ABANDONED_AFTER, now=work.now)
    pieces = await repeat(lambda size: store.delete_pieces(db, now=work.now, limit=size), size=PIECES)
    rows = await repeat(lambda size: store.delete_exports(db, before=work.now - ROWS_KEPT_FOR, limit=size))
    return f"{pieces} pieces and {rows} exports deleted, {given_up} given up"


EXPORT_JOBS = (
    Periodic(name="exports.delete_expired", expression="11 * * * *", run=delete_expired, transaction="none"),
)
