"""REST: what can be booked."""

from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations, schemas
from openslot.domains.event_types.links.operations import (
    create_booking_link,
    find_link_url,
    list_booking_links,
    revoke_booking_link,
)
from openslot.domains.event_types.models import EventType, HostLink
from openslot.platform.core.work import Work
from openslot.platform.routing import Success, delete, get, post
from openslot.platform.routing.listings import Limit, Listing, PageNumber, paginate


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
    event_type, schedule = await operations.get_event_type_with_schedule(work, user, event_type_id)
    return schemas.show_detailed(event_type, schedule)


@get("/event-types/{event_type_id}/links", summary="List booking links")
async def list_links(
    work: Work, user: User, event_type_id: UUID, page: PageNumber = 1, limit: Limit = 20
) -> Listing[schemas.ShownLink]:
    """List the links through which one of your event types can be booked a number of times, newest first."""
    event_type, found, total = await list_booking_links(work, user, event_type_id, page=page, limit=limit)
    shown = [_show_link(work, user, event_type, each) for each in found]
    return Listing(data=shown, pagination=paginate(page, limit, total))


@post("/event-types/{event_type_id}/links", summary="Create a booking link")
async def create_link(
    work: Work, user: User, event_type_id: UUID, data: schemas.LinkBody | None = None
) -> schemas.ShownLink:
    """Create a link for a number of bookings of one of your event types: one, unless you say otherwise.

    It opens the event type, a private one too, until it is used up, has ended or is revoked; after that it answers 410.
    """
    wanted = data or schemas.LinkBody()
    event_type, made = await create_booking_link(
        work, user, event_type_id, uses=wanted.uses, ends_at=wanted.ends_at, note=wanted.note
    )
    return _show_link(work, user, event_type, made)


@delete("/event-types/{event_type_id}/links/{link_id}", summary="Delete a booking link")
async def delete_link(work: Work, user: User, event_type_id: UUID, link_id: UUID) -> Success:
    """Revoke a link: it is closed for good. What was booked through it stays; revoking it again changes nothing."""
    await revoke_booking_link(work, user, link_id, event_type_id=event_type_id)
    return Success()


def _show_link(work: Work, user: User, event_type: EventType, found: HostLink) -> schemas.ShownLink:
    return schemas.show_link(found, url=find_link_url(work.runtime, user, event_type, found), now=work.now)
