"""The events that an endpoint can choose, in groups, each with one sentence that says when it is sent."""

from msgspec import Struct

from openslot.bookings.events import BookingCancelled, BookingCreated, BookingRescheduled
from openslot.contacts.events import ContactCreated
from openslot.i18n import Text
from openslot.webhooks.events import WebhookTested
from openslot.webhooks.schemas import PUBLISHED, PUBLISHED_TYPES

GROUPS = {"booking": Text("Bookings"), "contact": Text("Contacts")}
SENTENCES = {
    BookingCreated.type: Text("A new booking was confirmed."),
    BookingRescheduled.type: Text("A booking was rescheduled."),
    BookingCancelled.type: Text("A booking was cancelled."),
    ContactCreated.type: Text("A contact was added, by a booking or manually."),
}
# What the log can have.
LOGGED_TYPES = (*PUBLISHED_TYPES, WebhookTested.type)


class EventChoice(Struct, frozen=True, kw_only=True):
    """One event as a check box."""

    type: str
    sentence: str


def group_events() -> list[tuple[str, list[EventChoice]]]:
    """List every event that can be chosen, under the name of its group; one that is new here is told in English."""
    groups: dict[str, list[EventChoice]] = {}
    for one in PUBLISHED:
        kind = one.event.type
        sentence = SENTENCES.get(kind) or (one.event.__doc__ or kind).strip()
        group = kind.partition(".")[0]
        groups.setdefault(GROUPS.get(group, Text("Others")), []).append(EventChoice(type=kind, sentence=sentence))
    return list(groups.items())
