"""Searching the audit records, and the product's own events."""

from datetime import datetime

from openslot.agents import search_store as store
from openslot.agents.models import AuditFilter, CallCounts, CallRecord, RecordedEvent
from openslot.core.work import Work


async def list_calls(work: Work, wanted: AuditFilter, *, page: int, limit: int) -> list[CallRecord]:
    """List the calls on a page, newest first."""
    return await store.list_calls(work.db, wanted, offset=(page - 1) * limit, limit=limit)


async def list_page(work: Work, wanted: AuditFilter, *, page: int, limit: int) -> tuple[list[CallRecord], bool]:
    """List the calls on a page, newest first, and return whether there is another page."""
    # To count a million records would take too long.
    found = await store.list_calls(work.db, wanted, offset=(page - 1) * limit, limit=limit + 1)
    return found[:limit], len(found) > limit


async def list_events(work: Work, wanted: AuditFilter, *, page: int, limit: int) -> tuple[list[RecordedEvent], bool]:
    """List the events on a page, newest first, and return whether there is another page."""
    found = await store.list_events(work.db, wanted, offset=(page - 1) * limit, limit=limit + 1)
    return found[:limit], len(found) > limit


async def count_calls(work: Work, *, since: datetime) -> dict[str, CallCounts]:
    """Count the calls of each agent since a moment; those that wait for an approval have not failed."""
    return await store.count_calls(work.db, since=since)
