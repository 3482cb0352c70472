"""The verbs of requests: an invitee asks for a time, and the host confirms or declines it, or it lapses."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.availability import claims
from openslot.bookings import errors, pending, request_store, rules
from openslot.bookings.events import BookingDeclined, BookingEvent, BookingLapsed, BookingRequested, BookingWithdrawn
from openslot.bookings.models import (
    Booking,
    BookingDetails,
    BookingRef,
    BookingRequest,
    FoundRequest,
    Host,
    RequestState,
)
from openslot.core.actor import SYSTEM
from openslot.core.errors import require
from openslot.core.events import Effect
from openslot.core.work import Done, Outcome, Periodic, Reaction, Skipped, Work
from openslot.event_types import links
from openslot.event_types.models import EventType
from openslot.jobs.batches import repeat

LAPSE = "requests.lapse"
AT_ONCE = 500
MAX_WAITING = 200
KEPT_FOR = timedelta(days=30)


async def begin(work: Work, booking: Booking, event_type: EventType) -> None:
    """Write a booking whose insert and claim are staged, and ask its host."""
    within = timedelta(hours=work.runtime.settings.confirm_within_hours)
    request = BookingRequest(
        booking_id=booking.id,
        host_id=booking.host_id,
        state=RequestState.WAITING,
        lapses_at=rules.lapses_at(booking, within=within),
    )
    work.stage(request_store.insert_request(request))
    details = BookingDetails(booking, event_type, None)
    await work.record(_tell(work, BookingRequested, details, lapses_at=request.lapses_at))


async def confirm(work: Work, ref: BookingRef) -> Booking:
    """Confirm what an invitee has asked for: from now on it is a booking; confirmed again, it stays as it is."""
    found = await _lock(work, ref)
    if found.request.state is RequestState.CONFIRMED:
        return found.details.booking
    _check_open(work, found)
    work.stage(request_store.end_request(_end(work, found, RequestState.CONFIRMED)))
    return await pending.confirm(work, found.details, payment=None)


async def decline(work: Work, ref: BookingRef, *, reason: str | None = None) -> BookingRequest:
    """Decline what an invitee has asked for and free its time; declined again, it stays as it is."""
    found = await _lock(work, ref)
    if found.request.state is RequestState.DECLINED:
        return found.request
    _check_open(work, found)
    ended = _end(work, found, RequestState.DECLINED, reason=str(reason) if reason else None)
    return await _free(work, found, ended, BookingDeclined, reason=ended.reason)


async def withdraw(work: Work, booking_id: UUID) -> BookingRequest:
    """Withdraw a request on behalf of its invitee and free its time; withdrawn again, it stays as it is."""
    ref = BookingRef(booking_id, None)
    found = require(await request_store.lock_request(work.db, ref), errors.BookingNotFound)
    if found.request.state is RequestState.WITHDRAWN:
        return found.request
    _check_open(work, found)
    return await _free(work, found, _end(work, found, RequestState.WITHDRAWN), BookingWithdrawn)


async def decline_some(work: Work, host: User, *, reason: str, limit: int | None) -> int:
    """Decline what waits for a host who leaves, some of it or all, and return how much."""
    waiting = await request_store.list_waiting(work.db, host.id, limit=limit)
    for each in waiting:
        found = await _lock(work, BookingRef(each.request.booking_id, host.id))
        if found.request.state is RequestState.WAITING:
            ended = _end(work, found, RequestState.DECLINED, reason=str(reason))
            await _free(work, found, ended, BookingDeclined, reason=ended.reason)
    return len(waiting)


async def get_request(work: Work, ref: BookingRef) -> FoundRequest:
    return require(await request_store.find_request(work.db, ref), errors.RequestNotFound)


async def get_with_host(work: Work, booking_id: UUID) -> tuple[BookingRequest, BookingDetails, Host]:
    """Read a request as its invitee sees it; only they and the host know of it."""
    return require(await request_store.find_with_host(work.db, booking_id), errors.BookingNotFound)


async def list_waiting(work: Work, host: User) -> list[FoundRequest]:
    """List what waits for a host, by its start."""
    return await request_store.list_waiting(work.db, host.id, limit=MAX_WAITING)


async def _lock(work: Work, ref: BookingRef) -> FoundRequest:
    return require(await request_store.lock_request(work.db, ref), errors.RequestNotFound)


def _check_open(work: Work, found: FoundRequest) -> None:
    if not found.request.is_open(now=work.now):
        raise errors.RequestNotOpen


def _end(work: Work, found: FoundRequest, state: RequestState, *, reason: str | None = None) -> BookingRequest:
    return replace(found.request, state=state, reason=reason, ended_at=work.now)


async def _free(
    work: Work, found: FoundRequest, ended: BookingRequest, event: type[BookingEvent], **more: Any
) -> BookingRequest:
    booking = found.details.booking
    claims.free(work, booking.claim_id, booking.seat_id)
    links.give_back(work, booking.id)
    work.stage(request_store.end_request(ended))
    await work.record(_tell(work, event, found.details, **more))
    return ended


def _tell(work: Work, event: type[BookingEvent], details: BookingDetails, **more: Any) -> BookingEvent:
    base_url = work.runtime.settings.public_url
    return event(booking=details.booking, event_type=details.event_type, contact=None, base_url=base_url, **more)


class LapsePlan(Struct, frozen=True):
    booking_id: UUID


async def plan_lapses(work: Work) -> str:
    """Plan to end the requests whose time is over: each for itself, so that none waits for another."""
    due = await request_store.list_due(work.db, now=work.now, limit=AT_ONCE)
    for row in due:
        booking_id, host_id = row["booking_id"], row["host_id"]
        payload = LapsePlan(booking_id)
        await work.plan(LAPSE, str(booking_id), due_at=work.now, payload=payload, tenant_id=host_id)
    return f"{len(due)} requests to end"


async def lapse(work: Work, effect: Effect) -> Outcome:
    """End a request that nobody has answered in time, and free its time."""
    async with work.runtime.transaction(SYSTEM) as own:
        found = await request_store.lock_request(own.db, BookingRef(effect.plan(LapsePlan).booking_id, None))
        if found is None or found.request.state is not RequestState.WAITING or found.request.lapses_at > own.now:
            return Skipped("the request does not wait any more")
        await _free(own, found, _end(own, found, RequestState.LAPSED), BookingLapsed)
    return Done()


async def tidy(work: Work) -> str:
    """Delete what was asked for and never confirmed, 30 days after the request has ended."""
    before = work.now - KEPT_FOR

    async def erase_some(limit: int) -> int:
        gone = await request_store.delete_ended(work.db, before=before, limit=limit)
        await pending.erase_freed(work, gone)
        return len(gone)

    return f"{await repeat(erase_some)} requests removed"


REQUEST_REACTIONS = (Reaction(name=LAPSE, run=lapse),)
REQUEST_JOBS = (
    Periodic(name="requests.lapse", expression="* * * * *", run=plan_lapses, transaction="none"),
    Periodic(name="requests.tidy", expression="47 4 * * *", run=tidy, transaction="none"),
)
