"""The verbs of calls, the only writers of its table, and the list that a host sees."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.calls import models, store
from openslot.calls.models import Call, CallDirection, CallNotFound, CallStatus, Ending, KnownCall
from openslot.core.errors import Invalid, require
from openslot.core.ids import new_id
from openslot.core.moments import Span
from openslot.core.text import parse_phone
from openslot.core.work import Work

ALWAYS = Span()


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
) -> Call:
    """Keep a running or finished call, only once however often the vendor reports it."""
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
    )
    call = _checked(models.end(begun, ending, now=work.now) if ending else begun)
    if await store.insert_call(work.db, call) or vendor_id is None:
        return call
    if ending:
        return await finish_call(work, owner_id=owner_id, vendor_id=vendor_id, ending=ending)
    return await get_call_of_vendor(work, owner_id=owner_id, vendor_id=vendor_id)


async def finish_call(work: Work, *, owner_id: UUID, vendor_id: str, ending: Ending) -> Call:
    """End a running call; one that has ended stays as it is."""
    call = await get_call_of_vendor(work, owner_id=owner_id, vendor_id=vendor_id)
    if call.status is not None:
        return call
    ended = _checked(models.end(call, ending, now=work.now))
    await store.update_ending(work.db, ended)
    return ended


async def get_call_of_vendor(work: Work, *, owner_id: UUID, vendor_id: str) -> Call:
    """Read the call that a vendor knows by this id, and keep others from changing it meanwhile."""
    return require(await store.lock_call_of_vendor(work.db, owner_id, vendor_id), CallNotFound)


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
