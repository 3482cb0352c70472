"""REST: the people who book."""

from typing import Annotated

from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter

from openslot.accounts.models import User
from openslot.contacts import operations
from openslot.contacts.models import KnownContact
from openslot.contacts.schemas import (
    ContactChanges,
    ContactWanted,
    DetailedContact,
    ListedContact,
    show_detailed,
    show_listed,
)
from openslot.core.ids import parse_id
from openslot.core.paging import Limit, Listing, Page, paginate
from openslot.core.responses import ERRORS, WRITE_ERRORS, Success
from openslot.core.text import LINE
from openslot.core.work import Work

Search = Annotated[
    str,
    QueryParameter(
        description="A part of the name, e-mail address or company, in any letter case",
        pattern=LINE,
        max_length=254,
    ),
]


@get("/contacts", tags=["Contacts"], summary="List contacts", operation_id="listContacts", responses=ERRORS)
async def list_contacts(
    work: NamedDependency[Work], user: NamedDependency[User], *, search: Search = "", page: Page = 1, limit: Limit = 20
) -> Listing[ListedContact]:
    """List your contacts, newest first, or those that a search finds."""
    found, total = await operations.list_contacts(work, user, search=search, page=page, limit=limit)
    return Listing(data=[show_listed(each) for each in found], pagination=paginate(page, limit, total))


@post(
    "/contacts",
    status_code=201,
    tags=["Contacts"],
    summary="Add a contact",
    operation_id="createContact",
    responses=WRITE_ERRORS,
)
async def create_contact(
    work: NamedDependency[Work], user: NamedDependency[User], data: JSONBody[ContactWanted]
) -> DetailedContact:
    """Add someone whose e-mail address none of your contacts has."""
    return show_detailed(KnownContact(await operations.add_contact(work, user, data)))


@get(
    "/contacts/{contact_id:str}",
    tags=["Contacts"],
    summary="Read a contact",
    operation_id="getContact",
    responses=ERRORS,
)
async def get_contact(
    work: NamedDependency[Work], user: NamedDependency[User], contact_id: FromPath[str]
) -> DetailedContact:
    """Read a contact with past and upcoming meetings."""
    return show_detailed(await operations.get_with_meetings(work, user, parse_id(contact_id)))


@patch(
    "/contacts/{contact_id:str}",
    status_code=200,
    tags=["Contacts"],
    summary="Change a contact",
    operation_id="updateContact",
    responses=WRITE_ERRORS,
)
async def update_contact(
    work: NamedDependency[Work], user: NamedDependency[User], contact_id: FromPath[str], data: JSONBody[ContactChanges]
) -> DetailedContact:
    """Change some fields of a contact; null clears one that may be empty."""
    changed = await operations.change_contact(work, user, parse_id(contact_id), data)
    return show_detailed(await operations.get_with_meetings(work, user, changed.id))


@delete(
    "/contacts/{contact_id:str}",
    status_code=200,
    tags=["Contacts"],
    summary="Delete a contact",
    operation_id="deleteContact",
    responses=WRITE_ERRORS,
)
async def delete_contact(
    work: NamedDependency[Work], user: NamedDependency[User], contact_id: FromPath[str]
) -> Success:
    """Delete a contact for good; bookings keep the invitee's name and e-mail address."""
    await operations.delete_contact(work, user, parse_id(contact_id))
    return Success()
