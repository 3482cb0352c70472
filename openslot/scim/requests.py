"""The log of what providers asked for, kept for 30 days."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from openslot.core.work import Runtime, Work
from openslot.scim import log_store, store
from openslot.scim.models import LoggedRequest, NewRequest, RequestFilter

KEPT = timedelta(days=30)


async def log_request(runtime: Runtime, request: NewRequest) -> None:
    """Log a request, together with those that are answered at the same time."""
    await runtime.batcher(_log_requests).ask(request)


async def list_requests(
    work: Work, token_ids: Sequence[UUID], *, page: int = 1, limit: int = 100
) -> list[LoggedRequest]:
    """Read one page of what was asked with these tokens, newest first."""
    return await store.list_requests(work.db, token_ids, limit=limit, offset=(page - 1) * limit)


async def search_requests(
    work: Work, organization_id: UUID, wanted: RequestFilter, *, before_id: int | None, limit: int
) -> list[LoggedRequest]:
    """Read what an organization's providers asked for, newest first, from behind a request on."""
    return await log_store.search_requests(work.db, organization_id, wanted, before_id=before_id, limit=limit)


async def _log_requests(runtime: Runtime, requests: Sequence[NewRequest]) -> Sequence[None]:
    await store.insert_requests(runtime.pool, requests)
    return [None] * len(requests)
