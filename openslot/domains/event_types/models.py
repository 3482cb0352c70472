"""The nouns of event types: what is offered, where, when at the earliest and latest, and what is asked."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from openslot.domains.accounts.models import PageBrand


class LocationKind(StrEnum):
    """How a meeting takes place."""

    IN_PERSON = "in_person"
    PHONE = "phone"
    VIDEO_LINK = "video_link"
    TEXT = "text"


class LocationAsks(StrEnum):
    """What an invitee tells of the location when they book."""

    PHONE = "phone"
    """The number at which the host calls them."""
    PLACE = "place"
    """Where to meet, in their own words."""


class Location(Struct, frozen=True):
    """Where the meeting takes place."""

    kind: LocationKind
    value: Annotated[
        str,
        Meta(
            description="An address, a phone number (empty: the host calls the invitee), a link or a free text",
            examples=["https://meet.example/mara"],
        ),
    ] = ""
    conference: Annotated[
        str | UnsetType,
        Meta(
            description="The service that makes a link for each booking, which is empty until it is ready; "
            "absent for all other locations",
            examples=["jitsi"],
        ),
    ] = UNSET
    asks: Annotated[
        LocationAsks | UnsetType,
        Meta(
            description="What the invitee tells when they book, which is then the value: phone, the number at which "
            "the host calls them, or place, where to meet; absent for all other locations",
            examples=["phone"],
        ),
    ] = UNSET
    id: Annotated[
        str | UnsetType,
        Meta(description="The name by which it is chosen; absent if there is nothing to choose", examples=["phone"]),
    ] = UNSET

    @property
    def awaits_link(self) -> bool:
        """Whether a link is made for each booking, and this is not one of a booking that has it."""
        return bool(self.conference) and not self.value


class RollingWindow(Struct, frozen=True, tag_field="type", tag="rolling"):
    """From today to a number of days ahead, in the host's time zone."""

    days: int


class BusinessDaysWindow(Struct, frozen=True, tag_field="type", tag="businessDays"):
    """From today to a number of business days ahead: Monday to Friday in the host's time zone, without holidays."""

    days: int


class RangeWindow(Struct, frozen=True, tag_field="type", tag="range", rename={"first": "from", "last": "to"}):
    """From one date to another in the host's time zone, both inclusive."""

    first: date
    last: date


BookingWindow = RollingWindow | BusinessDaysWindow | RangeWindow


class Limits(Struct, frozen=True, rename="camel"):
    """The most bookings per day and week in the host's zone, and upcoming ones per invitee; null means no limit."""

    per_day: int | None = None
    per_week: int | None = None
    per_invitee: int | None = None


class QuestionKind(StrEnum):
    """The type of an answer."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    CHOICE = "choice"
    CHOICES = "choices"
    """Any of the options."""
    CHECKBOX = "checkbox"
    CONSENT = "consent"
    """A checkbox that must be ticked."""
    PHONE = "phone"
    EMAIL = "email"


class ShowIf(Struct, frozen=True):
    """Which answer to an earlier question a question needs to be asked."""

    key: Annotated[str, Meta(description="The key of an earlier choice or checkbox", examples=["topic"])]
    values: Annotated[
        tuple[str, ...],
        Meta(description="Options of which one must be chosen; none for a checkbox, which must be ticked"),
    ] = ()


class Question(Struct, frozen=True, rename={"show_if": "showIf"}):
    """A question that invitees answer when they book."""

    key: Annotated[str, Meta(description="The name of the answer, unique within the event type", examples=["topic"])]
    label: Annotated[str, Meta(examples=["What would you like to talk about?"])]
    kind: QuestionKind = QuestionKind.TEXT
    required: bool = False
    options: tuple[str, ...] = ()
    """The options of a choice."""

    show_if: ShowIf | None = None
    """None if it is always asked."""


class Money(Struct, frozen=True):
    """An amount in the currency's smallest unit."""

    amount: int
    currency: Annotated[str, Meta(description="ISO 4217", examples=["EUR"])]


