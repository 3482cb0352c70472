"""The nouns of availability: what is meant, what is taken, what is open, and why the rest is closed."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import PLAIN_PAGE, PageBrand
from openslot.domains.event_types.models import BookingLink, EventType
from openslot.domains.schedules.models import Schedule
from openslot.domains.teams.models import (
    Candidate,
    ChoiceAsked,
    HostChoice,
    HostGroup,
    HostRole,
    TeamRules,
)
from openslot.platform.core.times import FOREVER


class BySlug(Struct, frozen=True):
    owner_id: UUID
    slug: str
    minutes: int | None = None
    """How long the meeting is to be, one of the event type's durations; None is its default, here and below."""


class ByPage(Struct, frozen=True):
    """An active event type by its host's username and its slug; a private one needs its token, or that of a link."""

    username: str
    slug: str
    token: str | None = None
    minutes: int | None = None


class ById(Struct, frozen=True):
    """An active event type by its id; a private one needs its token, or that of a link."""

    event_type_id: UUID
    token: str | None = None
    minutes: int | None = None


class ByBooking(Struct, frozen=True):
    """An event type that was booked before, active or not; the duration is the booking's own, offered or not."""

    event_type_id: UUID
    minutes: int | None = None


class ByTeamPage(Struct, frozen=True):
    """An active event type by its team's slug and its own; a private one needs its token, or that of a link."""

    team_slug: str
    slug: str
    token: str | None = None
    minutes: int | None = None


EventTypeRef = BySlug | ByPage | ById | ByBooking | ByTeamPage


class Drafted(Struct, frozen=True):
    """An event type as it would be if it were saved, which can be looked at and not be booked."""

    event_type: EventType
    minutes: int | None = None


class ClaimKind(StrEnum):
    """What time is taken for. Only holds count for the limits of holds: what waits for money or the host is booked."""

    HOLD = "hold"
    BOOKING = "booking"
    PAYMENT = "payment"
    REQUEST = "request"
    SESSION = "session"
    OFFER = "offer"
    """It is kept for somebody on the wait list."""


WAIT_LIST = "wait list"
"""The holder of a seat that is offered to the wait list; the holder of any other is an address."""


class Claim(Struct, frozen=True):
    """Time of the host that is taken, buffers included, in whole seconds since 1970."""

    start: int
    end: int
    kind: str = ClaimKind.BOOKING
    session_start: int | None = None
    """When a group session of the asked event type begins; None for every other claim."""


class Busy(Struct, frozen=True):
    """Time that a foreign calendar says is taken, as it is, in whole seconds since 1970."""

    start: int
    end: int
    source: str = "A calendar"
    is_unread: bool = False
    """Whether the calendar has not been read for too long, so that nobody knows."""

    @classmethod
    def always(cls, source: str) -> "Busy":
        """Treat a host as busy all the time, because a calendar can't be read."""
        return cls(-FOREVER, FOREVER, source, is_unread=True)


class Taken(Struct, frozen=True):
    claims: Sequence[Claim] = ()
    busy: Sequence[Busy] = ()
    booked: Sequence[int] = ()
    """The starts of the event type's bookings that the limits of a host count."""


class GroupSession(Struct, frozen=True, kw_only=True):
    """A group session of the asked event type: its claim, or that of its organizer, and the numbers of its hosts."""

    id: UUID
    hosts: frozenset[int]
    taken_from: int
    taken_until: int
    """The time that it takes, buffers included, in whole seconds since 1970."""

    end: int
    """When it ends, which its event type may have changed since."""

    seats_left: int = 0


class HostInputs(Struct, frozen=True, kw_only=True):
    """One of those who could host: when they work, and what takes their time."""

    host_no: int
    name: str
    schedule: Schedule
    taken: Taken

    booked_in_all: Sequence[int] = ()
    """The starts of all that takes their time; a group session is one."""

    has_stale: bool = False
    """Whether an expired hold still stands in the constraint's way."""

    left_at: datetime | None = None
    """When they last left an organization, and what was upcoming was cancelled."""


class GroupInputs(Struct, frozen=True, kw_only=True):
    group: HostGroup
    candidates: tuple[Candidate, ...]


class ChoiceInputs(Struct, frozen=True, kw_only=True):
    """What only a choice among several hosts needs; for a host's own event type it is empty."""

    rules: TeamRules = TeamRules(event_type_id=UUID(int=0))
    versions: Mapping[int, int | None] = {}
    """The version of each host's time, by host number: it differs after every change; None if not known."""

    changing: Sequence[UUID] = ()
    """Claims that are about to change, and close nothing."""

    is_unsettled: bool = False
    """Whether the ledger has to be settled before hosts are chosen."""


