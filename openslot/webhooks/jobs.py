"""What time wears away: old tries, bodies that nobody waits for, and secrets that no longer sign."""

from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.webhooks import store


async def tidy_webhooks(work: Work) -> str:
    """Remove what is older than 30 days, and replaced secrets whose day is over."""
    tries, bodies = await store.tidy(work.db, now=work.now)
    return f"{tries} tries, {bodies} bodies removed"


WEBHOOK_JOBS = (Periodic(name="webhooks.tidy", expression="17 * * * *", run=tidy_webhooks),)
