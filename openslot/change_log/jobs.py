"""Periodic cleanup of the change log."""

from datetime import timedelta

from openslot.change_log import store
from openslot.core.work import Periodic, Work
from openslot.jobs.batches import repeat


async def tidy_change_log(work: Work) -> str:
    """Remove lines of the change log past their retention."""
    before = work.now - timedelta(days=work.runtime.settings.keep_changes_days)
    removed = await repeat(lambda limit: store.delete_old_changes(work.db, before=before, limit=limit))
    return f"{removed} changes removed"


CHANGE_LOG_JOBS = (Periodic(name="change_log.tidy", expression="17 * * * *", run=tidy_change_log, transaction="none"),)