class SlotInputs(Struct, frozen=True, kw_only=True):
    """An offer for any number of hosts, and everything that decides about its starts."""

    event_type: EventType
    calendar: Schedule
    """The schedule whose zone counts days and weeks: the host's own, or that of a team, which is never closed."""

    now: datetime
    minutes: int | None = None
    """How long the meeting is to be; None is the event type's default."""

    groups: tuple[GroupInputs, ...]
    """The candidates from whom hosts are picked; a host's own event type has one group of one."""

    hosts: Mapping[int, HostInputs]
    """The hosts by their numbers; empty where free times of a team are listed, which read some hosts at a time."""

    sessions: Mapping[int, GroupSession] = {}
    """The group sessions by start, one for each start."""

    booked: Sequence[int] = ()
    """The starts of the event type's confirmed bookings and live holds, which its limits count."""

    choice: ChoiceInputs = ChoiceInputs()

    @classmethod
    def of_host(
        cls,
        host: HostInputs,
        event_type: EventType,
        *,
        now: datetime,
        minutes: int | None = None,
        sessions: Mapping[int, GroupSession] = {},
        booked: Sequence[int] = (),
    ) -> "SlotInputs":
        """Describe a host's own event type."""
        group = HostGroup(id=event_type.id, event_type_id=event_type.id, position=0, pick=1)
        only = Candidate(host_no=host.host_no, user_id=event_type.owner_id, weight=100, priority=2)
        return cls(
            event_type=event_type,
            calendar=host.schedule,
            now=now,
            minutes=minutes,
            groups=(GroupInputs(group=group, candidates=(only,)),),
            hosts={host.host_no: host},
            sessions=sessions,
            booked=booked,
        )

    @property
    def own_host(self) -> HostInputs | None:
        """The host whose own event type it is; None if hosts are chosen."""
        return next(iter(self.hosts.values())) if self.event_type.team_id is None else None

    @property
    def duration(self) -> timedelta:
        return timedelta(minutes=self.minutes or self.event_type.duration_minutes)


class ClaimedHost(Struct, frozen=True, kw_only=True):
    """A host of a booking or a hold with the claim that takes their time."""

    user_id: UUID
    host_no: int
    name: str
    claim_id: UUID
    group_id: UUID | None
    """The group that they were chosen of; None if they host an event type of their own."""
    role: HostRole

    @property
    def was_chosen(self) -> bool:
        return self.group_id is not None


class ChosenHosts(Struct, frozen=True, kw_only=True):
    """The hosts chosen from a group, and the candidates."""

    group: HostGroup
    choice: HostChoice
    asked: ChoiceAsked


class Claimed(Struct, frozen=True, kw_only=True):
    claim_id: UUID
    seat_id: UUID | None
    event_type: EventType
    starts_at: datetime
    ends_at: datetime
    link: BookingLink | None = None
    """The link through which it is booked."""

    hosts: tuple[ClaimedHost, ...]
    """The hosts, of whom there is always one, the organizer first; the claim above is the organizer's."""

    chosen: tuple[ChosenHosts, ...] = ()
    """The choices that were made for it now; none for a time that was held before."""

    hold_id: UUID | None = None
    """The hold that has become it."""

    replaced: Mapping[UUID, UUID] = {}
    """The new host by each host who was replaced."""

    left: "OtherSeats | None" = None
    """The other seats of what was given up for it; None if nothing was."""

    found: "SlotContext | None" = None
    """The setting by which it was decided."""

    @property
    def own_id(self) -> UUID:
        """What nobody else has of it: the seat of a session, or the time."""
        return self.seat_id or self.claim_id


class OtherSeats(Struct, frozen=True):
    """The other seats of a session: whether any are booked, and when the last hold expires."""

    booked: int = 0
    held_until: datetime | None = None

    @property
    def is_nobody(self) -> bool:
        return not self.booked and self.held_until is None


class Weeks(Struct, frozen=True, kw_only=True):
    """The same local time in several weeks in a row, whose host is locked: which of them can be booked."""

    found: "SlotContext"
    open: tuple[datetime, ...]
    closed: tuple[datetime, ...]
    held: tuple[ClaimedHost, ...] = ()
    """The hosts of the caller's own hold of the first one; if they were chosen, it is given up."""

    @property
    def event_type(self) -> EventType:
        return self.found.inputs.event_type


class Hold(Struct, frozen=True, kw_only=True):
    id: UUID
    expires_at: datetime


class Days(Struct, frozen=True):
    """From one date to another, both included."""

    first: date
    last: date


class Slots(Struct, frozen=True):
    """The starts that may be booked, in order, in whole seconds since 1970."""

    starts: list[int]
    duration: int
    session_ends: Mapping[int, int] = {}
    """The ends of group sessions that last longer or shorter than their event type does now, by their start."""


class Code(StrEnum):
    """What a start is: open, or closed by the first of these that applies."""

    OPEN = "open"
    PAST = "past"
    OUTSIDE_HOURS = "outside_hours"
    OFF_GRID = "off_grid"
    OUT_OF_OFFICE = "out_of_office"
    HOLIDAY = "holiday"
    WINDOW = "window"
    NOTICE = "notice"
    DAY_LIMIT = "day_limit"
    WEEK_LIMIT = "week_limit"
    FULL = "full"
    TAKEN = "taken"
    BUSY = "busy"
    NO_HOSTS = "no_hosts"
    """Too few hosts of a team are free."""


NO_START = frozenset({Code.PAST, Code.OUTSIDE_HOURS, Code.OFF_GRID})
"""A start closed by one of these was never one that could be asked for; all others may open again."""


class SlotContext(Struct, frozen=True, kw_only=True):
    """Everything that decides, and whose time it is."""

    inputs: SlotInputs
    has_stale: bool
    """Whether an expired hold still stands in the constraint's way."""

    host_no: int
    host_name: str
    host_username: str
    host_zone: str
    host_left_at: datetime | None
    """When the host last left an organization, and what was upcoming was cancelled."""

    host_photo: str | None = None
    host_color: str | None = None
    host_brand: PageBrand = PLAIN_PAGE
    """The hash of the host's photo, the color of their brand, and what else their pages show; read for a page alone."""
    sends_messages: bool = False
    """Whether invitees who agree to it get messages: only a page knows it."""

    link: BookingLink | None = None
    """The link whose token was given."""

    @property
    def has_team(self) -> bool:
        """Whether hosts are chosen from groups of a team; otherwise the owner is the one host."""
        return self.inputs.event_type.team_id is not None
