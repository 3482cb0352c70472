"""REST: the people who book."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations, schemas
from openslot.domains.contacts.models import KnownContact
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, Success, delete, get, patch, post
from openslot.platform.routing.listings import Limit, Listing, PageNumber, paginate

Search = Annotated[
    str,
    Meta(description="Part of the name, email address or company, case-insensitive", pattern=LINE, max_length=254),
    Query(),
]


@get()
async def list_contacts(
    work: Work, user: User, *, search: Search = "", page: PageNumber = 1, limit: Limit = 20
) -> Listing[schemas.ListedContact]:
    """List your contacts, newest first. `search` filters them."""
    found, total = await operations.list_contacts(work, user, search=search, page=page, limit=limit)
    return Listing(data=[schemas.show_listed(each) for each in found], pagination=paginate(page, limit, total))


@post(status=201)
async def create_contact(work: Work, user: User, data: schemas.ContactWanted) -> schemas.DetailedContact:
    """Create a contact. The email address must be unique among your contacts."""
    return schemas.show_detailed(KnownContact(await operations.add_contact(work, user, data)))


@get()
async def get_contact(work: Work, user: User, contact_id: UUID) -> schemas.DetailedContact:
    """Get a contact with its past and upcoming meetings."""
    return schemas.show_detailed(await operations.get_contact_with_meetings(work, user, contact_id))


@patch()
async def update_contact(
    work: Work, user: User, contact_id: UUID, data: schemas.ContactChanges
) -> schemas.DetailedContact:
    """Update the given fields of a contact. `null` clears an optional field."""
    changed = await operations.change_contact(work, user, contact_id, data)
    return schemas.show_detailed(await operations.get_contact_with_meetings(work, user, changed.id))


@delete()
async def delete_contact(work: Work, user: User, contact_id: UUID) -> Success:
    """Delete a contact permanently. Bookings keep the invitee's name and email address."""
    await operations.delete_contact(work, user, contact_id)
    return Success()
