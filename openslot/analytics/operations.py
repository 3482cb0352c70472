"""The verbs of analytics: count visits without delaying them, and read the counts."""

from collections import Counter
from collections.abc import Sequence
from datetime import date

import asyncpg
import structlog

from openslot.accounts.models import User
from openslot.analytics import store
from openslot.analytics.models import CountedViews, PageView
from openslot.core.actor import SYSTEM
from openslot.core.work import Runtime, Work

MOST_SOURCES = 50
"""Per page and day; what comes from further ones is counted together."""

MOST_WAITING = 1000

log = structlog.get_logger()


def count_view(runtime: Runtime, view: PageView) -> None:
    """Count a visit together with others; the visitor does not wait, and a count that can't be written is dropped."""
    runtime.batcher(_count).tell(view, most_waiting=MOST_WAITING)


async def list_views(work: Work, user: User, *, first: date, last: date) -> list[CountedViews]:
    """List how often a host's pages were visited, by page, day and source."""
    return await store.list_views(work.db, user.id, first=first, last=last)


async def _count(runtime: Runtime, views: Sequence[PageView]) -> Sequence[None]:
    try:
        async with runtime.transaction(SYSTEM) as work:
            await store.lock_views(work.db)
            await store.add_views(work.db, Counter(views), most_sources=MOST_SOURCES)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as fault:
        log.warning("page views were not counted", views=len(views), error=str(fault))
    return [None] * len(views)
