"""What a user's assistant is shown: texts that people have typed are quoted, so that a model takes them for data."""

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta, Raw, Struct

from openslot.domains.availability.explanations import Reason, StartExplained
from openslot.domains.availability.models import Code
from openslot.domains.availability.schemas import Slot
from openslot.domains.bookings.models import AnswerValue, BookingEntry, Payment, Status
from openslot.domains.bookings.series.schemas import BookingId, SeriesId
from openslot.domains.contacts.fields import LINE, PHONE, PROSE, TAGS, ContactField, FieldKind
from openslot.domains.contacts.models import (
    CONTACT_FIELDS,
    FIELDS_IN_BOOKINGS,
    OTHER_FIELDS,
    Contact,
    ContactSummary,
    CountedContact,
)
from openslot.domains.event_types.models import EventType, EventTypeSummary, Location, LocationKind
from openslot.domains.event_types.schemas import Durations, EventTypeId
from openslot.domains.teams.models import HostRole
from openslot.doors.mcp.approvals import ApprovalStatus
from openslot.doors.mcp.quotes import Quote, quote, quote_some
from openslot.doors.oauth.models import AssistantScope
from openslot.platform.core.shapes import Shape, with_fields
from openslot.platform.core.times import Instant, iso
from openslot.platform.i18n import say
from openslot.platform.routing import DescribedAs


