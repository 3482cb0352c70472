"""Periodic cleanup of old tries, bodies, replaced secrets, and data stored in the clear."""

from openslot.core import migrate
from openslot.core.actor import SYSTEM
from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.jobs.batches import repeat
from openslot.webhooks import operations, store
from openslot.webhooks.rules import LOG_KEPT_FOR

# Workers of the previous release send stored bodies as they are.
MIGRATION = "0022_found_in_clear.sql"


async def tidy_webhooks(work: Work) -> str:
    """Remove deliveries and bodies after 30 days, and replaced secrets after 24 hours."""
    before = work.now - LOG_KEPT_FOR
    tries = await repeat(lambda limit: store.delete_attempts(work.db, before, limit=limit))
    bodies = await repeat(lambda limit: store.delete_messages(work.db, before, limit=limit))
    await store.forget_secrets(work.db, now=work.now)
    return f"{tries} tries, {bodies} bodies removed"


async def seal_webhooks(work: Work) -> str:
    """Encrypt bodies and responses that 0.1.0 stored in the clear, starting a day after the upgrade."""
    if not await migrate.is_rollout_over(work.db, MIGRATION, now=work.now):
        return "waiting for the end of the rollout"

    async def seal_bodies(limit: int) -> int:
        async with work.runtime.transaction(SYSTEM) as batch:
            return await operations.seal_bodies_in_clear(batch, limit=limit)

    async def seal_answers(limit: int) -> int:
        async with work.runtime.transaction(SYSTEM) as batch:
            return await operations.seal_answers_in_clear(batch, limit=limit)

    return f"{await repeat(seal_bodies)} bodies, {await repeat(seal_answers)} answers sealed"


WEBHOOK_JOBS = (
    Periodic(name="webhooks.tidy", expression="4-59/5 * * * *", run=tidy_webhooks, transaction="none"),
    Periodic(name="webhooks.seal", expression="8 * * * *", run=seal_webhooks, transaction="none"),
)
