"""The verbs of analytics: count visits without delaying them, and read the figures of a host."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from uuid import UUID

import asyncpg
import structlog

from openslot.domains.accounts.models import User
from openslot.domains.analytics import host_store, store
from openslot.domains.analytics.models import CountedViews, HostFigures, HostOverview, HostPeriod, PageView
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.jobs.batches import repeat

MAX_SOURCES = 50
"""The most sources per page and day; further ones are counted together."""

MAX_WAITING = 1000

log = structlog.get_logger()


def count_view(runtime: Runtime, view: PageView) -> None:
    """Count a visit together with others; the visitor does not wait, and a count that can't be written is dropped."""
    runtime.batcher(_count).tell(view, max_waiting=MAX_WAITING)


async def add_page_views(work: Work, views: Mapping[PageView, int]) -> None:
    """Add counts of visits, in a transaction; other writers wait until it ends."""
    await store.lock_views(work.db)
    await store.add_views(work.db, views, max_sources=MAX_SOURCES)


async def list_page_views(work: Work, user: User, *, first: date, last: date) -> list[CountedViews]:
    """List how often a host's pages were visited, by page, day and source."""
    return await store.list_views(work.db, user.id, first=first, last=last)


async def read_figures(work: Work, host: User, period: HostPeriod, *, event_type_id: UUID | None) -> HostFigures:
    """Count a host's bookings, meetings and visits over a period and the one before it, of one event type or of all."""
    return await host_store.read_figures(work.db, host.id, period, zone=host.zone, event_type_id=event_type_id)


async def read_host_overview(work: Work, host: User, period: HostPeriod) -> HostOverview:
    """Count a host's visits and bookings over a period, and read when the host is busy on its last day."""
    zone = get_zone(host.zone)
    since, begins, ends = (
        datetime.combine(each, time.min, zone) for each in (period.first, period.last, period.last + timedelta(days=1))
    )
    return await host_store.read_overview(work.db, host.id, period, since=since, begins=begins, ends=ends)


async def _count(runtime: Runtime, views: Sequence[PageView]) -> Sequence[None]:
    try:
        async with runtime.transaction(SYSTEM) as work:
            await add_page_views(work, Counter(views))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as fault:
        log.warning("page views were not counted", views=len(views), error=str(fault))
    return [None] * len(views)


# Two years can be compared, month by month.
KEPT_FOR = timedelta(days=762)


async def tidy_views(work: Work) -> str:
    """Remove counts of page views, and steps of the sign-up funnel, that are older than 25 months."""
    before = work.now - KEPT_FOR
    views = await repeat(lambda limit: store.delete_old_views(work.db, before=before.date(), limit=limit))
    steps = await repeat(lambda limit: store.delete_old_steps(work.db, before=before, limit=limit))
    await store.delete_old_visits(work.db, before=before.date())
    return f"{views} counts of page views, {steps} steps of the sign-up funnel removed"


ANALYTICS_JOBS = (Periodic(name="analytics.tidy", expression="41 3 * * *", run=tidy_views, transaction="none"),)