class EmbeddedHostEventType(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event type, embedded in another resource."""

    id: EventTypeId
    slug: str
    name: Quote
    duration_minutes: int
    buffer_before: Annotated[int, Meta(description="Minutes kept free before the meeting")]
    buffer_after: Annotated[int, Meta(description="Minutes kept free after the meeting")]


class HostEventType(EmbeddedHostEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type in a list."""

    description: Quote | None
    durations: Durations
    active: bool


# How an assistant sees what the fields of contacts hold.
_QUOTED: dict[FieldKind, Any] = {PHONE: str | None, LINE: Quote | None, PROSE: Quote | None, TAGS: list[Quote]}


@with_fields((each.name, _QUOTED[each.kind]) for each in FIELDS_IN_BOOKINGS)
class InviteeContact(Struct, frozen=True, kw_only=True, rename="camel"):
    """A contact, embedded in a booking."""

    id: str
    name: Quote
    email: str


@with_fields((each.name, _QUOTED[each.kind]) for each in OTHER_FIELDS)
class _QuotedContact(InviteeContact, frozen=True, kw_only=True, rename="camel"):
    """A contact with all fields."""


class HostContact(_QuotedContact, frozen=True, kw_only=True, rename="camel"):
    """A contact."""

    meeting_count: Annotated[int, Meta(description="Confirmed meetings, past and upcoming")]
    created_at: Instant
    updated_at: Instant


class QuotedLocation(Struct, frozen=True, kw_only=True):
    """Where the meeting takes place."""

    kind: LocationKind
    value: Quote | None


class QuotedBookingHost(Struct, frozen=True, kw_only=True, rename="camel"):
    """One of those who host a booking of a team's event type."""

    id: str
    name: Quote
    role: HostRole


class HostBooking(Struct, frozen=True, kw_only=True, rename="camel"):
    """A booking as its host sees it, without the link by which everyone can change it."""

    id: BookingId
    start_time: Instant
    end_time: Instant
    status: Status
    invitee_name: Quote
    invitee_email: str
    invitee_timezone: str
    notes: Quote | None
    location: QuotedLocation
    answers: Annotated[dict[str, Quote | bool | list[Quote]], Meta(description="By the key of the question")]
    guests: list[str]
    event_type: EmbeddedHostEventType
    contact: Annotated[InviteeContact | None, Meta(description="Only with the scope contacts:read")]
    payment: Payment | None
    reschedule_count: int
    previous_start_time: Instant | None
    cancelled_at: Instant | None
    cancel_reason: Quote | None
    cancelled_by: str | None
    no_show: Annotated[bool, Meta(description="Whether the host has marked that the invitee did not come")]
    series_id: SeriesId | None
    hosts: Annotated[list[QuotedBookingHost], Meta(description="Who hosts a team's booking; empty: the user alone")]
    created_at: Instant
    updated_at: Instant


class OpenTimes(Struct, frozen=True, kw_only=True, rename="camel"):
    """The times that can be booked, in order."""

    data: list[Slot]
    event_type: EmbeddedHostEventType
    timezone: str


class WrittenOpenTimes(Struct, frozen=True, kw_only=True, rename="camel"):
    """`OpenTimes` whose list is written already."""

    data: Raw
    event_type: EmbeddedHostEventType
    timezone: str


ShownTimes = Annotated[WrittenOpenTimes, DescribedAs(OpenTimes)]


class ClosedBy(Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule that closes a time; its sentences may name calendars and time off of the host."""

    code: Code
    sentence: Quote
    remedy: Annotated[Quote, Meta(description="What would open it")]
    start_time: Annotated[Instant | None, Meta(description="The span that the rule closes, if it has one")]
    end_time: Instant | None


class ExplainedTime(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a time can be booked, and every rule that closes it, the most telling first."""

    start_time: Instant
    is_open: bool
    reasons: list[ClosedBy]


class BlockedTime(Struct, frozen=True, kw_only=True, rename="camel"):
    """A time in which nothing can be booked."""

    id: str
    start_time: Instant
    end_time: Instant
    reason: Quote | None
    bookings_inside: Annotated[int, Meta(description="Upcoming bookings in this time; they stay as they are")]


class SharedLink(Struct, frozen=True, kw_only=True, rename="camel"):
    """A link through which an event type can be booked a number of times."""

    id: str
    url: Annotated[str | None, Meta(description="Whoever has it can book: give it only to those whom it is for")]
    event_type: EmbeddedHostEventType
    uses: Annotated[int, Meta(description="For how many bookings it is")]
    ends_at: Instant | None


class DecidedCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a call that the user wanted to approve first."""

    approval_id: str
    tool: str
    status: Annotated[ApprovalStatus, Meta(description="pending: the user has not decided; rejected: declined")]
    expires_at: Instant
    result: Annotated[Any, Meta(description="What the call has answered, if it was approved; kept for a day")]
    is_error: Annotated[bool, Meta(description="Whether the result is a refusal")]


def _list_typed(fields: Iterable[ContactField]) -> tuple[str, ...]:
    """List the fields that anything can be typed into; a phone number is none of them."""
    return tuple(each.name for each in fields if each.kind is not PHONE)


_BOOKING = Shape(
    HostBooking,
    BookingEntry,
    given=("invitee_name", "notes", "location", "answers", "event_type", "contact", "cancel_reason", "hosts"),
)
_EVENT_TYPE = Shape(EmbeddedHostEventType, EventTypeSummary, given=("name",))
_LISTED_EVENT_TYPE = Shape(
    HostEventType, EventType, names={"durations": "all_durations"}, given=("name", "description")
)
_EMBEDDED_CONTACT = Shape(InviteeContact, ContactSummary, given=("name", *_list_typed(FIELDS_IN_BOOKINGS)))
_CONTACT = Shape(HostContact, Contact, given=("name", *_list_typed(CONTACT_FIELDS), "meeting_count"))


def show_booking(entry: BookingEntry, *, scopes: frozenset[str]) -> HostBooking:
    """Show a booking, with the contact only to who may see contacts."""
    contact = entry.contact if AssistantScope.CONTACTS_READ in scopes else None
    return _BOOKING.show(
        entry,
        invitee_name=quote(entry.invitee_name, "invitee"),
        notes=quote_some(entry.notes, "invitee"),
        location=_show_location(entry.location),
        answers={name: _quote_answer(value) for name, value in entry.answers.items()},
        event_type=embed_event_type(entry.event_type),
        contact=_embed_contact(contact) if contact else None,
        cancel_reason=quote_some(entry.cancel_reason and say(entry.cancel_reason), "host or invitee"),
        hosts=[QuotedBookingHost(id=str(each.user_id), name=quote(each.name), role=each.role) for each in entry.hosts],
    )


def _show_location(location: Location) -> QuotedLocation:
    return QuotedLocation(kind=location.kind, value=quote_some(location.value, "host or invitee"))


def _quote_answer(value: AnswerValue) -> Quote | bool | list[Quote]:
    if isinstance(value, bool):
        return value
    return quote(value, "invitee") if isinstance(value, str) else [quote(each, "invitee") for each in value]


def embed_event_type(event_type: EventTypeSummary | EventType) -> EmbeddedHostEventType:
    return _EVENT_TYPE.show(event_type, name=quote(event_type.name))


def show_event_type(event_type: EventType) -> HostEventType:
    description = quote_some(event_type.description)
    return _LISTED_EVENT_TYPE.show(event_type, name=quote(event_type.name), description=description)


def _embed_contact(contact: ContactSummary) -> InviteeContact:
    return _EMBEDDED_CONTACT.show(
        contact,
        name=quote(contact.name, "host or invitee"),
        **_quote_fields(contact, FIELDS_IN_BOOKINGS),
    )


def _quote_fields(contact: Contact | ContactSummary, fields: Iterable[ContactField]) -> dict[str, Any]:
    values = {name: getattr(contact, name) for name in _list_typed(fields)}
    return {
        name: [quote(each) for each in value] if isinstance(value, tuple) else quote_some(value)
        for name, value in values.items()
    }


def show_contact(counted: CountedContact) -> HostContact:
    contact = counted.contact
    return _CONTACT.show(
        contact,
        name=quote(contact.name, "host or invitee"),
        **_quote_fields(contact, CONTACT_FIELDS),
        meeting_count=counted.meeting_count,
    )


def show_explained(explained: StartExplained) -> ExplainedTime:
    return ExplainedTime(
        start_time=iso(explained.starts_at),
        is_open=not explained.reasons,
        reasons=[_show_reason(each) for each in explained.reasons],
    )


def _show_reason(reason: Reason) -> ClosedBy:
    return ClosedBy(
        code=reason.code,
        sentence=quote(str(reason.sentence)),
        remedy=quote(str(reason.remedy)),
        start_time=iso(reason.starts_at) if reason.starts_at else None,
        end_time=iso(reason.ends_at) if reason.ends_at else None,
    )
