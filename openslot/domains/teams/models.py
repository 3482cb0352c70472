"""The nouns of teams: who belongs to one, of which groups its event types pick hosts, and why they were chosen."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

Attributes = dict[str, str]
AttributeFilter = dict[str, tuple[str, ...]]
"""The accepted values of each attribute; a member must have one of them for each."""


class Team(Struct, frozen=True, kw_only=True):
    """People of an organization who host event types together."""

    id: UUID
    organization_id: UUID
    name: str
    slug: str
    zone: str
    """The time zone of the calendar that counts the days and the starts of its event types."""

    external_id: str | None = None
    """The id that an identity provider has for it."""

    version: int = 1
    """Counts the changes of the team and of who belongs to it."""

    held_at: datetime | None = None
    """When an identity provider deleted it although something was booked: an administrator decides."""

    created_at: datetime
    updated_at: datetime


class ListedTeam(Struct, frozen=True, kw_only=True):
    team: Team
    members: int
    event_types: int
    is_managed: bool = False
    """Whether the one whose teams are listed manages it."""


class TeamMember(Struct, frozen=True, kw_only=True):
    team_id: UUID
    user_id: UUID
    weight: int = 100
    """How many of the bookings they get, compared with others; 0 if none."""

    priority: int = 2
    """A number from 0 to 3: free hosts with the highest priority come first."""

    is_manager: bool = False
    attributes: Attributes = {}
    """The attributes that the team has set; those of an identity provider are added where members are looked up."""

    joined_at: datetime


class ListedTeamMember(Struct, frozen=True, kw_only=True):
    """A member of a team with the account behind it."""

    member: TeamMember
    """The member, with the attributes that the team has set."""

    member_id: UUID
    """The membership in the organization."""

    name: str
    email: str
    attributes: Attributes = {}
    """The attributes of the identity provider, overridden by those that the team has set."""

    is_active: bool
    """Whether they can host: an active member of the organization with an open account."""


class Balance(StrEnum):
    """What is fair among the hosts of a group."""

    SHARE = "share"
    """Everybody gets their share of the bookings for which they were free."""
    TOTAL = "total"
    """Everybody ends with the same number of bookings, by weight, however often they were free."""


class TeamRules(Struct, frozen=True, kw_only=True):
    """How the hosts of a team's event type are chosen."""

    event_type_id: UUID
    balance: Balance = Balance.SHARE
    max_lead: int | None = None
    """How many bookings ahead a host may be before being left out, with the balance `total`."""

    window_days: int = 90
    """How many days bookings are counted, with the balance `total`."""

    host_per_day: int | None = None
    host_per_week: int | None = None
    """The most bookings of the event type that a host has on a day or in a week of the team's calendar."""

    host_total_per_day: int | None = None
    host_total_per_week: int | None = None
    """The same of all event types together."""

    picks_anew: bool = True
    """Whether others are chosen for a new time at which the hosts are not free."""

    replaces_leavers: bool = True
    """Whether somebody else takes the bookings of a host who leaves; otherwise they are cancelled."""

    counts_no_shows: bool = True
    counts_host_cancellations: bool = True
    """Whether a booking to which the invitee did not come, or that a host has cancelled, counts."""


class HostGroup(Struct, frozen=True, kw_only=True):
    """One of the groups of an event type, of which a number of hosts is picked."""

    id: UUID
    event_type_id: UUID
    position: int
    pick: int
    filter: AttributeFilter | None = None
    """The attributes by which members of the team belong to it; None if its hosts are listed."""


class HostWanted(Struct, frozen=True, kw_only=True):
    """Somebody who is listed in a group; a weight and a priority of None are those that they have in the team."""

    user_id: UUID
    weight: int | None = None
    priority: int | None = None


class GroupWanted(Struct, frozen=True, kw_only=True):
    """A group as it is to be: hosts that are listed, or whoever matches a filter."""

    id: UUID | None = None
    """The existing group that it changes; None if it is the one at the same position."""

    pick: int = 1
    hosts: tuple[HostWanted, ...] = ()
    filter: AttributeFilter | None = None
    """The attributes of its members, if no hosts are listed. An empty filter matches everybody of the team."""


class GroupMember(Struct, frozen=True, kw_only=True):
    """Who belongs to a group at this moment and can host, with the weight and the priority that count."""

    group_id: UUID
    user_id: UUID
    host_no: int
    name: str
    email: str
    zone: str
    weight: int
    priority: int
    credit: int
    last_no: int


