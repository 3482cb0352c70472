"""REST: who waits for an event type."""

from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.wait_list import operations
from openslot.domains.wait_list.schemas import ShownWaitListEntry, show_entry
from openslot.platform.core.work import Work
from openslot.platform.routing import get
from openslot.platform.routing.listings import Limit, Listing, PageNumber, paginate


@get("/event-types/{event_type_id}/wait-list", summary="List the wait list of an event type")
async def list_wait_list(
    work: Work, user: User, *, event_type_id: UUID, page: PageNumber = 1, limit: Limit = 20
) -> Listing[ShownWaitListEntry]:
    """List who waits for a time of one of your event types, those who have waited longest first."""
    _, listed, total = await operations.list_wait_list(work, user, event_type_id, page=page, limit=limit)
    return Listing(data=[show_entry(each) for each in listed], pagination=paginate(page, limit, total))
