"""Searching the audit records."""

from openslot.agents import search_store as store
from openslot.agents.models import CallRecord
from openslot.agents.search_store import AuditFilter
from openslot.core.work import Work


async def list_calls(work: Work, wanted: AuditFilter, *, page: int, limit: int) -> list[CallRecord]:
    """List the calls on a page, newest first."""
    return await store.list_calls(work.db, wanted, offset=(page - 1) * limit, limit=limit)
