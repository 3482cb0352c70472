"""The verbs of calls, the only writers of its table, and the list that a host sees."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calls import models, store
from openslot.domains.calls.models import Call, CallDirection, CallNotFound, CallStatus, Ending, KnownCall
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import new_id
from openslot.platform.core.moments import Span
from openslot.platform.core.text import parse_phone
from openslot.platform.core.work import Work

ALWAYS = Span()


class CallSource(Struct, frozen=True, kw_only=True):
    """The number that a call went through, and what its provider keeps of it, sealed."""

    connection_id: UUID | None = None
    recording: bytes | None = None
    transcript: bytes | None = None


UNKNOWN_SOURCE = CallSource()


async def record_call(
    work: Work,
    *,
    owner_id: UUID,
    direction: CallDirection,
    phone: str,
    agent_name: str,
    started_at: datetime,
    vendor_id: str | None = None,
    ending: Ending | None = None,
    source: CallSource = UNKNOWN_SOURCE,
) -> Call:
    """Keep a running or finished call once, however often and in whichever order the vendor tells of it."""
    begun = Call(
        id=new_id(),
        owner_id=owner_id,
        direction=direction,
        caller_phone=phone,
        agent_name=agent_name.strip(),
        started_at=started_at,
        ended_at=None,
        duration_seconds=0,
        status=None,
        vendor_id=vendor_id,
        created_at=work.now,
        updated_at=work.now,
        connection_id=source.connection_id,
        recording=source.recording,
        transcript=source.transcript,
    )
    told = _checked(models.end(begun, ending, now=work.now) if ending else begun)
    if await store.insert_call(work.db, told) or vendor_id is None:
        return told
    known = await store.lock_known(work.db, told)
    if known.connection_id != told.connection_id:
        # Another number has told of it first, and its provider alone has the recording.
        return known
    merged = models.merge(known, told)
    if merged is not known:
        await store.update_told(work.db, merged)
    return merged


async def add_call_recording(work: Work, connection_id: UUID, vendor_id: str, recording: bytes) -> bool:
    """Keep the recording of a call, unless it has one; False if the call is not known."""
    return await store.add_recording(work.db, connection_id, vendor_id, recording, now=work.now)


async def find_owner_of_call(work: Work, connection_id: UUID, vendor_id: str) -> UUID | None:
    """Find whose call it is that went through a number; None if it is not known yet."""
    return await store.find_owner(work.db, connection_id, vendor_id)


async def erase_call(work: Work, owner: User, call_id: UUID) -> None:
    """Delete a call with its recording and transcript, here and at the provider."""
    if not await store.delete_call(work.db, owner.id, call_id):
        raise CallNotFound


async def list_finished_calls(
    work: Work, owner: User, *, status: CallStatus | None = None, span: Span = ALWAYS, page: int = 1, limit: int = 20
) -> tuple[list[Call], int]:
    """Read one page of an owner's calls that are over, newest first, and how many there are."""
    return await store.list_finished_calls(
        work.db, owner.id, status=status, span=span, limit=limit, offset=(page - 1) * limit
    )


def _checked(call: Call) -> Call:
    faults = models.find_call_faults(call)
    if faults:
        raise Invalid(details=faults)
    return replace(call, caller_phone=parse_phone(call.caller_phone))


class CallsFilter(Struct, frozen=True, kw_only=True):
    search: str = ""
    """Part of the contact's name, address or company, or of the phone number."""
    phone: str | None = None
    """The whole number, E.164."""
    direction: CallDirection | None = None
    status: CallStatus | None = None
    span: Span = Span()
    """When they began."""


async def list_calls(
    work: Work, owner: User, wanted: CallsFilter, *, page: int = 1, limit: int
) -> tuple[list[KnownCall], int]:
    """Read one page of an owner's calls that are over, newest first, with whom, and how many there are."""
    return await store.list_calls(
        work.db,
        owner.id,
        search=wanted.search,
        phone=wanted.phone,
        direction=wanted.direction,
        status=wanted.status,
        span=wanted.span,
        limit=limit,
        offset=(page - 1) * limit,
    )


async def get_call(work: Work, owner: User, call_id: UUID) -> KnownCall:
    return require(await store.find_call(work.db, owner.id, call_id), CallNotFound)
