"""The nouns of CRMs: a person and a meeting as every vendor takes them, and what hosts have connected."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct, field

from openslot.domains.contacts.models import FIELDS_IN_CRM
from openslot.platform.core.shapes import with_fields


@with_fields((each.name, each.kind.shown, None) for each in FIELDS_IN_CRM)
class CrmPerson(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who has booked; a CRM has one person for an email address. The signed webhook has it as JSON.

    It has the fields of the contact that CRMs get, such as the phone number.
    """

    email: str
    name: str
    zone: str
    language: str | None = None
    answers: Mapping[str, str] = {}
    """The answers in this booking, by the key of the question."""


class MeetingOutcome(StrEnum):
    SCHEDULED = "scheduled"
    RESCHEDULED = "rescheduled"
    CANCELLED = "cancelled"
    NO_SHOW = "no_show"


class CrmMeeting(Struct, frozen=True, kw_only=True, rename="camel"):
    """A booking as it is now; a CRM has one meeting for a booking. The signed webhook has it as JSON."""

    booking_id: UUID
    title: str
    starts_at: datetime = field(name="startTime")
    ends_at: datetime = field(name="endTime")
    outcome: MeetingOutcome
    url: str
    """The booking's page in the dashboard, which asks for a sign-in; never a manage link."""
    location: str | None = None
    notes: str | None = None
    answers: Mapping[str, str] = {}
    """The answers, by the label of the question."""
    event_type: str
    """The name of the event type."""
    host_name: str
    host_email: str
    guests: tuple[str, ...] = ()
    cancel_reason: str | None = None
    changed_at: datetime
    """When the booking was last changed: what has an earlier one is older."""


class CrmStanding(StrEnum):
    """Whether a connected CRM can be used."""

    CONNECTED = "connected"
    FAILING = "failing"
    """It can't be reached, or fails; it is tried again."""
    NEEDS_RECONNECT = "needs_reconnect"
    """It refuses the secret; nothing is sent until it is connected again."""


class CrmConnection(Struct, frozen=True, kw_only=True):
    """A CRM that a host has connected."""

    id: UUID
    owner_id: UUID
    vendor: str
    account: str
    label: str
    secret: bytes
    """Sealed."""
    options: dict[str, Any] = {}
    connected_at: datetime
    used_at: datetime | None = None
    last_error: str | None = None
    failing_since: datetime | None = None
    is_refused: bool = False
    told_at: datetime | None = None

    @property
    def standing(self) -> CrmStanding:
        if self.failing_since is None:
            return CrmStanding.CONNECTED
        return CrmStanding.NEEDS_RECONNECT if self.is_refused else CrmStanding.FAILING


class CrmWanted(Struct, frozen=True, kw_only=True):
    """A CRM to connect, as it was typed."""

    vendor: str
    account: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"CrmWanted({self.vendor}, …)"


class ConnectedCrm(Struct, frozen=True, kw_only=True):
    connection: CrmConnection
    new_secret: str | None = None
    """The secret that was made for it, which is shown this once."""


class CrmTarget(Struct, frozen=True, kw_only=True):
    """Where a booking is written: the connection, its owner, and the meeting if there is one already."""

    connection: CrmConnection
    host_name: str
    host_email: str
    meeting_id: str | None


class CrmFailure(Struct, frozen=True, kw_only=True):
    """A booking that a CRM has not taken, for good."""

    effect_id: UUID
    connection_id: UUID
    booking_id: UUID
    invitee_name: str | None
    starts_at: datetime | None
    failed_at: datetime
    reason: str
