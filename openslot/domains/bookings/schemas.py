"""The wire shapes of bookings."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from openslot.domains.availability.models import EventTypeRef
from openslot.domains.bookings import models
from openslot.domains.bookings.hosts.schemas import ManagedHost, ShownBookingHost, show_hosts
from openslot.domains.bookings.series.schemas import BookingId, CreatedSeries, SeriesId, WantedRecurrence
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.schemas import EmbeddedContact, embed_contact
from openslot.domains.event_types.locations import LONGEST_VALUE, WantedLocation
from openslot.domains.event_types.models import EventType, Location
from openslot.domains.event_types.rules import MAX_OPTIONS, MAX_QUESTIONS, is_told_when_booked
from openslot.domains.event_types.schemas import EmbeddedEventType, WantedMinutes, embed
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import LINE, EmailAddress, Label, LanguageTag, Name, Phone, Prose, ReasonText
from openslot.platform.core.times import Instant, Zone
from openslot.platform.i18n.languages import negotiate

IsoMoment = Annotated[datetime, Meta(tz=True, description="ISO 8601 with an offset", examples=["2026-03-16T09:00:00Z"])]
Id = Annotated[str, Meta(pattern=LINE, max_length=100, examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e90"])]
Token = Annotated[str, Meta(pattern=LINE, max_length=100, description="Token of a private event type")]
GivenAnswers = Annotated[
    dict[
        Annotated[str, Meta(pattern=LINE, max_length=50)],
        Annotated[str, Meta(max_length=5000)]
        | bool
        | Annotated[tuple[Annotated[str, Meta(max_length=200)], ...], Meta(max_length=MAX_OPTIONS)],
    ],
    Meta(
        description="Answers by question key: a string, true or false for a checkbox, an array for several choices",
        examples=[{"topic": "Pricing for a team of 12"}],
        max_length=MAX_QUESTIONS,
    ),
]
DurationMinutes = Annotated[
    WantedMinutes, Meta(description="One of the event type's durations; the default if omitted", examples=[30])
]
EnteredCode = Annotated[
    Annotated[str, Meta(pattern=LINE, max_length=50)] | None,
    Meta(
        description="The code that was sent to `inviteeEmail`; only if the event type has `requiresEmailVerification`. "
        "Without it the code is sent, and nothing is booked",
        examples=["048213"],
    ),
]
Guests = Annotated[
    list[EmailAddress],
    Meta(max_length=10, description="Email addresses of guests to notify", examples=[["li@okafor.example"]]),
]


class GivenLocation(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which of the event type's locations is wanted, and what it asks for."""

    id: Annotated[
        Annotated[str, Meta(pattern=LINE, max_length=100)] | None,
        Meta(description="The id of one of the event type's `locations`; the default if omitted", examples=["phone"]),
    ] = None
    value: Annotated[
        Annotated[str, Meta(pattern=LINE, max_length=LONGEST_VALUE)] | None,
        Meta(
            description="Only if the location asks: the invitee's phone number with + and the country code, or where "
            "to meet",
            examples=["+493012345678"],
        ),
    ] = None


