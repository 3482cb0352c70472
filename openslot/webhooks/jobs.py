"""What time wears away: old tries, bodies that nobody waits for, and secrets that no longer sign."""

from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.jobs.batches import repeat
from openslot.webhooks import store
from openslot.webhooks.rules import LOG_KEPT_FOR


async def tidy_webhooks(work: Work) -> str:
    """Remove what is older than 30 days, and replaced secrets whose day is over."""
    before = work.now - LOG_KEPT_FOR
    tries = await repeat(lambda limit: store.delete_attempts(work.db, before, limit=limit))
    bodies = await repeat(lambda limit: store.delete_messages(work.db, before, limit=limit))
    await store.forget_secrets(work.db, now=work.now)
    return f"{tries} tries, {bodies} bodies removed"


WEBHOOK_JOBS = (Periodic(name="webhooks.tidy", expression="4-59/5 * * * *", run=tidy_webhooks, transaction="none"),)
