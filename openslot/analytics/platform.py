"""Figures about the whole platform, for its administrators."""

from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from openslot.analytics import platform_store as store
from openslot.analytics.models import DayOfPlatform, SourceCount
from openslot.core.work import Work

MOST_SOURCES = 10


async def list_days(work: Work, *, first: date, last: date) -> list[DayOfPlatform]:
    """Count what happened on each day, in UTC; days on which nothing happened are there too."""
    begin = datetime.combine(first, time(), UTC)
    end = datetime.combine(last + timedelta(days=1), time(), UTC)
    counted = await store.count_days(work.db, since=begin, until=end, first_id=_first_id(begin))
    days = ((last - first).days + 1) if first <= last else 0
    return [
        DayOfPlatform(on=on, **counted.get(on, {})) for on in (first + timedelta(days=number) for number in range(days))
    ]


async def list_sources(work: Work, *, first: date, last: date) -> list[SourceCount]:
    """List where visits of public pages come from, most first; the rest is left out."""
    return await store.list_sources(work.db, first=first, last=last, limit=MOST_SOURCES)


def _first_id(moment: datetime) -> UUID:
    """Return the smallest id that can have been made at a moment: ids begin with the time."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)
