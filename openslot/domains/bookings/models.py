"""The nouns of bookings."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from openslot.domains.availability.models import ClaimedHost, EventTypeRef
from openslot.domains.contacts.models import Contact, ContactSummary
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.event_types.models import EventType, EventTypeSummary, Location
from openslot.domains.schedules.models import Schedule
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.actor import Actor
from openslot.platform.core.moments import Span
from openslot.platform.core.shapes import KeptReason
from openslot.platform.core.times import Instant
from openslot.platform.i18n import CodedReason

AnswerValue = str | bool | tuple[str, ...]
Answers = dict[str, AnswerValue]


class Status(StrEnum):
    """The status of a booking. One that waits for its payment, or for its host, is not listed by the REST API."""

    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"
    PENDING_PAYMENT = "PENDING_PAYMENT"
    PENDING_CONFIRMATION = "PENDING_CONFIRMATION"


class Payment(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The payment of a booking, in the currency's smallest unit."""

    status: Annotated[
        str,
        Meta(
            description="not_required, pending, paid, partially_refunded, refunded, refund_failed or disputed",
            examples=["paid"],
        ),
    ]
    amount: Annotated[int | UnsetType, Meta(examples=[4900])] = UNSET
    currency: Annotated[str | UnsetType, Meta(description="ISO 4217", examples=["EUR"])] = UNSET
    paid_at: Instant | UnsetType = UNSET
    refunded_amount: Annotated[int | UnsetType, Meta(examples=[0])] = UNSET


class Invitee(Struct, frozen=True, kw_only=True):
    name: str
    email: str
    zone: str
    locale: str | None = None
    """A language tag; None if the host's is used."""


class ConsentSource(StrEnum):
    """Where an invitee has agreed to messages."""

    BOOKING_PAGE = "booking_page"
    API = "api"


class MessageConsent(Struct, frozen=True, kw_only=True):
    """What an invitee has agreed to: reminders and other messages about one meeting."""

    phone: str
    text: str
    """The text as it was shown."""
    source: ConsentSource
    is_used: bool = True
    """Whether messages are sent; not if whoever books has given too many phones."""


class EmailProof(Struct, frozen=True):
    """That an email address belongs to whoever books."""

    email: str
    code_id: UUID | None = None
    """The code that was sent there, which a booking uses up; None if a session or the link of a mail proves it."""


class BookingWanted(Struct, frozen=True, kw_only=True):
    which: EventTypeRef
    starts_at: datetime
    invitee: Invitee
    notes: str | None = None
    answers: Answers = {}
    guests: tuple[str, ...] = ()
    hold_id: UUID | None = None
    message_consent: MessageConsent | None = None
    """None if they have not agreed to messages."""
    location: WantedLocation = WantedLocation()
    source: str | None = None
    """Where the invitee came from to the page that books; only the host's figures and export have it."""
    email_code: str | None = None
    """The code that the invitee has entered to prove their address."""
    email_proof: EmailProof | None = None


class Booking(Struct, frozen=True, kw_only=True):
    """A meeting between a host and an invitee."""

    id: UUID
    host_id: UUID
    event_type_id: UUID
    contact_id: UUID | None
    claim_id: UUID
    seat_id: UUID | None
    status: Status
    starts_at: datetime
    ends_at: datetime
    invitee_name: str
    invitee_email: str
    invitee_zone: str
    notes: str | None
    location: Location
    answers: Answers
    guests: tuple[str, ...]
    payment: Payment | None
    sequence: int = 0
    reschedule_count: int = 0
    previous_starts_at: datetime | None = None
    cancelled_at: datetime | None = None
    cancel_reason: KeptReason | None = None
    cancelled_by: str | None = None
    created_at: datetime
    updated_at: datetime
    invitee_locale: str | None = None
    """The language of messages to the invitee; None if the host's is used."""
    no_show: bool = False
    """Whether the host has marked that the invitee did not come."""
    series_id: UUID | None = None
    """The id that bookings made together share; None if it was booked alone."""

    @property
    def minutes(self) -> int:
        """How long the meeting is."""
        return (self.ends_at - self.starts_at) // timedelta(minutes=1)

    @property
    def uid(self) -> str:
        """The iCalendar UID, the same over every reschedule."""
        return f"{self.id}@openslot"


