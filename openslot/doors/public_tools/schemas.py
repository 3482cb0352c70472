"""What the public tools show: every text that a person has typed is quoted, so that a model takes it for data."""

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from openslot.domains.availability.schemas import Slot
from openslot.domains.bookings.models import Status
from openslot.domains.bookings.schemas import CreatedPublicBooking, ManagedBooking
from openslot.domains.bookings.series.schemas import BookingId
from openslot.domains.event_types.models import EventType, LocationAsks, LocationKind, Money, Question, QuestionKind
from openslot.domains.event_types.rules import is_offered
from openslot.domains.event_types.schemas import (
    Durations,
    EventTypeId,
    OfferedLocation,
    RequiresConfirmation,
    RequiresEmailVerification,
    show_offered,
)
from openslot.doors.mcp.quotes import Quote, quote, quote_some
from openslot.platform.core.shapes import Shape
from openslot.platform.core.times import Instant
from openslot.platform.routing import DescribedAs


class QuotedHost(Struct, frozen=True, kw_only=True):
    """The host, whose time is booked."""

    name: Quote
    username: Annotated[str, Meta(examples=["mara"])]
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]
    welcome: Quote | None = None


class QuotedPlace(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the meeting takes place."""

    kind: LocationKind
    value: Quote | None
    told_when_booked: Annotated[bool, Meta(description="Whether a link or phone number is told after booking")] = False
    asks: Annotated[
        LocationAsks | UnsetType, Meta(description="What `location.value` of a booking must tell; absent: nothing")
    ] = UNSET
    id: Annotated[str | UnsetType, Meta(description="`location.id` of a booking that takes place there")] = UNSET


class QuotedCondition(Struct, frozen=True, kw_only=True):
    """Which answer to an earlier question a question needs to be asked."""

    key: str
    values: Annotated[list[Quote], Meta(description="One of them must be chosen; empty: the box must be ticked")]


class QuotedQuestion(Struct, frozen=True, kw_only=True, rename="camel"):
    """A question that the host asks those who book."""

    key: Annotated[str, Meta(description="The name of the answer in `answers`")]
    label: Quote
    kind: QuestionKind
    required: bool
    options: Annotated[list[Quote], Meta(description="What can be answered; answer with the `text` of an option")]
    show_if: QuotedCondition | None


class QuotedEventType(Struct, frozen=True, kw_only=True, rename="camel"):
    """A kind of meeting that can be booked."""

    id: EventTypeId
    slug: str
    name: Quote
    description: Quote | None
    duration_minutes: int
    durations: Durations
    location: QuotedPlace
    locations: Annotated[list[QuotedPlace], Meta(description="What the person chooses from, `location` by default")]
    seats: Annotated[int, Meta(description="How many people can book the same time")]
    questions: list[QuotedQuestion]
    requires_confirmation: RequiresConfirmation
    requires_email_verification: RequiresEmailVerification
    price: Annotated[Money | None, Meta(description="For each booking, in the currency's smallest unit")]
    can_be_booked: Annotated[bool, Meta(description="Whether it can be booked online at the moment")]


class HostOffers(Struct, frozen=True, kw_only=True, rename="camel"):
    """A host with what can be booked."""

    host: QuotedHost
    event_types: list[QuotedEventType]
    page_url: Annotated[str, Meta(description="The page for people")]


class BookedEventType(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event type, embedded in another resource."""

    id: EventTypeId
    slug: str
    name: Quote


class FreeTimes(Struct, frozen=True, kw_only=True, rename="camel"):
    """Times that can be booked, in order."""

    data: list[Slot]
    timezone: Annotated[str, Meta(description="The time zone of `date` and `time`")]
    duration_minutes: int
    continues_on: Annotated[
        str | None, Meta(description="There are more times: ask again with this `startDate`; null: these are all")
    ]


class WrittenTimes(Struct, frozen=True, kw_only=True, rename="camel"):
    """`FreeTimes` whose list is written already."""

    data: Raw
    timezone: str
    duration_minutes: int
    continues_on: str | None


ShownTimes = Annotated[WrittenTimes, DescribedAs(FreeTimes)]


class HeldTime(Struct, frozen=True, kw_only=True, rename="camel"):
    """A time that is kept until the hold expires."""

    hold_id: str
    expires_at: Instant


class BookedTime(CreatedPublicBooking, frozen=True, kw_only=True, rename="camel"):
    """The created booking, how to manage it, and what is left to do."""

    next_step: Annotated[str, Meta(description="What to tell the person")]


NEXT_STEPS = {
    Status.PENDING_PAYMENT: "The time is kept, and the booking is confirmed when it is paid. Give the person paymentUrl"
    " to pay there themselves. Never ask for card numbers.",
    Status.PENDING_CONFIRMATION: "The host has to confirm the time. Give the person manageUrl: it shows what becomes of"
    " it, and they can withdraw it there.",
}
BOOKED_BEFORE = "It was booked before, from another network. manageUrl is in the email to the person."
BOOKED = "It is booked. Give the person manageUrl: with it they can reschedule or cancel."


def show_booked(created: CreatedPublicBooking, *, payment_url: str | UnsetType = UNSET) -> BookedTime:
    return BookedTime(
        booking_id=created.booking_id,
        status=created.status,
        start_time=created.start_time,
        end_time=created.end_time,
        manage_url=created.manage_url,
        payment_url=payment_url,
        next_step=BOOKED_BEFORE if created.manage_url is UNSET else NEXT_STEPS.get(created.status, BOOKED),
    )


class QuotedBooking(Struct, frozen=True, kw_only=True, rename="camel"):
    """A booking as its invitee sees it."""

    id: BookingId
    start_time: Instant
    end_time: Instant
    status: Status
    host: QuotedHost
    event_type: BookedEventType
    location: QuotedPlace
    invitee_name: Quote
    invitee_timezone: str
    notes: Quote | None
    cancelled_at: Instant | None
    cancel_reason: Quote | None
    can_change: Annotated[
        bool, Meta(description="Whether it can be rescheduled or cancelled; what waits for the host only cancelled")
    ]


_OFFER = Shape(
    QuotedEventType,
    EventType,
    names={"durations": "all_durations"},
    given=("name", "description", "location", "locations", "questions", "can_be_booked"),
)


def show_event_type(event_type: EventType) -> QuotedEventType:
    offered = show_offered(event_type)
    return _OFFER.show(
        event_type,
        name=quote(event_type.name),
        description=quote_some(event_type.description),
        location=_show_location(offered.location),
        locations=[_show_location(each) for each in offered.locations],
        questions=[_show_question(each) for each in event_type.questions],
        can_be_booked=is_offered(event_type),
    )


def _show_location(location: OfferedLocation) -> QuotedPlace:
    return QuotedPlace(
        kind=location.kind,
        value=quote_some(location.value),
        told_when_booked=location.told_when_booked,
        asks=location.asks,
        id=location.id,
    )


def _show_question(question: Question) -> QuotedQuestion:
    needed = question.show_if
    return QuotedQuestion(
        key=question.key,
        label=quote(question.label),
        kind=question.kind,
        required=question.required,
        options=[quote(each) for each in question.options],
        show_if=QuotedCondition(key=needed.key, values=[quote(each) for each in needed.values]) if needed else None,
    )


def show_booking(shown: ManagedBooking) -> QuotedBooking:
    event_type, host = shown.event_type, shown.host
    return QuotedBooking(
        id=shown.id,
        start_time=shown.start_time,
        end_time=shown.end_time,
        status=shown.status,
        host=QuotedHost(name=quote(host.name), username=host.username, timezone=host.timezone),
        event_type=BookedEventType(id=event_type.id, slug=event_type.slug, name=quote(event_type.name)),
        location=QuotedPlace(kind=shown.location.kind, value=quote_some(shown.location.value, "host or invitee")),
        invitee_name=quote(shown.invitee_name, "invitee"),
        invitee_timezone=shown.invitee_timezone,
        notes=quote_some(shown.notes, "invitee"),
        cancelled_at=shown.cancelled_at,
        cancel_reason=quote_some(shown.cancel_reason, "host or invitee"),
        can_change=shown.can_change,
    )
