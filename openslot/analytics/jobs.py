"""Periodic jobs of analytics."""

from datetime import timedelta

from openslot.analytics import funnel_store, store
from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.jobs.batches import repeat

# Two years can be compared, month by month.
KEPT_FOR = timedelta(days=762)


async def tidy_views(work: Work) -> str:
    """Remove counts of page views, and steps of the sign-up funnel, that are older than 25 months."""
    before = work.now - KEPT_FOR
    views = await repeat(lambda limit: store.delete_old_views(work.db, before=before.date(), limit=limit))
    steps = await repeat(lambda limit: funnel_store.delete_old_steps(work.db, before=before, limit=limit))
    await funnel_store.delete_old_visits(work.db, before=before.date())
    return f"{views} counts of page views, {steps} steps of the sign-up funnel removed"


ANALYTICS_JOBS = (Periodic(name="analytics.tidy", expression="41 3 * * *", run=tidy_views, transaction="none"),)
