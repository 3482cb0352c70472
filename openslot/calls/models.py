"""The nouns of calls: who called whom, when, and how it ended."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct


class CallDirection(StrEnum):
    """The direction of a call: inbound from the other party, or outbound to them."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"


class CallStatus(StrEnum):
    """How a call ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    NO_ANSWER = "no_answer"


class Ending(Struct, frozen=True, kw_only=True):
    """How and when a call came to its end."""

    status: CallStatus
    ended_at: datetime
    duration_seconds: int | None = None
    """As the vendor counts it; None: from start to end where the call was completed, else 0."""


class Call(Struct, frozen=True, kw_only=True):
    """One voice call; it runs as long as it has no status."""

    id: UUID
    owner_id: UUID
    direction: CallDirection
    caller_phone: str
    """The other side's number, E.164."""

    agent_name: str
    """The voice agent that spoke."""

    started_at: datetime
    ended_at: datetime | None
    duration_seconds: int
    status: CallStatus | None
    vendor_id: str | None
    created_at: datetime
    updated_at: datetime


class CallContact(Struct, frozen=True):
    """The contact whose phone number it is."""

    id: UUID
    name: str


class KnownCall(Struct, frozen=True):
    """A call, and the contact with the other side's number: of several, the one known longest."""

    call: Call
    contact: CallContact | None = None
