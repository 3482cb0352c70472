"""What happened to contacts."""

from typing import ClassVar
from uuid import UUID

from openslot.domains.contacts.models import Contact, KnownContact
from openslot.domains.contacts.schemas import show_detailed
from openslot.platform.core.events import Event


class ContactEvent(Event, frozen=True, kw_only=True):
    """Something happened to a contact."""

    contact: Contact

    @property
    def tenant_id(self) -> UUID | None:
        return self.contact.owner_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "contact", self.contact.id


class ContactCreated(ContactEvent, frozen=True, kw_only=True):
    """A contact was created, with an email address that none of the owner's contacts had."""

    type: ClassVar[str] = "contact.created"

    def public(self) -> object | None:
        """Show the contact as reading it does at this moment: with no meetings yet."""
        return show_detailed(KnownContact(self.contact))


class ContactChanged(ContactEvent, frozen=True, kw_only=True):
    """A contact's name, email address, phone number, company, notes or tags were changed."""

    type: ClassVar[str] = "contact.changed"


CONTACT_EVENTS: tuple[type[Event], ...] = (ContactCreated, ContactChanged)
