"""Tools: contacts."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import asdict

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts import schemas
from openslot.domains.contacts.models import Contact
from openslot.doors.agents.models import Tier
from openslot.doors.agents.registry import USER, Search, UserId, about, get_named_user, tool
from openslot.doors.mcp.tools import Paging, inside, naming, read_given
from openslot.platform.core.shapes import with_fields
from openslot.platform.core.work import Work
from openslot.platform.routing.listings import Listing

ContactId = Annotated[UUID, Meta(description="The contact's id")]
ContactSearch = Annotated[
    Search,
    Meta(
        description="Part of the name, email address or company, case-insensitive; at least 3 characters unless "
        "userId is given"
    ),
]
OwnerId = Annotated[str, Meta(description="The user whose contact it is")]
CONTACT = about("contact", "contact_id")


@with_fields(schemas.CHANGES)
class ContactMetadata(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The fields to change; those that are left out stay, and null clears a field."""


class PlatformContact(schemas.ListedContact, frozen=True, kw_only=True, rename="camel"):
    """A contact as the REST API lists it, with its owner."""

    user_id: OwnerId


class DetailedPlatformContact(schemas.DetailedContact, frozen=True, kw_only=True, rename="camel"):
    """A contact with its meetings as the REST API shows it, with its owner."""

    user_id: OwnerId


@tool(scope="contacts:read", target=USER)
async def list_contacts(
    work: Work, *, arguments: Paging, user_id: UserId | None = None, search: ContactSearch = ""
) -> Listing[PlatformContact]:
    """List the contacts of all users, or of one user, newest first.

    Use it to find an invitee by part of the name, email address or company: someone who books with two users
    is a contact of each. It costs nothing and changes nothing.
    """
    page, limit = arguments.page, arguments.limit
    if user_id is None:
        found, total = await contacts.list_all_contacts(work, search=search, page=page, limit=limit)
    else:
        owner = await get_named_user(work, user_id)
        found, total = await contacts.list_contacts(work, owner, search=search, page=page, limit=limit)
    shown = [PlatformContact(**asdict(schemas.show_listed(each)), user_id=str(each.contact.owner_id)) for each in found]
    return arguments.show(shown, total)


@tool(scope="contacts:read", target=CONTACT)
async def get_contact(work: Work, *, contact_id: ContactId) -> DetailedPlatformContact:
    """Get one contact with the next and the last 100 meetings.

    Use it to see who the person is before you answer or change something. It costs nothing and changes nothing.
    """
    with naming("contactId"):
        contact = await contacts.get_any_contact(work, contact_id)
        return await _show(work, await get_user(work, contact.owner_id), contact)


@tool(scope="contacts:write", tier=Tier.T2, target=CONTACT)
async def update_contact_metadata(
    work: Work, *, contact_id: ContactId, metadata: ContactMetadata
) -> DetailedPlatformContact:
    """Change what is noted of a contact, such as company and tags; omitted fields stay unchanged, null clears a field.

    Tags are replaced as a whole. Name and email address can't be changed here. It can be undone by writing the old
    values again. It needs confirm: true and costs nothing.
    """
    given = read_given(metadata, argument="metadata")
    with naming("contactId"):
        contact = await contacts.get_any_contact(work, contact_id)
        owner = await get_user(work, contact.owner_id)
        with inside("metadata"):
            changed = await contacts.change_contact(work, owner, contact.id, schemas.ContactChanges(**given))
        return await _show(work, owner, changed)


async def _show(work: Work, owner: User, contact: Contact) -> DetailedPlatformContact:
    detailed = schemas.show_detailed(await contacts.get_contact_with_meetings(work, owner, contact.id))
    return DetailedPlatformContact(**asdict(detailed), user_id=str(owner.id))
