"""The verbs of the change log: write a line with the change that it tells of, read lines, and remove old ones."""

from datetime import timedelta
from uuid import UUID

from openslot.domains.change_log import store
from openslot.domains.change_log.models import ChangeFilter, LoggedChange, NewChange, keep_changed
from openslot.platform.core.work import Periodic, Work
from openslot.platform.jobs.batches import delete_old


async def log_change(work: Work, change: NewChange) -> None:
    """Write down a change in the transaction that makes it: there is never one without the other."""
    if work.db is work.runtime.pool:
        raise RuntimeError("a change is logged in the transaction that makes it, and there is none")
    before, after = keep_changed(change.before, change.after)
    await store.insert_change(work.db, change, actor=work.actor, before=before, after=after, now=work.now)


async def list_changes(
    work: Work, organization_id: UUID | None, wanted: ChangeFilter, *, before_id: int | None = None, limit: int = 50
) -> list[LoggedChange]:
    """Read what was changed in an organization, or with None on the platform, newest first."""
    return await store.list_changes(work.db, organization_id, wanted, before_id=before_id, limit=limit)


async def tidy_change_log(work: Work) -> str:
    """Remove lines of the change log past their retention."""
    before = work.now - timedelta(days=work.runtime.settings.keep_changes_days)
    removed = await delete_old(work.db, "change_log", "at", before=before)
    return f"{removed} changes removed"


CHANGE_LOG_JOBS = (Periodic(name="change_log.tidy", expression="17 * * * *", run=tidy_change_log, transaction="none"),)