class EventType(Struct, frozen=True, kw_only=True):
    """A kind of meeting that can be booked."""

    id: UUID
    owner_id: UUID
    schedule_id: UUID
    name: str
    slug: str
    duration_minutes: int
    created_at: datetime
    updated_at: datetime
    description: str = ""
    color: str = "#2563eb"
    buffer_before: int = 0
    """Minutes that stay free before each meeting."""

    buffer_after: int = 0
    """Minutes that stay free after each meeting."""

    location: Location = Location(LocationKind.TEXT)
    min_notice_minutes: int = 0
    booking_window: BookingWindow = RollingWindow(60)
    slot_interval_minutes: int | None = None
    """Minutes from one start to the next; None is the duration."""

    limits: Limits = Limits()
    seats: int = 1
    """Seats in one meeting; 1 is not a group."""

    questions: tuple[Question, ...] = ()
    price: Money | None = None
    """The price of each booking, whatever its duration."""

    refund_policy: str = "full"
    """The part that an invitee who cancels gets back: full, none, or until:24 for up to 24 hours before the start."""

    requires_confirmation: bool = False
    """Whether invitees ask for a time, and the host confirms it."""

    position: int = 0
    active: bool = True
    is_private: bool = False
    """Whether it is left off the host's page, and opened by the token of its own link alone."""

    accepts_payments: bool = False
    """Whether it has a price that can be paid: the account that it names is connected, and its owner may use it."""

    durations: tuple[int, ...] = ()
    """The minutes that invitees choose from, in order, the default included; empty if there is no choice."""

    redirect_url: str | None = None
    """Where invitees are sent when they have booked; None if it is the page of their booking."""

    wait_list_minutes: int | None = None
    """How long a time that is free again is kept for somebody on the wait list; None if there is no wait list."""

    recurring_weeks: int | None = None
    """How many weeks in a row invitees can book at once; None if it is one booking at a time."""

    locations: tuple[Location, ...] = ()
    """The locations that invitees choose from, `location`, the default, included; empty if there is no choice."""

    requires_email_verification: bool = False
    """Whether invitees enter a code that is sent to their email address before they can book."""

    team_id: UUID | None = None
    """The team whose members host it; None if its owner hosts it alone."""

    payment_connection_id: UUID | None = None
    """The account that invitees pay to, if the event type has a price; None if its owner has chosen none."""

    @property
    def max_weeks(self) -> int:
        """For how many weeks it can be booked at once; what is paid, shared or confirmed is booked singly."""
        is_repeatable = self.price is None and self.seats == 1 and not self.requires_confirmation
        return self.recurring_weeks if self.recurring_weeks and is_repeatable else 1

    @property
    def all_locations(self) -> tuple[Location, ...]:
        # A process of the last release changes the default alone, and that is then the only one.
        return self.locations if self.location in self.locations else (self.location,)

    @property
    def all_durations(self) -> tuple[int, ...]:
        return self.durations or (self.duration_minutes,)


class PaymentAccount(Struct, frozen=True, kw_only=True):
    """An account of a payment provider that invitees of an owner can pay to."""

    id: UUID
    name: str
    organization: str | None = None
    """The name of the organization that has connected it; None if it is the owner's own."""

    organization_slug: str | None = None


class EventTypeSummary(Struct, frozen=True, gc=False):
    """What a list of bookings tells of an event type."""

    id: UUID
    name: str
    slug: str
    duration_minutes: int
    buffer_before: int
    buffer_after: int


class SealedToken(Struct, frozen=True):
    """A private token as it is kept: a hash to compare it with, and sealed to show it again."""

    hash: bytes
    sealed: bytes


class LinkState(StrEnum):
    """Whether something can be booked through a link."""

    OPEN = "open"
    USED_UP = "used_up"
    ENDED = "ended"
    REVOKED = "revoked"


class BookingLink(Struct, frozen=True, kw_only=True):
    """A link through which an event type can be booked a number of times."""

    id: UUID
    event_type_id: UUID
    owner_id: UUID
    uses: int
    """How many bookings it is for."""

    used: int = 0
    ends_at: datetime | None = None
    """When it expires; None if it does not."""

    revoked_at: datetime | None = None
    created_at: datetime
    note: str | None = None
    """The host's own note."""

    def state(self, *, now: datetime) -> LinkState:
        if self.revoked_at is not None:
            return LinkState.REVOKED
        if self.used >= self.uses:
            return LinkState.USED_UP
        return LinkState.ENDED if self.ends_at is not None and self.ends_at <= now else LinkState.OPEN


class LinkBooking(Struct, frozen=True, rename="camel"):
    """A booking that was made through a link."""

    id: UUID
    invitee_name: str
    starts_at: datetime
    status: str

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its payment or its host."""
        return self.status.startswith("PENDING")


class HostLink(Struct, frozen=True, kw_only=True):
    """A link as its host sees it."""

    link: BookingLink
    token: str | None
    """None where the key of its seal is lost."""

    team_page: str | None = None
    """The page of a team that offers its event type, such as `team/sales`; None if it is its owner's page."""

    bookings: tuple[LinkBooking, ...] = ()
    """The bookings that have used it, the newest first, up to a number."""


class HostPage(Struct, frozen=True, kw_only=True):
    host_id: UUID
    name: str
    username: str
    zone: str
    welcome: str | None
    photo: str | None
    """The hash of the host's photo."""

    color: str | None
    """The color of the host's brand."""

    brand: PageBrand
    event_types: tuple[EventType, ...]


class EventTypeOverview(Struct, frozen=True, kw_only=True):
    event_type: EventType
    upcoming: int
    """How many bookings are confirmed and not over."""

    was_booked: bool
    token: str | None
    """The end of the private link; None if the event type is public, or the key of its seal is lost."""

    team_page: str | None
    """The page of a team that offers it, such as `team/sales`; None if it is its owner's page."""


class OverviewPage(Struct, frozen=True, kw_only=True):
    entries: tuple[EventTypeOverview, ...]
    offered: int
    archived: int
