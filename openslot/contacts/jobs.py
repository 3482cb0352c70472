"""Periodic jobs of contacts."""

from openslot.contacts import import_store
from openslot.contacts.imports import DONE_KEPT_FOR, IDLE_KEPT_FOR
from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.jobs.batches import repeat

# Each import has up to 20,000 lines.
BATCH = 5


async def tidy_imports(work: Work) -> str:
    """Remove imports of contacts 30 days after they finished, and unfinished ones after a day."""
    done_before, idle_before = work.now - DONE_KEPT_FOR, work.now - IDLE_KEPT_FOR
    gone = await repeat(
        lambda limit: import_store.delete_old_imports(
            work.db, done_before=done_before, idle_before=idle_before, limit=limit
        ),
        size=BATCH,
    )
    return f"{gone} imports removed"


CONTACT_JOBS = (Periodic(name="contacts.tidy", expression="23 * * * *", run=tidy_imports, transaction="none"),)
