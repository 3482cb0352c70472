"""What contacts do later: the lines of a file are imported, batch by batch, and old imports are removed."""

from functools import partial

from openslot.domains.contacts.imports.models import ImportPlan
from openslot.domains.contacts.imports.operations import (
    CONTACT_IMPORT,
    DONE_KEPT_FOR,
    IDLE_KEPT_FOR,
    ContactAddedMeanwhile,
    import_batch,
    plan_next_lines,
)
from openslot.domains.contacts.imports.store import delete_old_imports
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, Outcome, Periodic, Reaction, Work
from openslot.platform.jobs.batches import repeat

# Each time somebody else has added the contact first, so that the next attempt finds it.
ATTEMPTS = 10


async def import_next_lines(work: Work, effect: Effect) -> Outcome:
    """Import one batch of a file, and plan the next one."""
    plan = effect.plan(ImportPlan)
    if not await _import(work, plan):
        return Done()
    return Done(write=partial(plan_next_lines, plan=plan, owner_id=effect.tenant_id))


async def _import(work: Work, plan: ImportPlan) -> bool:
    for _ in range(ATTEMPTS - 1):
        try:
            return await _try(work, plan)
        except ContactAddedMeanwhile:
            continue
    return await _try(work, plan)


async def _try(work: Work, plan: ImportPlan) -> bool:
    # The batch is on behalf of the user who has started the import.
    async with work.runtime.transaction(plan.actor) as batch:
        return await import_batch(batch, plan.import_id)


CONTACT_REACTIONS = (Reaction(name=CONTACT_IMPORT, run=import_next_lines),)


# Each import has up to 20,000 lines.
BATCH = 5


async def tidy_imports(work: Work) -> str:
    """Remove imports of contacts 30 days after they finished, and unfinished ones after a day."""
    done_before, idle_before = work.now - DONE_KEPT_FOR, work.now - IDLE_KEPT_FOR
    gone = await repeat(
        lambda limit: delete_old_imports(work.db, done_before=done_before, idle_before=idle_before, limit=limit),
        size=BATCH,
    )
    return f"{gone} imports removed"


CONTACT_JOBS = (Periodic(name="contacts.tidy", expression="23 * * * *", run=tidy_imports, transaction="none"),)
