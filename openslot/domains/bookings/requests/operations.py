"""The verbs of requests: an invitee asks for a time, and the host confirms or declines it, or it lapses."""

from datetime import timedelta
from operator import itemgetter
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.claims.operations import erase_freed_time
from openslot.domains.bookings import errors, pending, rules
from openslot.domains.bookings.events import (
    BookingDeclined,
    BookingEvent,
    BookingLapsed,
    BookingRequested,
    BookingWithdrawn,
)
from openslot.domains.bookings.hosts.operations import free_unconfirmed_hosts, tell_with_hosts
from openslot.domains.bookings.hosts.store import is_host_of_booking, is_manager_of_event_type
from openslot.domains.bookings.models import (
    Booking,
    BookingDetails,
    BookingRef,
    BookingRequest,
    FoundRequest,
    Host,
    RequestState,
)
from openslot.domains.bookings.requests import store
from openslot.domains.event_types.links.operations import give_link_back
from openslot.domains.teams.models import CreditReason
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.db import Row
from openslot.platform.core.errors import require
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, Outcome, Periodic, Reaction, Skipped, Work
from openslot.platform.i18n import CodedReason, keep
from openslot.platform.jobs.batches import repeat
from openslot.platform.jobs.each import serve_each

LAPSE = "requests.lapse"
AT_ONCE = 500
MAX_WAITING = 200
KEPT_FOR = timedelta(days=30)
CREDIT_REASONS = {
    RequestState.DECLINED: CreditReason.DECLINED,
    RequestState.LAPSED: CreditReason.LAPSED,
    RequestState.WITHDRAWN: CreditReason.WITHDRAWN,
}


async def begin_booking_request(work: Work, details: BookingDetails) -> None:
    """Write a booking whose insert and claims are staged, and ask its host, or all hosts of a team."""
    booking = details.booking
    request = BookingRequest(
        booking_id=booking.id,
        host_id=booking.host_id,
        state=RequestState.WAITING,
        lapses_at=rules.lapses_at(booking, within=timedelta(hours=work.runtime.settings.confirm_within_hours)),
    )
    work.stage(store.insert_request(request))
    await work.record(tell_with_hosts(work, BookingRequested, details, lapses_at=request.lapses_at))


async def confirm_booking_request(work: Work, ref: BookingRef) -> Booking:
    """Confirm what an invitee has asked for: from now on it is a booking; confirmed again, it stays as it is.

    Of a team the owner may, each of its hosts, and the managers; who answers first decides.
    """
    found = await _get_for_answer(work, ref)
    if found.request.state is RequestState.CONFIRMED and _is_own_answer(work, found):
        return found.details.booking
    _check_open(work, found)
    work.stage(store.end_request(_end(work, found, RequestState.CONFIRMED)))
    return await pending.confirm(work, found.details, payment=None)


async def decline_booking_request(work: Work, ref: BookingRef, *, reason: str | None = None) -> BookingRequest:
    """Decline what an invitee has asked for and free its time; declined again, it stays as it is."""
    found = await _get_for_answer(work, ref)
    if found.request.state is RequestState.DECLINED and _is_own_answer(work, found):
        return found.request
    _check_open(work, found)
    ended = _end(work, found, RequestState.DECLINED, reason=keep(reason) if reason else None)
    return await _free(work, found, ended, BookingDeclined, reason=ended.reason)


async def withdraw_booking_request(work: Work, booking_id: UUID) -> BookingRequest:
    """Withdraw a request on behalf of its invitee and free its time; withdrawn again, it stays as it is."""
    found = require(await store.lock_request(work.db, BookingRef(booking_id, None)), errors.BookingNotFound)
    if found.request.state is RequestState.WITHDRAWN:
        return found.request
    _check_open(work, found)
    return await _free(work, found, _end(work, found, RequestState.WITHDRAWN), BookingWithdrawn)


async def decline_some_booking_requests(work: Work, host: User, *, reason: str, limit: int | None) -> int:
    """Decline what waits and belongs to a host who leaves, some of it or all, and return how much."""
    waiting = await store.list_owned(work.db, host.id, limit=limit)
    for booking_id in waiting:
        found = await store.lock_request(work.db, BookingRef(booking_id, host.id))
        if found is not None and found.request.state is RequestState.WAITING:
            ended = _end(work, found, RequestState.DECLINED, reason=keep(reason))
            await _free(work, found, ended, BookingDeclined, reason=ended.reason)
    return len(waiting)


async def get_request(work: Work, ref: BookingRef) -> FoundRequest:
    """Read a request that somebody may answer."""
    found = require(await store.find_request(work.db, ref), errors.RequestNotFound)
    await _check_may_answer(work, found.details, ref.host_id)
    return found


async def find_waiting_request(work: Work, ref: BookingRef) -> BookingDetails | None:
    """Find what waits for an answer, which nobody else can give until the commit."""
    found = await store.lock_request(work.db, ref)
    return found.details if found and found.request.state is RequestState.WAITING else None


