"""Calls as rows: with whom, which way, when, how long, and how they ended."""

from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.calls.models import CallDirection, CallStatus, KnownCall
from openslot.i18n import PluralText, Text
from openslot.web import words

DIRECTIONS = {CallDirection.INBOUND: Text("Incoming"), CallDirection.OUTBOUND: Text("Outgoing")}
STATUSES = {
    CallStatus.COMPLETED: (Text("Completed"), "good"),
    CallStatus.NO_ANSWER: (Text("No answer"), "warn"),
    CallStatus.FAILED: (Text("Failed"), "bad"),
}


class CallRow(Struct, frozen=True, kw_only=True):
    """One call in a list."""

    id: UUID
    name: str
    direction: Text
    at: Text | date
    length: Text | None
    status: Text
    tone: str
    agent: str


def call_row(known: KnownCall, user: User, *, now: datetime) -> CallRow:
    """Describe a call that is over as a row."""
    call = known.call
    status, tone = STATUSES[call.status or CallStatus.FAILED]
    return CallRow(
        id=call.id,
        name=known.contact.name if known.contact else call.caller_phone,
        direction=DIRECTIONS[call.direction],
        at=words.moment(call.started_at, user.zone, now=now),
        length=length_of(call.duration_seconds) if call.duration_seconds else None,
        status=status,
        tone=tone,
        agent=call.agent_name,
    )


def length_of(seconds: int) -> Text:
    """Write `3 min 4 s`."""
    if seconds < 60:
        return PluralText("%(count)s s", "%(count)s s", count=seconds)
    if seconds < 3600:
        return Text("%(minutes)s min %(seconds)s s", minutes=seconds // 60, seconds=seconds % 60)
    return Text("%(hours)s h %(minutes)s min", hours=seconds // 3600, minutes=seconds // 60 % 60)
