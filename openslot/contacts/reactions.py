"""What contacts do later: the lines of a file are imported, batch by batch."""

from functools import partial

from openslot.contacts import imports
from openslot.contacts.import_models import ImportPlan
from openslot.contacts.imports import ContactAddedMeanwhile
from openslot.core.events import Done, Effect, Outcome, Reaction
from openslot.core.work import Work

# Each time somebody else has added the contact first, so that the next attempt finds it.
ATTEMPTS = 10


async def import_next_lines(work: Work, effect: Effect) -> Outcome:
    """Import one batch of a file, and plan the next one."""
    plan = effect.plan(ImportPlan)
    if not await _import(work, plan):
        return Done()
    return Done(write=partial(_plan_next, plan=plan, effect=effect))


async def _plan_next(work: Work, *, plan: ImportPlan, effect: Effect) -> None:
    await imports.plan_next(work, plan, effect.tenant_id)


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
        return await imports.import_batch(batch, plan.import_id)


CONTACT_REACTIONS = (Reaction(name=imports.IMPORT, run=import_next_lines),)
