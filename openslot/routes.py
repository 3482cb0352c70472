"""Every handler of the API, by door: what a key opens, and what needs none."""

from openslot.accounts.api import get_me
from openslot.availability.api import get_offer, list_public_slots, list_slots
from openslot.bookings.api import cancel_booking, create_booking, get_booking, list_bookings, reschedule_booking
from openslot.bookings.public_api import (
    cancel_managed_booking,
    create_hold,
    create_public_booking,
    delete_hold,
    get_managed_booking,
    reschedule_managed_booking,
)
from openslot.calls.api import list_calls
from openslot.contacts.api import create_contact, delete_contact, get_contact, list_contacts, update_contact
from openslot.conversations.api import list_conversations
from openslot.event_types.api import get_event_type, get_host_page, list_event_types
from openslot.routing import Mount
from openslot.routing.declarations import HandlerFunction
from openslot.webhooks.api import list_events

REST: list[HandlerFunction] = [
    get_me,
    list_bookings,
    get_booking,
    create_booking,
    cancel_booking,
    reschedule_booking,
    list_contacts,
    create_contact,
    get_contact,
    update_contact,
    delete_contact,
    list_event_types,
    get_event_type,
    list_slots,
    list_conversations,
    list_calls,
    list_events,
]
PUBLIC: list[HandlerFunction] = [
    get_host_page,
    get_offer,
    list_public_slots,
    create_hold,
    delete_hold,
    get_managed_booking,
    cancel_managed_booking,
    reschedule_managed_booking,
]

API = (
    Mount(prefix="/api/v1", handlers=REST),
    Mount(prefix="/api", handlers=[create_public_booking]),
    Mount(prefix="/api/public", handlers=PUBLIC),
)