class BookingRef(Struct, frozen=True):
    """Which booking is meant: one of a host's own, or the one that a manage link names."""

    id: UUID
    host_id: UUID | None
    by: UUID | None = None
    """The acting host, checked again after the lock; None if it is not a host."""


class BookingDetails(Struct, frozen=True):
    booking: Booking
    event_type: EventType
    contact: Contact | None
    hosts: tuple[BookingHost, ...] = ()
    """The hosts of a team's event type, the organizer first; empty if its owner hosts it alone."""
    taken: tuple[ClaimedHost, ...] = ()
    """The hosts with their claims, of whom there is always one, the organizer first; empty unless read for a change."""

    def is_hosted_by(self, user_id: UUID) -> bool:
        if not self.hosts:
            return user_id == self.booking.host_id
        return any(each.user_id == user_id for each in self.hosts)


class RequestState(StrEnum):
    """What has become of a request for a time."""

    WAITING = "waiting"
    CONFIRMED = "confirmed"
    DECLINED = "declined"
    LAPSED = "lapsed"
    WITHDRAWN = "withdrawn"


class BookingRequest(Struct, frozen=True, kw_only=True):
    """An invitee's request for a time, which the host confirms or declines until it lapses."""

    booking_id: UUID
    host_id: UUID
    state: RequestState
    lapses_at: datetime
    reason: KeptReason | None = None
    """Why it was declined, as the invitee reads it."""
    ended_at: datetime | None = None
    answered_by: UUID | None = None
    """The user who confirmed or declined it; None if unanswered, or answered without an account."""

    def is_open(self, *, now: datetime) -> bool:
        return self.state is RequestState.WAITING and now < self.lapses_at


class FoundRequest(Struct, frozen=True):
    request: BookingRequest
    details: BookingDetails
    answered_by: str | None = None
    """The name of who has answered it."""


class BookingEntry(Struct, frozen=True, gc=False):
    """A booking in a list; the database formats its times, which takes half as long as doing it here."""

    id: UUID
    host_id: UUID
    starts_at: Instant
    ends_at: Instant
    invitee_name: str
    invitee_email: str
    invitee_zone: str
    notes: str | None
    guests: list[str]
    reschedule_count: int
    previous_starts_at: Instant | None
    cancelled_at: Instant | None
    cancel_reason: KeptReason | None
    cancelled_by: str | None
    created_at: Instant
    updated_at: Instant
    no_show: bool
    series_id: UUID | None
    status: Status
    location: Location
    answers: Answers
    payment: Payment | None
    event_type: EventTypeSummary
    contact: ContactSummary | None
    hosts: tuple[BookingHost, ...]


class Host(Struct, frozen=True, kw_only=True):
    """What an invitee may know of a host."""

    name: str
    username: str
    zone: str


class EmailEntry(Struct, frozen=True, kw_only=True):
    """An email about a booking that was sent, has failed for good, or stays in the embedded mailbox."""

    id: UUID
    kind: str
    recipient: str
    subject: str
    status: Literal["sent", "failed", "mailbox"]
    sent_at: datetime | None
    error: str | None


class HistoryEntry(Struct, frozen=True, kw_only=True):
    type: str
    at: datetime
    by: str


class AgendaView(StrEnum):
    UPCOMING = "upcoming"
    PAST = "past"
    CANCELLED = "cancelled"


class AgendaFilter(Struct, frozen=True, kw_only=True):
    view: AgendaView = AgendaView.UPCOMING
    search: str = ""
    """Part of an invitee's name or email address."""
    slug: str = ""
    """The slug of the event type; empty for all."""
    of_teams: bool = False
    """Whether what colleagues host of the owner's event types of teams belongs to it, too."""
    span: Span = Span()