class InviteeFields(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What every way of booking takes."""

    start_time: IsoMoment
    invitee_name: Annotated[Name, Meta(examples=["Jonas Okafor"])]
    invitee_email: EmailAddress
    invitee_timezone: Zone
    invitee_locale: Annotated[
        LanguageTag | None,
        Meta(description="The language of emails to the invitee and the guests; by default the host's"),
    ] = None
    notes: Annotated[Prose | None, Meta(examples=["Pricing for a team of 12"])] = None
    answers: GivenAnswers = {}
    guests: Guests = []
    duration_minutes: DurationMinutes = None
    location: GivenLocation | None = None


class BookingBody(InviteeFields, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A booking to create."""

    event_type_slug: Annotated[str, Meta(pattern=LINE, max_length=200, examples=["intro-call"])]
    recurrence: WantedRecurrence | None = None


class ConsentText(Label):
    __slots__ = ()

    longest = 1000
    schema: ClassVar[dict[str, object]] = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": LINE}


class GivenConsent(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """That the invitee has agreed to reminders and other messages about this meeting by SMS or WhatsApp.

    Leave it out unless they have ticked a box that was not ticked before.
    """

    phone: Annotated[Phone, Meta(description="With + and the country code; stored as E.164")]
    text: Annotated[
        ConsentText,
        Meta(
            description="What they have agreed to, as it was shown to them",
            examples=["Send me reminders of this meeting by SMS. To stop them, reply STOP."],
        ),
    ]


class PublicBookingBody(InviteeFields, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A public booking to create."""

    event_type_id: Id
    hold_id: Id | None = None
    token: Token | None = None
    message_consent: GivenConsent | None = None
    source: Annotated[
        Annotated[str, Meta(pattern=LINE, min_length=1, max_length=200)] | None,
        Meta(
            description="Where the invitee comes from, for the host's figures: a campaign or a site",
            examples=["newsletter"],
        ),
    ] = None
    recurrence: WantedRecurrence | None = None
    email_code: EnteredCode = None


class CancelBody(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The reason for a cancellation, and whether it is the whole series."""

    reason: Annotated[ReasonText | None, Meta(examples=["Ill today, sorry"])] = None
    series: Annotated[
        bool,
        Meta(
            description="Whether to cancel all bookings of its series that are not over, this one or not",
            examples=[False],
        ),
    ] = False


class RescheduleBody(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The new time of a booking."""

    new_start_time: IsoMoment
    reason: Annotated[ReasonText | None, Meta(examples=["The train is late"])] = None


class HoldBody(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The slot to hold."""

    event_type_id: Id
    start_time: IsoMoment
    token: Token | None = None
    duration_minutes: DurationMinutes = None


class CreatedBooking(Struct, frozen=True, kw_only=True, rename="camel"):
    """The created booking, or the first one of a series."""

    booking_id: BookingId
    series: Annotated[CreatedSeries | UnsetType, Meta(description="Only if `recurrence` was sent")] = UNSET


class CreatedPublicBooking(CreatedBooking, frozen=True, kw_only=True, rename="camel"):
    """The created booking, how to manage it, and where to pay if it waits for its payment.

    One whose `status` is PENDING_CONFIRMATION waits for its host.
    """

    status: models.Status
    start_time: Instant
    end_time: Instant
    manage_url: Annotated[
        str | UnsetType,
        Meta(
            description="Not in the answer to a retry from another network whose Idempotency-Key has fewer than 16"
            " characters",
            examples=["https://book.example/manage/AZl8Lm…"],
        ),
    ] = UNSET
    payment_url: Annotated[
        str | UnsetType,
        Meta(description="Only if `status` is PENDING_PAYMENT", examples=["https://checkout.stripe.com/c/pay/cs_…"]),
    ] = UNSET
    no_messages_to: Annotated[
        str | UnsetType,
        Meta(
            description="The phone of `messageConsent`, only if no messages are sent to it because too many others were"
            " given from the same network",
            examples=["+4915112345678"],
        ),
    ] = UNSET


def without_links(created: CreatedPublicBooking) -> CreatedPublicBooking:
    """Take out what lets whoever has it read or change what was booked, or pay for it."""
    return replace(created, manage_url=UNSET, payment_url=UNSET, series=UNSET, no_messages_to=UNSET)


class CreatedHold(Struct, frozen=True, kw_only=True, rename="camel"):
    """A slot that is held until the hold expires."""

    hold_id: Id
    expires_at: Instant


class BookingFilter(StrEnum):
    """The status to filter bookings by, case-insensitive."""

    ALL = "all"
    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"

    @classmethod
    def _missing_(cls, value: object) -> "BookingFilter | None":
        return next((each for each in cls if isinstance(value, str) and each.value.lower() == value.lower()), None)


class EmailLog(Struct, frozen=True, kw_only=True, rename="camel"):
    """An email about a booking that was sent, could not be delivered, or stays in the embedded mailbox."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ec1"])]
    kind: Annotated[
        str,
        Meta(
            description="confirmation, reschedule, cancellation or reminder; more may follow", examples=["confirmation"]
        ),
    ]
    to: Annotated[str, Meta(examples=["jonas@okafor.example"])]
    subject: Annotated[str, Meta(examples=["Confirmed: Intro call with Mara Lindqvist"])]
    status: Annotated[
        Literal["sent", "failed", "mailbox"],
        Meta(
            description="mailbox: no mail server is set up, so it stays in the embedded mailbox and nobody gets it",
            examples=["sent"],
        ),
    ]
    sent_at: Annotated[Instant | None, Meta(description="null unless it was sent")]
    error: Annotated[str | None, Meta(description="Why it could not be delivered")]


class BookingFields(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """What the API and the agents' tools show of a booking."""

    id: BookingId
    start_time: Instant
    end_time: Instant
    status: Annotated[models.Status, Meta(examples=["CONFIRMED"])]
    invitee_name: Annotated[str, Meta(examples=["Jonas Okafor"])]
    invitee_email: Annotated[str, Meta(examples=["jonas@okafor.example"])]
    invitee_timezone: Annotated[str, Meta(examples=["Africa/Lagos"])]
    notes: Annotated[str | None, Meta(examples=["Pricing for a team of 12"])]
    location: Location
    answers: dict[str, models.AnswerValue]
    guests: list[str]
    event_type: EmbeddedEventType
    contact: EmbeddedContact | None
    payment: models.Payment | None
    reschedule_count: Annotated[int, Meta(examples=[0])]
    previous_start_time: Instant | None
    cancelled_at: Instant | None
    cancel_reason: str | None
    cancelled_by: Annotated[str | None, Meta(examples=["invitee"])]
    no_show: Annotated[bool, Meta(description="Whether the host has marked that the invitee did not come")]
    series_id: Annotated[
        SeriesId | None,
        Meta(description="The same for all bookings that were made at once in several weeks; null: it was made alone"),
    ]
    hosts: Annotated[
        list[ShownBookingHost],
        Meta(description="Who hosts a booking of a team's event type; empty: the owner of the event type alone"),
    ]


class ShownBooking(BookingFields, frozen=True, kw_only=True, rename="camel", gc=False):
    """A meeting between a host and an invitee."""

    manage_url: Annotated[str, Meta(examples=["https://book.example/manage/AZl8Lm…"])]
    created_at: Instant
    updated_at: Instant


class DetailedBooking(ShownBooking, frozen=True, kw_only=True, rename="camel"):
    """A booking with the emails about it."""

    email_logs: list[EmailLog]


class ManagedBooking(Struct, frozen=True, kw_only=True, rename="camel"):
    """A booking as its invitee sees it."""

    id: BookingId
    status: models.Status
    start_time: Instant
    end_time: Instant
    invitee_name: Annotated[str, Meta(examples=["Jonas Okafor"])]
    invitee_timezone: Annotated[str, Meta(examples=["Africa/Lagos"])]
    notes: str | None
    location: Location
    event_type: EmbeddedEventType
    host: ManagedHost
    cancelled_at: Instant | None
    cancel_reason: str | None
    series_id: SeriesId | None
    can_change: Annotated[
        bool,
        Meta(
            description="Whether it can still be rescheduled or cancelled; what waits (`PENDING_…`) only cancelled",
            examples=[True],
        ),
    ]


class Previous(Struct, frozen=True, kw_only=True, rename="camel"):
    """The time of a booking before it was rescheduled."""

    start_time: Instant
    end_time: Instant


class RescheduledBooking(ShownBooking, frozen=True, kw_only=True, rename="camel"):
    """A rescheduled booking, as webhooks send it."""

    previous: Previous | UnsetType = UNSET


class ReassignedBooking(ShownBooking, frozen=True, kw_only=True, rename="camel"):
    """A booking that others host now, as webhooks send it."""

    previous_hosts: Annotated[list[ShownBookingHost], Meta(description="Who hosted it before")]


def read_wanted(
    body: InviteeFields,
    which: EventTypeRef,
    *,
    accept_language: str = "",
    hold_id: UUID | None = None,
    agreed: GivenConsent | None = None,
) -> models.BookingWanted:
    """Read what is to be booked; a browser tells the invitee's language if the body does not."""
    locale: str | None = body.invitee_locale
    if locale is None and accept_language.strip("* "):
        locale = LanguageTag.parse(negotiate(None, accept_language).formats)
    return models.BookingWanted(
        which=which,
        starts_at=body.start_time,
        invitee=models.Invitee(
            name=body.invitee_name, email=body.invitee_email, zone=body.invitee_timezone, locale=locale
        ),
        notes=body.notes,
        answers=body.answers,
        guests=tuple(body.guests),
        hold_id=hold_id,
        message_consent=models.MessageConsent(phone=agreed.phone, text=agreed.text, source=models.ConsentSource.API)
        if agreed
        else None,
        location=WantedLocation(id=body.location.id, value=body.location.value or "")
        if body.location
        else WantedLocation(),
    )


SHOWN_BOOKING = Shape(ShownBooking, models.Booking, given=("event_type", "contact", "manage_url", "hosts"))
_MANAGED = Shape(ManagedBooking, models.Booking, given=("event_type", "host", "can_change"))
show_created = Shape(
    CreatedPublicBooking,
    models.Booking,
    names={"booking_id": "id"},
    given=("manage_url", "payment_url", "no_messages_to", "series"),
).show
show_entry = Shape(ShownBooking, models.BookingEntry, given=("manage_url", "hosts")).show
show_detailed_entry = Shape(DetailedBooking, models.BookingEntry, given=("manage_url", "hosts", "email_logs")).show
show_email = Shape(EmailLog, models.EmailEntry, names={"to": "recipient"}).show


def show_booking(
    booking: models.Booking,
    event_type: EventType,
    contact: Contact | None,
    *,
    manage_url: str,
    hosts: tuple[BookingHost, ...] = (),
) -> ShownBooking:
    embedded = embed_contact(contact) if contact else None
    return SHOWN_BOOKING.show(
        booking, event_type=embed(event_type), contact=embedded, manage_url=manage_url, hosts=show_hosts(hosts)
    )


def show_requested(request: models.BookingRequest, details: models.BookingDetails, host: models.Host) -> ManagedBooking:
    """Show a booking that waits for its host, or that was not confirmed."""
    ended = replace(details.booking, cancelled_at=request.ended_at, cancel_reason=request.reason)
    is_waiting = request.state is models.RequestState.WAITING
    return show_waiting(replace(details, booking=ended), host, is_waiting=is_waiting)


def show_waiting(details: models.BookingDetails, host: models.Host, *, is_waiting: bool) -> ManagedBooking:
    """Show a booking that waits, or has waited in vain, without what is told when it is booked."""
    booking, location = details.booking, details.booking.location
    known = replace(
        booking,
        status=booking.status if is_waiting else models.Status.CANCELLED,
        location=Location(location.kind) if is_told_when_booked(location) else location,
    )
    return show_managed(replace(details, booking=known), host, can_change=is_waiting)


def show_managed(details: models.BookingDetails, host: models.Host, *, can_change: bool) -> ManagedBooking:
    shown_host = ManagedHost(name=host.name, username=host.username, timezone=host.zone)
    event_type = embed(details.event_type)
    return _MANAGED.show(details.booking, event_type=event_type, host=shown_host, can_change=can_change)
