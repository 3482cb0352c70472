"""The verbs of contacts, the only writers of its table."""

from uuid import UUID

import asyncpg
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.contacts import store
from openslot.domains.contacts.errors import ContactEmailAlreadyExists, ContactNotFound
from openslot.domains.contacts.events import ContactChanged, ContactCreated
from openslot.domains.contacts.fields import find_phone
from openslot.domains.contacts.models import (
    GRAM,
    Contact,
    ContactEntry,
    ContactSort,
    CountedContact,
    KnownContact,
    fold,
)
from openslot.domains.contacts.schemas import ContactChanges, ContactWanted, check_fields
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work


async def add_contact(work: Work, owner: User, wanted: ContactWanted) -> Contact:
    contact = Contact(id=new_id(), owner_id=owner.id, created_at=work.now, updated_at=work.now, **check_fields(wanted))
    if not await store.insert_contact(work.db, contact):
        raise ContactEmailAlreadyExists
    await work.record(ContactCreated(contact=contact))
    return contact


async def find_or_add_contact(
    work: Work, *, owner_id: UUID, name: str, email: str, phone: str | None = None
) -> Contact:
    """Find the contact with an email address, or add them and stage the fact that they are new.

    Name and address are checked by the caller; an invalid phone number is left out. For a known contact, only a missing
    phone number is filled in.
    """
    number = find_phone(phone) if phone else None
    contact = await store.find_by_email(work.db, owner_id, email)
    # If another transaction inserts the contact first, the next look-up finds it.
    while contact is None:
        fresh = Contact(
            id=new_id(),
            owner_id=owner_id,
            name=name,
            email=email,
            phone=number,
            created_at=work.now,
            updated_at=work.now,
        )
        if await store.insert_contact(work.db, fresh):
            work.stage(ContactCreated(contact=fresh))
            return fresh
        contact = await store.find_by_email(work.db, owner_id, email)
    if number and not contact.phone:
        contact = replace(contact, phone=number, updated_at=work.now)
        await store.fill_phone(work.db, contact)
    return contact


async def get_contact(work: Work, owner: User, contact_id: UUID) -> Contact:
    return require(await store.find_contact(work.db, owner.id, contact_id), ContactNotFound)


async def get_contact_with_meetings(work: Work, owner: User, contact_id: UUID) -> KnownContact:
    return require(await store.find_with_meetings(work.db, owner.id, contact_id, now=work.now), ContactNotFound)


async def find_by_phone(work: Work, owner_id: UUID, phone: str) -> Contact | None:
    number = find_phone(phone)
    return await store.find_by_phone(work.db, owner_id, number) if number else None


async def list_contacts(
    work: Work, owner: User, *, search: str = "", page: int = 1, limit: int = 20
) -> tuple[list[CountedContact], int]:
    """Read one page of an owner's contacts whose name, email address or company has a text in it, newest first."""
    return await store.list_contacts(work.db, owner.id, search=search, limit=limit, offset=(page - 1) * limit)


async def list_all_contacts(
    work: Work, *, search: str = "", page: int = 1, limit: int = 20
) -> tuple[list[CountedContact], int]:
    """Read one page of all users' contacts, newest first; a search has at least three characters."""
    if search and len(fold(search)) < GRAM:
        raise Invalid(details={"search": f"must have at least {GRAM} characters unless userId is given"})
    return await store.list_all_contacts(work.db, search=search, limit=limit, offset=(page - 1) * limit)


async def get_any_contact(work: Work, contact_id: UUID) -> Contact:
    return require(await store.find_any_contact(work.db, contact_id), ContactNotFound)


async def change_contact(work: Work, owner: User, contact_id: UUID, changes: ContactChanges) -> Contact:
    """Change what is given of a contact and leave the rest."""
    contact = require(await store.lock_contact(work.db, owner.id, contact_id), ContactNotFound)
    changed = replace(contact, **check_fields(changes))
    if changed == contact:
        return contact
    changed = replace(changed, updated_at=work.now)
    try:
        await store.update_contact(work.db, changed)
    except asyncpg.UniqueViolationError:
        raise ContactEmailAlreadyExists from None
    await work.record(ContactChanged(contact=changed))
    return changed


async def delete_contact(work: Work, owner: User, contact_id: UUID) -> None:
    """Forget a contact for good; bookings keep the invitee's name and email address."""
    if not await store.delete_contact(work.db, owner.id, contact_id):
        raise ContactNotFound


async def erase_some_contacts(work: Work, owner: User, limit: int) -> int:
    """Delete some contacts of an owner whose account is deleted, and return how many; nobody is notified."""
    return await store.delete_some(work.db, owner.id, limit)


async def list_directory(
    work: Work, owner: User, *, search: str = "", sort: ContactSort = ContactSort.NEWEST, page: int = 1, limit: int
) -> tuple[list[ContactEntry], int]:
    """Read one page of an owner's contacts with their meetings nearest to now, and how many there are."""
    offset = (page - 1) * limit
    return await store.list_entries(
        work.db, owner.id, search=search, sort=sort, limit=limit, offset=offset, now=work.now
    )