class AgendaEntry(Struct, frozen=True, kw_only=True):
    id: UUID
    status: Status
    starts_at: datetime
    ends_at: datetime
    invitee_name: str
    invitee_email: str
    invitee_zone: str
    notes: str | None
    location: Location
    guests: tuple[str, ...]
    previous_starts_at: datetime | None
    cancel_reason: KeptReason | None
    cancelled_by: str | None
    no_show: bool
    event_type_id: UUID
    event_type_name: str
    team_name: str | None
    other_hosts: tuple[str, ...]
    """The other hosts of a team's booking, besides the reader."""


class AgendaPage(Struct, frozen=True, kw_only=True):
    entries: list[AgendaEntry]
    total: int
    """How many bookings the filter finds."""
    upcoming: int
    """How many bookings are upcoming, whatever the filter."""
    requests: int
    """How many requests wait for the host."""


class HostNotes(Struct, frozen=True, kw_only=True):
    """What only the host knows about a booking."""

    private_notes: str = ""
    link_id: UUID | None = None
    """The link through which it was booked, one of those for a number of bookings."""
    link_note: str | None = None


class BookingChange(Struct, frozen=True, kw_only=True):
    """One thing that happened to a booking, with what is still known about it."""

    type: str
    at: datetime
    actor: Actor
    event_id: UUID | None
    """None once the event is too old to be kept."""
    starts_at: datetime | None = None
    previous_starts_at: datetime | None = None
    reason: str | None = None
    hosts: tuple[BookingHost, ...] = ()
    previous_hosts: tuple[BookingHost, ...] = ()
    """The hosts before the change, if it replaced some."""


class CalendarMeeting(Struct, frozen=True, kw_only=True):
    """A meeting in a host's calendar: one booking, or a group session with all of its bookings."""

    id: UUID
    """The id of its first booking."""
    starts_at: datetime
    ends_at: datetime
    invitee_name: str
    location: Location
    no_show: bool
    people: int
    """How many bookings it has."""
    event_type_id: UUID
    event_type_name: str
    event_type_slug: str
    team_name: str | None
    private_notes: str | None
    """The beginning of the private notes, for the panel."""
    colleagues: tuple[str, ...]
    """The names of its hosts, if the reader is not one of them."""


class SessionSeat(Struct, frozen=True, kw_only=True):
    """One of those who have booked a group session."""

    id: UUID
    """The id of the booking."""
    name: str
    email: str


class NamedSpan(Struct, frozen=True):
    """Time of a host in whole seconds since 1970, with the reason for being away or the name of the calendar."""

    start: int
    end: int
    name: str


class HostTime(Struct, frozen=True, kw_only=True):
    """When a host works, is away, and is busy by connected calendars."""

    schedules: list[Schedule]
    """The schedules of active event types."""
    away: list[NamedSpan]
    busy: list[NamedSpan]
    unread: list[str]
    """The calendars that could not be read for too long, which close all times."""
    owns_teams: bool
    """Whether event types of teams are theirs."""


class HostCalendar(Struct, frozen=True, kw_only=True):
    meetings: list[CalendarMeeting]
    free: list[tuple[int, int]]
    """The hours of all schedules together, without public holidays, in whole seconds since 1970."""
    away: list[NamedSpan]
    busy: list[NamedSpan]
    unread: list[str]
    owns_teams: bool
    """Whether colleagues may host what is theirs."""


LEFT = CodedReason("bookings.host_left", "%(host)s is no longer with %(organization)s")
UNAVAILABLE = CodedReason("bookings.host_unavailable", "%(host)s is not available any more")
CALENDAR_CHANGED = CodedReason("bookings.calendar_changed", "Changed in the host's calendar")
REPLIED = CodedReason("bookings.replied", "The invitee replied C to a reminder")
