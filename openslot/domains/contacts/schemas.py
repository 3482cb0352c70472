"""The wire shapes of contacts, and what every field must look like."""

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from openslot.domains.contacts.models import (
    CONTACT_FIELDS,
    FIELDS_IN_BOOKINGS,
    OTHER_FIELDS,
    Contact,
    CountedContact,
    KnownContact,
    Meeting,
)
from openslot.platform.core.errors import Invalid
from openslot.platform.core.shapes import Shape, with_fields
from openslot.platform.core.text import EmailAddress, Name, fold_ascii, parse_email
from openslot.platform.core.times import Instant

_ID = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e91"

Id = Annotated[str, Meta(examples=[_ID])]
NameField = Annotated[Name, Meta(examples=["Noor Haddad"])]
EmailField = Annotated[EmailAddress, Meta(description="Unique among your contacts", examples=["noor@haddad.example"])]


@with_fields((each.name, each.wanted | None, None) for each in CONTACT_FIELDS)
class ContactWanted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A contact to create."""

    name: NameField
    email: EmailField


# What may be changed of the fields.
CHANGES = tuple((each.name, each.wanted | UnsetType | None, UNSET) for each in CONTACT_FIELDS)


@with_fields(CHANGES)
class ContactChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The fields to update. Omitted fields stay unchanged; null clears an optional field."""

    name: NameField | UnsetType = UNSET
    email: EmailField | UnsetType = UNSET


@with_fields((each.name, each.shown) for each in FIELDS_IN_BOOKINGS)
class EmbeddedContact(Struct, frozen=True, kw_only=True, rename="camel"):
    """A contact, embedded in another resource."""

    id: Id
    name: Annotated[str, Meta(examples=["Noor Haddad"])]
    email: Annotated[str, Meta(examples=["noor@haddad.example"])]


@with_fields((each.name, each.shown) for each in OTHER_FIELDS)
class _WholeContact(EmbeddedContact, frozen=True, kw_only=True, rename="camel"):
    """A contact with all fields."""


class ListedContact(_WholeContact, frozen=True, kw_only=True, rename="camel"):
    """A contact in a list."""

    meeting_count: Annotated[int, Meta(description="Confirmed meetings, past and upcoming", examples=[3])]
    created_at: Instant
    updated_at: Instant


class MeetingEventType(Struct, frozen=True, kw_only=True):
    """The event type of a meeting."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e90"])]
    name: Annotated[str, Meta(examples=["Intro call"])]
    slug: Annotated[str, Meta(examples=["intro-call"])]


class ShownMeeting(Struct, frozen=True, kw_only=True, rename="camel"):
    """A meeting with a contact."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e92"])]
    start_time: Instant
    end_time: Instant
    status: Annotated[str, Meta(description="CONFIRMED or CANCELLED", examples=["CONFIRMED"])]
    event_type: MeetingEventType


class DetailedContact(ListedContact, frozen=True, kw_only=True, rename="camel"):
    """A contact with its next 100 and its last 100 meetings."""

    upcoming_meetings: Annotated[
        list[ShownMeeting], Meta(description="Confirmed meetings that have not ended, soonest first")
    ]
    past_meetings: Annotated[
        list[ShownMeeting], Meta(description="Meetings that have ended, including cancelled ones, latest first")
    ]


EMBEDDED_CONTACT = Shape(EmbeddedContact, Contact)
embed_contact = EMBEDDED_CONTACT.show
LISTED_CONTACT = Shape(ListedContact, Contact, given=("meeting_count",))
_DETAILED = Shape(DetailedContact, Contact, given=("meeting_count", "upcoming_meetings", "past_meetings"))
_MEETING = Shape(ShownMeeting, Meeting, given=("event_type",))


def show_listed(counted: CountedContact) -> ListedContact:
    return LISTED_CONTACT.show(counted.contact, meeting_count=counted.meeting_count)


def show_detailed(known: KnownContact) -> DetailedContact:
    return _DETAILED.show(
        known.contact,
        meeting_count=known.meeting_count,
        upcoming_meetings=[_show_meeting(each) for each in known.upcoming],
        past_meetings=[_show_meeting(each) for each in known.past],
    )


def _show_meeting(meeting: Meeting) -> ShownMeeting:
    event_type = MeetingEventType(
        id=str(meeting.event_type_id), name=meeting.event_type_name, slug=meeting.event_type_slug
    )
    return _MEETING.show(meeting, event_type=event_type)


def check_fields(given: ContactWanted | ContactChanges) -> dict[str, Any]:
    """Normalise every field that is given, or refuse them with every fault."""
    kept: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name, value in asdict(given).items():
        if value is UNSET:
            continue
        try:
            kept[name] = _KEEP[name](value)
        except ValueError as fault:
            faults[name] = str(fault)
    if faults:
        raise Invalid(details=faults)
    return kept


def _keep_name(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _keep_email(text: str) -> str:
    given = text.strip()
    normal = parse_email(given)
    # The owner's letter case is kept; any other difference in spelling would hide that two addresses are the same.
    return given if fold_ascii(given) == fold_ascii(normal) else normal


_KEEP: dict[str, Callable[[Any], object]] = {
    "name": _keep_name,
    "email": _keep_email,
    **{each.name: each.kind.keep for each in CONTACT_FIELDS},
}