class Candidate(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A member of a group, as a choice looks at them."""

    host_no: int
    user_id: UUID
    weight: int
    priority: int
    credit: int = 0
    """How far they are behind their share, in millionths of a booking."""

    last_no: int = 0
    """The number of the last choice of the group that chose them, counted from 1; 0 if none has."""

    served: int = 0
    """How many bookings they had within the window, with the balance `total`."""

    is_free: bool = True
    """Whether the whole time is free, and no limit is reached."""


class HostChoice(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who was chosen, and by how much the credit of each eligible candidate changes; the changes sum up to 0."""

    chosen: tuple[UUID, ...]
    """The chosen hosts by rank, the best first."""

    eligible: tuple[UUID, ...]
    deltas: dict[UUID, int]
    price: int
    """The amount that each of the chosen has paid: about one booking."""


class ChoiceAsked(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a choice was made of, so that it can be made again."""

    pick: int
    balance: Balance
    max_lead: int | None = None
    candidates: tuple[Candidate, ...]
    is_named: bool = False
    """Whether somebody has named the host, so that nobody was chosen."""

    instead_of: tuple[UUID, ...] = ()
    """The replaced hosts, whose credit the chosen have taken over; in the order of the chosen."""

    kept: tuple[UUID, ...] = ()
    """The hosts of the first booking of a series, who host this one as well."""


class Replacement(Struct, frozen=True, kw_only=True):
    """Hosts of one group of a booking who are replaced, and who replaces each."""

    group_id: UUID
    hosts: Mapping[UUID, UUID]
    asked: ChoiceAsked | None = None
    """The input of the choice; None if somebody has named the hosts."""


class HostStanding(StrEnum):
    """What a choice says of a candidate."""

    ELIGIBLE = "eligible"
    PAUSED = "paused"
    """The weight is 0."""
    AHEAD = "ahead"
    """They had so many bookings that, with the balance `total`, others come first, even if nobody else is free."""
    AWAY = "away"
    """The time is not free, or a limit is reached."""
    OUTRANKED = "outranked"
    """Enough are free whose priority is higher."""


class HostVerdict(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a candidate may be chosen or not."""

    user_id: UUID
    standing: HostStanding
    ahead: int
    """Millionths of a booking ahead of their share, or, with the balance `total`, of the host furthest behind."""


class HostRole(StrEnum):
    ORGANIZER = "organizer"
    HOST = "host"


class BookingHost(Struct, frozen=True, kw_only=True, rename="camel"):
    """One of those who host a booking of a team's event type."""

    user_id: UUID
    name: str
    role: HostRole


class AssignmentReason(StrEnum):
    BOOKED = "booked"
    SERIES = "series"
    """The hosts of the first booking of a series have the others too."""
    HELD = "held"
    RESCHEDULED = "rescheduled"
    REASSIGNED = "reassigned"
    REPLACED = "replaced"


class ChoiceRule(StrEnum):
    """Why these hosts were chosen, and not others who were free."""

    NAMED = "named"
    SERIES = "series"
    ONLY_FREE = "only_free"
    PRIORITY = "priority"
    BEHIND = "behind"
    """They are furthest behind their share, or with the balance `total` had the fewest bookings for their weight."""
    LONGEST_AGO = "longest_ago"
    """Others were just as far behind, and were chosen later."""


class CreditReason(StrEnum):
    """Why a credit has changed."""

    BOOKED = "booked"
    SERIES = "series"
    HELD = "held"
    RESCHEDULED = "rescheduled"
    REASSIGNED = "reassigned"
    REPLACED = "replaced"
    CANCELLED = "cancelled"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    LAPSED = "lapsed"
    """Nobody has answered a request in time."""
    NO_SHOW = "no_show"
    CAME = "came"
    """A no-show was taken back."""
    EXPIRED = "expired"
    """A held time was not booked."""
    LEFT = "left"
    """Somebody has left the group, and their credit went to the others."""


class TeamSession(Struct, frozen=True):
    """A group session: the claim of its organizer, or of its one host, and the numbers of all of its hosts."""

    id: UUID
    hosts: frozenset[int]
    end: int
    """When it ends, in whole seconds since 1970."""


class StoredChoice(Struct, frozen=True, kw_only=True):
    """A choice of hosts as it was made."""

    no: int
    id: UUID
    group_id: UUID
    booking_id: UUID | None
    reason: AssignmentReason
    at: datetime
    asked: ChoiceAsked
    chosen: tuple[UUID, ...]
    price: int


class LastChoice(Struct, frozen=True, kw_only=True):
    """A choice of hosts, and what it was made for."""

    choice: StoredChoice
    booking_id: UUID | None
    """The booking, or one of a session."""
    starts_at: datetime | None
    """When the meeting begins; None if it was held and not booked."""

    is_cancelled: bool
    can_hand_over: bool
    """Whether the reader may still give the booking to another host."""
    is_waiting: bool
    """Whether it was asked for and is not answered yet."""
    is_unconfirmed: bool
    """Whether it was asked for and never confirmed."""


class MemberShare(Struct, frozen=True, kw_only=True):
    """Who is in a group of an event type and can host, with how many of its bookings they had."""

    position: int
    pick: int
    balance: Balance
    user_id: UUID
    name: str
    email: str
    weight: int
    credit: int
    had: int