async def get_request_with_host(work: Work, booking_id: UUID) -> tuple[BookingRequest, BookingDetails, Host]:
    """Read a request as its invitee sees it; only they and the host know of it."""
    return require(await store.find_with_host(work.db, booking_id), errors.BookingNotFound)


async def list_waiting_requests(work: Work, host: User) -> list[FoundRequest]:
    """List what waits for somebody, as the owner or as a host of a team, by its start."""
    return await store.list_waiting(work.db, host.id, limit=MAX_WAITING)


async def list_requests_of_event_type(work: Work, reader: User, event_type_id: UUID) -> list[FoundRequest]:
    """List what can be answered of a team's event type, by its start; nothing for who neither owns nor manages it."""
    return await store.list_of_event_type(work.db, event_type_id, reader_id=reader.id, now=work.now, limit=MAX_WAITING)


async def _get_for_answer(work: Work, ref: BookingRef) -> FoundRequest:
    """Read a request that somebody may answer, and that nobody else can answer until the commit."""
    found = require(await store.lock_request(work.db, ref), errors.RequestNotFound)
    await _check_may_answer(work, found.details, ref.host_id)
    return found


async def _check_may_answer(work: Work, details: BookingDetails, user_id: UUID | None) -> None:
    """Refuse who is neither the owner, nor a host who still belongs to the organization, nor a manager of the team."""
    if user_id is None or user_id == details.booking.host_id:
        return
    hosts_it = any(each.user_id == user_id for each in details.hosts)
    if hosts_it and await is_host_of_booking(work.db, details.booking.id, user_id):
        return
    if not await is_manager_of_event_type(work.db, details.event_type.id, user_id):
        raise errors.RequestNotFound


def _is_own_answer(work: Work, found: FoundRequest) -> bool:
    """Answer whether somebody repeats their own answer; of a team another may have been faster."""
    is_other = work.actor.user_id not in {None, found.request.answered_by}
    return not (found.details.hosts and is_other)


def _check_open(work: Work, found: FoundRequest) -> None:
    if not found.request.is_open(now=work.now):
        raise errors.RequestNotOpen


def _end(work: Work, found: FoundRequest, state: RequestState, *, reason: str | None = None) -> BookingRequest:
    is_answer = state in {RequestState.CONFIRMED, RequestState.DECLINED}
    by = work.actor.user_id if is_answer else None
    return replace(found.request, state=state, reason=reason, ended_at=work.now, answered_by=by)


async def _free(
    work: Work, found: FoundRequest, ended: BookingRequest, event: type[BookingEvent], **more: Any
) -> BookingRequest:
    await free_unconfirmed_hosts(work, found.details, CREDIT_REASONS[ended.state])
    give_link_back(work, found.details.booking.id)
    work.stage(store.end_request(ended))
    await work.record(tell_with_hosts(work, event, found.details, **more))
    return ended


class LapsePlan(Struct, frozen=True):
    booking_id: UUID


async def plan_lapses(work: Work) -> str:
    """Plan to end the requests whose time is over: each for itself, so that none waits for another."""
    due = await store.list_due(work.db, now=work.now, limit=AT_ONCE)

    async def plan(row: Row) -> None:
        booking_id, host_id = row["booking_id"], row["host_id"]
        payload = LapsePlan(booking_id)
        await work.plan(LAPSE, str(booking_id), due_at=work.now, payload=payload, tenant_id=host_id)

    await serve_each(work, LAPSE, due, plan, key=itemgetter("booking_id"))
    return f"{len(due)} requests to end"


NOT_WAITING = CodedReason("requests.not_waiting", "it is no longer needed", said="the request does not wait any more")


async def lapse(work: Work, effect: Effect) -> Outcome:
    """End a request that nobody has answered in time, and free its time."""
    async with work.runtime.transaction(SYSTEM) as own:
        found = await store.lock_request(own.db, BookingRef(effect.plan(LapsePlan).booking_id, None))
        if found is None or found.request.state is not RequestState.WAITING or found.request.lapses_at > own.now:
            return Skipped(NOT_WAITING)
        await _free(own, found, _end(own, found, RequestState.LAPSED), BookingLapsed)
    return Done()


async def tidy(work: Work) -> str:
    """Delete what was asked for and never confirmed, 30 days after the request has ended."""
    before = work.now - KEPT_FOR

    async def erase_some(limit: int) -> int:
        gone = await store.delete_ended_requests(work.db, before=before, limit=limit)
        claim_ids = [each for claim_ids, _ in gone for each in claim_ids]
        await erase_freed_time(work, claim_ids, [seat_id for _, seat_id in gone if seat_id])
        return len(gone)

    return f"{await repeat(erase_some)} requests removed"


REQUEST_REACTIONS = (Reaction(name=LAPSE, run=lapse),)
REQUEST_JOBS = (
    Periodic(name="requests.lapse", expression="* * * * *", run=plan_lapses, transaction="none"),
    Periodic(name="requests.tidy", expression="47 4 * * *", run=tidy, transaction="none"),
)
