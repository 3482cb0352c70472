"""The verbs behind a host's list of calls."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.calls import history_store as store
from openslot.calls.errors import CallNotFound
from openslot.calls.models import CallDirection, CallStatus, KnownCall
from openslot.core.moments import Span
from openslot.core.work import Work


class CallsFilter(Struct, frozen=True, kw_only=True):
    """Which calls are listed."""

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
    """Read one of an owner's calls that is over."""
    found = await store.find_call(work.db, owner.id, call_id)
    if found is None:
        raise CallNotFound
    return found
