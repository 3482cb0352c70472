"""The nouns of calls: who called whom, when, how long, how it ended, and what is refused."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.contacts.models import NamedContact
from openslot.platform.core.errors import NotFound
from openslot.platform.core.text import is_line, parse_phone
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR
from openslot.platform.i18n import Text


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
    status: CallStatus
    ended_at: datetime
    duration_seconds: int | None = None
    """The length as the vendor counts it; None if it is counted from start to end, or 0 if not completed."""


class Call(Struct, frozen=True, kw_only=True):
    """One voice call; it runs as long as it has no status."""

    id: UUID
    owner_id: UUID
    direction: CallDirection
    caller_phone: str
    """The other side's number, E.164."""

    agent_name: str
    """The voice agent that spoke; empty if none did."""

    started_at: datetime
    ended_at: datetime | None
    duration_seconds: int
    status: CallStatus | None
    vendor_id: str | None
    created_at: datetime
    updated_at: datetime
    connection_id: UUID | None = None
    """The number that it went through."""
    recording: bytes | None = None
    """The sealed reference by which the provider finds it."""
    transcript: bytes | None = None


class KnownCall(Struct, frozen=True):
    """A call, and the contact with the other side's number: of several, the one known longest."""

    call: Call
    contact: NamedContact | None = None


class CallNotFound(NotFound):
    """No such call, or it belongs to somebody else."""

    code = "call_not_found"
    message = Text("Call not found")


LONGEST = timedelta(days=7)


def find_call_faults(call: Call) -> dict[str, str]:
    """Name everything that keeps a call from being recorded, and what is wrong with it."""
    return dict(_faults(call))


def end(call: Call, ending: Ending, *, now: datetime) -> Call:
    seconds = ending.duration_seconds
    if seconds is None:
        talked = ending.ended_at - call.started_at if ending.status is CallStatus.COMPLETED else timedelta()
        seconds = max(talked // timedelta(seconds=1), 0)
    return replace(call, status=ending.status, ended_at=ending.ended_at, duration_seconds=seconds, updated_at=now)


RANKS = {None: 0, CallStatus.NO_ANSWER: 1, CallStatus.FAILED: 2, CallStatus.COMPLETED: 3}


def merge(known: Call, told: Call) -> Call:
    """Join two notices of one call; the result is the same in whichever order they came."""
    status = max(known.status, told.status, key=RANKS.__getitem__)
    over = [each for each in (known, told) if each.status is status]
    ended_at = min((each.ended_at for each in over if each.ended_at is not None), default=None)
    started_at = min(known.started_at, told.started_at)
    if ended_at is not None:
        started_at = max(started_at, ended_at - LONGEST)
    joined = replace(
        known,
        agent_name=known.agent_name or told.agent_name,
        started_at=started_at,
        ended_at=ended_at,
        duration_seconds=max(each.duration_seconds for each in over),
        status=status,
        connection_id=known.connection_id or told.connection_id,
        recording=known.recording or told.recording,
        transcript=known.transcript or told.transcript,
    )
    return known if joined == known else replace(joined, updated_at=told.updated_at)


def _faults(call: Call) -> Iterator[tuple[str, str]]:
    try:
        parse_phone(call.caller_phone)
    except ValueError as fault:
        yield "phone", str(fault)
    if len(call.agent_name) > 200 or not is_line(call.agent_name):
        yield "agentName", "must be at most 200 characters in one line"
    if call.vendor_id is not None and not (call.vendor_id.isprintable() and 1 <= len(call.vendor_id) <= 255):
        yield "vendorId", "must be 1 to 255 printable characters"
    if not FIRST_YEAR <= call.started_at.year <= LAST_YEAR:
        yield "startedAt", f"must be between {FIRST_YEAR} and {LAST_YEAR}"
    if call.ended_at is not None and not timedelta() <= call.ended_at - call.started_at <= LONGEST:
        yield "endedAt", f"must not be before startedAt, nor more than {LONGEST.days} days after it"
    if not 0 <= call.duration_seconds <= LONGEST.total_seconds():
        yield "durationSeconds", f"must be from 0 to {LONGEST.total_seconds():.0f}"
