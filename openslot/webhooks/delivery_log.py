"""The verbs that read what was sent: endpoints with their latest try, and the log of deliveries."""

from uuid import UUID

from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.webhooks import delivery_log_store as store
from openslot.webhooks.errors import DeliveryNotFound, WebhookNotFound
from openslot.webhooks.models import DeliveryFilter, EndpointOverview, EndpointRef, LoggedDelivery
from openslot.webhooks.operations import get_endpoint, open_answer, open_body


async def list_overview(work: Work, owner: User) -> list[EndpointOverview]:
    """Read an owner's endpoints, oldest first, each with the latest try at it."""
    return await store.list_overview(work.db, owner.id)


async def get_overview(work: Work, owner: User, endpoint_id: UUID) -> EndpointOverview:
    """Read one endpoint with the latest try at it and its latest test."""
    found = await store.find_overview(work.db, endpoint_id, owner.id)
    if found is None:
        raise WebhookNotFound
    return found


async def list_deliveries(
    work: Work, owner: User, endpoint_id: UUID, wanted: DeliveryFilter, *, page: int, limit: int
) -> tuple[list[LoggedDelivery], bool]:
    """Read one page of an endpoint's tries, newest first, and whether there are more."""
    ref = EndpointRef(endpoint_id, owner.id)
    found = await store.list_deliveries(work.db, ref, wanted, limit=limit + 1, offset=(page - 1) * limit)
    return found[:limit], len(found) > limit


async def list_attempts(
    work: Work, ref: EndpointRef, *, only_failed: bool = False, page: int = 1, limit: int = 20
) -> tuple[list[LoggedDelivery], int]:
    """Read one page of the tries at an endpoint, newest first, and how many there are."""
    endpoint = await get_endpoint(work, ref)
    logged, total = await store.list_attempts(
        work.db, endpoint, only_failed=only_failed, limit=limit, offset=(page - 1) * limit
    )
    return [_open(work, each) for each in logged], total


async def get_delivery(work: Work, owner: User, endpoint_id: UUID, delivery_id: UUID) -> LoggedDelivery:
    """Read one try with what was sent and what was answered."""
    found = await store.find_delivery(work.db, EndpointRef(endpoint_id, owner.id), delivery_id)
    if found is None:
        raise DeliveryNotFound
    logged, kept = found
    return replace(_open(work, logged), body=open_body(work.runtime, logged.attempt.event_id, kept))


def _open(work: Work, logged: LoggedDelivery) -> LoggedDelivery:
    attempt = logged.attempt
    return replace(logged, attempt=replace(attempt, answer=open_answer(work.runtime, attempt.id, attempt.answer)))
