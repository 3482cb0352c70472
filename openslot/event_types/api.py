"""REST: what can be booked."""

from uuid import UUID

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.event_types import operations, schemas
from openslot.routing import get
from openslot.routing.listings import Limit, Listing, PageNumber, paginate


@get()
async def list_event_types(
    work: Work, user: User, page: PageNumber = 1, limit: Limit = 20
) -> Listing[schemas.ListedEventType]:
    """List your active event types, in the order of your booking page."""
    found, total = await operations.list_event_types(work, user, only_active=True, page=page, limit=limit)
    return Listing(data=[schemas.show_listed(each) for each in found], pagination=paginate(page, limit, total))


@get()
async def get_event_type(work: Work, user: User, event_type_id: UUID) -> schemas.DetailedEventType:
    """Get an event type, active or not, with its scheduling configuration."""
    event_type, schedule = await operations.get_with_schedule(work, user, event_type_id)
    return schemas.show_detailed(event_type, schedule)
