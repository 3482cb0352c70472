"""The verbs that take a host's time: claim, hold, move and free; each takes the host's lock before it reads."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import try_lock_host
from openslot.domains.availability import holds, shares, team_claims, team_store
from openslot.domains.availability.claims import store
from openslot.domains.availability.claims.store import Held, Locked
from openslot.domains.availability.errors import HoldNotFound, InvalidStartTime, SlotUnavailable
from openslot.domains.availability.explain import explain_start
from openslot.domains.availability.models import (
    NO_START,
    ByBooking,
    ById,
    Claimed,
    ClaimKind,
    Code,
    EventTypeRef,
    Hold,
    SlotContext,
    SlotInputs,
    Weeks,
)
from openslot.domains.availability.slots import is_askable, judge, repeat_weekly
from openslot.domains.availability.store import WAIT_LIST
from openslot.domains.availability.team_taking import find
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.rules import is_offered
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.times import at_second, floor_second, get_zone
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import check_enabled
from openslot.platform.jobs.batches import repeat
from openslot.platform.jobs.each import serve_each

EXPIRE = "claims.expire"
KindOf = Callable[[EventType], ClaimKind]


async def claim_slot(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    *,
    kind_of: KindOf = lambda _: ClaimKind.BOOKING,
    hold_id: UUID | None = None,
    asked_at: datetime | None = None,
) -> Claimed:
    """Lock a slot and stage the change that takes it, or that turns the caller's own hold into the claim.

    A slot that the engine would not list is refused. `kind_of` says what the time of an event type is taken for; the
    notice counts from `asked_at`, or from now.
    """
    locked = await lock_time(work, which)
    if locked.is_team:
        return await team_claims.claim(work, which, locked.event_type_id, starts_at, hold_id=hold_id)
    held = await store.find_hold(work.db, hold_id, now=work.now) if hold_id else None
    if held is not None:
        return await _keep(work, which, starts_at, held, kind_of=kind_of)
    found = await _judge(work, which, starts_at, field="startTime", asked_at=asked_at)
    return _take(work, found, starts_at, kind=kind_of(found.inputs.event_type), expires_at=None)


async def judge_weeks(
    work: Work, which: EventTypeRef, starts_at: datetime, *, weeks: int, hold_id: UUID | None = None
) -> Weeks:
    """Lock the host, and find in which of several weeks a time of the schedule's clock can be booked."""
    locked = await lock_time(work, which)
    if locked.is_team:
        return await team_claims.judge_weeks(work, which, locked.event_type_id, starts_at, weeks=weeks, hold_id=hold_id)
    held = await store.find_hold(work.db, hold_id, now=work.now) if hold_id else None
    # A clock that is turned moves the last one by hours at most.
    until = starts_at + timedelta(weeks=weeks) if is_askable(starts_at) else None
    found = await _find(work, which, starts_at, until=until, without=held.claim_id if held else None)
    inputs = found.inputs
    if held is not None and (held.event_type_id, held.starts_at) != (inputs.event_type.id, starts_at):
        raise Invalid(details={"holdId": "is for a different time"})
    code = _check_start(inputs, starts_at, field="startTime")
    starts = repeat_weekly(starts_at, get_zone(inputs.calendar.zone), weeks)
    codes = [code, *(judge(inputs, start) for start in starts[1:])]
    return Weeks(
        found=found,
        open=tuple(start for start, code in zip(starts, codes, strict=True) if code is Code.OPEN),
        closed=tuple(start for start, code in zip(starts, codes, strict=True) if code is not Code.OPEN),
        held_id=held.claim_id if held and code is Code.OPEN else None,
    )


async def take_weeks(work: Work, weeks: Weeks) -> list[Claimed]:
    """Stage what takes the open weeks, for an event type with one seat; the caller's own hold becomes the first."""
    if weeks.event_type.team_id is not None:
        return await team_claims.take_weeks(work, weeks)
    inputs, fresh, taken = weeks.found.inputs, list(weeks.open), []
    if weeks.held_id is not None:
        first = fresh.pop(0)
        work.stage(store.keep_claim(weeks.held_id, inputs, first, kind=ClaimKind.BOOKING))
        taken.append(_claimed(weeks.found, weeks.held_id, None, first))
    if fresh:
        claim_ids, change = store.insert_claims(inputs, fresh, host_no=weeks.found.host_no, now=work.now)
        work.stage(change)
        taken += [_claimed(weeks.found, each, None, start) for each, start in zip(claim_ids, fresh, strict=True)]
    return taken


async def hold_slot(work: Work, which: ById, starts_at: datetime, *, holder: str) -> Hold:
    """Keep a slot for ten minutes for someone who is filling in a form."""
    await holds.check_address(work, holder)
    locked = await lock_time(work, which)
    if locked.is_team:
        return await team_claims.hold(work, which, starts_at, holder=holder)
    found = await _judge(work, which, starts_at, field="startTime")
    if not is_offered(found.inputs.event_type):
        raise SlotUnavailable
    await check_enabled(work, FlagKey.BOOKING_HOLDS, user_id=found.inputs.event_type.owner_id)
    await holds.check_again(work, found, starts_at, holder=holder)
    expires_at = work.now + timedelta(minutes=10)
    taken = _take(work, found, starts_at, kind=ClaimKind.HOLD, expires_at=expires_at, holder=holder)
    await shares.spend_hold(work, taken)
    await work.apply()
    await shares.check(work, taken)
    return Hold(id=taken.own_id, expires_at=expires_at)


async def drop_slot_hold(work: Work, hold_id: UUID) -> None:
    """Release a held slot; a hold that has become a booking meanwhile stays a booking."""
    if await store.lock_hold(work.db, hold_id):
        await team_claims.drop_hold(work, hold_id)
    elif not await store.drop_hold(work.db, hold_id, now=work.now):
        raise HoldNotFound


async def offer_slot(work: Work, which: EventTypeRef, starts_at: datetime, *, expires_at: datetime) -> Claimed:
    """Stage what keeps an open slot for somebody on the wait list; the caller has locked the host."""
    found = await _judge(work, which, starts_at, field="startTime")
    holder = WAIT_LIST if found.inputs.event_type.seats > 1 else None
    return _take(work, found, starts_at, kind=ClaimKind.OFFER, expires_at=expires_at, holder=holder)


def free_offered_slot(work: Work, claim_id: UUID, seat_id: UUID | None) -> None:
    """Stage what frees an offered slot, unless it was booked; the caller has locked the host."""
    work.stage(*store.free_offer(claim_id, seat_id))


async def move_time(
    work: Work, claim_id: UUID, seat_id: UUID | None, *, which: ByBooking, starts_at: datetime
) -> Claimed:
    """Stage what gives a claim another slot of the same event type: it holds the old one or the new one, never both.

    The caller has locked its host.
    """
    found = await _judge(work, which, starts_at, without=seat_id or claim_id, field="newStartTime")
    session = _find_session(found, starts_at)
    if session is None and (seat_id is None or await store.has_only_seat(work.db, seat_id, now=work.now)):
        work.stage(store.move_claim(claim_id, found.inputs, starts_at))
        return _claimed(found, claim_id, seat_id, starts_at)
    if seat_id is None:
        # The event type has become a group event meanwhile.
        work.stage(store.free_claim(claim_id))
        return _sit_down(work, found, starts_at)
    session_id, ends_at = _open_session(work, found, starts_at)
    work.stage(*store.move_seat(seat_id, session_id))
    return _claimed(found, session_id, seat_id, starts_at, ends_at)


def confirm_time(work: Work, claim_id: UUID, seat_id: UUID | None) -> None:
    """Stage what turns time that waited into a booking's; refused if it was freed meanwhile."""
    kept = store.confirm_claim(claim_id) if seat_id is None else store.confirm_seat(seat_id)
    work.stage(kept)


def free_time(work: Work, claim_id: UUID, seat_id: UUID | None) -> None:
    """Stage the change that frees a time or a seat; the caller has locked its host."""
    if seat_id is None:
        work.stage(store.free_claim(claim_id))
    else:
        work.stage(*store.free_seat(seat_id))


def free_times(work: Work, claim_ids: Sequence[UUID]) -> None:
    """Stage the change that frees times that no one shares; the caller has locked their host."""
    work.stage(store.free_claims(claim_ids))


async def lock_time(work: Work, which: EventTypeRef) -> Locked:
    """Wait for the lock of the host, or of a team's event type; what is read afterwards includes earlier changes."""
    return require(await store.lock_time_of(work.db, which), EventTypeNotFound)


async def _keep(work: Work, which: EventTypeRef, starts_at: datetime, held: Held, *, kind_of: KindOf) -> Claimed:
    """Turn a hold into the claim: a time of its own is as long as it is wanted now, a seat as its session."""
    found = await _find(work, which, starts_at, without=held.seat_id or held.claim_id)
    event_type = found.inputs.event_type
    if (held.event_type_id, held.starts_at) != (event_type.id, starts_at):
        raise Invalid(details={"holdId": "is for a different time"})
    if judge(_with_own_seat(found, held), starts_at) is not Code.OPEN:
        raise SlotUnavailable
    if held.seat_id is not None:
        work.stage(store.keep_seat(held.seat_id))
        return _claimed(found, held.claim_id, held.seat_id, starts_at, held.ends_at)
    work.stage(store.keep_claim(held.claim_id, found.inputs, starts_at, kind=kind_of(event_type)))
    return _claimed(found, held.claim_id, None, starts_at)


async def _judge(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    *,
    field: str,
    without: UUID | None = None,
    asked_at: datetime | None = None,
) -> SlotContext:
    found = await _find(work, which, starts_at, without=without)
    inputs = replace(found.inputs, now=asked_at) if asked_at else found.inputs
    if _check_start(inputs, starts_at, field=field) is not Code.OPEN:
        raise SlotUnavailable
    return found


def _check_start(inputs: SlotInputs, starts_at: datetime, *, field: str) -> Code:
    """Judge a start, and refuse one that could never be asked for."""
    code = judge(inputs, starts_at)
    if code in NO_START:
        raise InvalidStartTime(field, explain_start(inputs, starts_at).reasons[0].sentence)
    return code


async def _find(
    work: Work, which: EventTypeRef, starts_at: datetime, *, without: UUID | None, until: datetime | None = None
) -> SlotContext:
    """Read what decides about a start, or about all until another, with the host's expired holds out of the way."""
    found = await find(work, which, starts_at, without=without, until=until, is_team=False)
    # A request that began before the host left, and had to wait, would escape the cancellation of the host's bookings.
    if found.host_left_at is not None and found.host_left_at > work.now:
        raise SlotUnavailable
    if found.has_stale:
        await store.expire_holds(work.db, found.host_no, now=work.now)
    return found


def _take(
    work: Work,
    found: SlotContext,
    starts_at: datetime,
    *,
    kind: ClaimKind,
    expires_at: datetime | None,
    holder: str | None = None,
) -> Claimed:
    if found.inputs.event_type.seats == 1:
        claim_id = _insert(work, found, starts_at, kind=kind, expires_at=expires_at, holder=holder)
        return _claimed(found, claim_id, None, starts_at)
    return _sit_down(work, found, starts_at, expires_at=expires_at, holder=holder)


def _sit_down(
    work: Work,
    found: SlotContext,
    starts_at: datetime,
    *,
    expires_at: datetime | None = None,
    holder: str | None = None,
) -> Claimed:
    session_id, ends_at = _open_session(work, found, starts_at)
    seat_id, seated = store.insert_seat(session_id, expires_at=expires_at, holder=holder, now=work.now)
    work.stage(seated)
    return _claimed(found, session_id, seat_id, starts_at, ends_at)


def _open_session(work: Work, found: SlotContext, starts_at: datetime) -> tuple[UUID, datetime | None]:
    """Join the session that has a seat left, which keeps its own end, or open one."""
    session = _find_session(found, starts_at)
    if session is None:
        return _insert(work, found, starts_at, kind=ClaimKind.SESSION), None
    session_id, ends_at = session
    work.stage(*store.join_session(session_id, seats=found.inputs.event_type.seats, now=work.now))
    return session_id, ends_at


def _insert(
    work: Work,
    found: SlotContext,
    starts_at: datetime,
    *,
    kind: ClaimKind,
    expires_at: datetime | None = None,
    holder: str | None = None,
) -> UUID:
    claim_id, taken = store.insert_claim(
        found.inputs,
        starts_at,
        host_no=found.host_no,
        kind=kind,
        expires_at=expires_at,
        holder=holder,
        now=work.now,
    )
    work.stage(taken)
    return claim_id


def _find_session(found: SlotContext, starts_at: datetime) -> tuple[UUID, datetime] | None:
    session = found.inputs.sessions.get(floor_second(starts_at))
    return (session.id, at_second(session.end)) if session is not None and session.seats_left > 0 else None


def _with_own_seat(found: SlotContext, held: Held) -> SlotInputs:
    """Count a held seat as left to its holder, also where its event type has fewer seats by now."""
    sessions = {
        start: replace(each, seats_left=max(each.seats_left, 1)) if each.id == held.claim_id else each
        for start, each in found.inputs.sessions.items()
    }
    return replace(found.inputs, sessions=sessions)


def _claimed(
    found: SlotContext, claim_id: UUID, seat_id: UUID | None, starts_at: datetime, ends_at: datetime | None = None
) -> Claimed:
    return Claimed(
        claim_id=claim_id,
        seat_id=seat_id,
        event_type=found.inputs.event_type,
        starts_at=starts_at,
        ends_at=ends_at or starts_at + found.inputs.duration,
        link=found.link,
        found=found,
    )


async def expire_holds(work: Work) -> str:
    """Deactivate expired holds, one host and one transaction at a time."""
    hosts = await store.list_hosts_with_expired_holds(work.db, now=work.now, limit=1000)
    expired = await serve_each(work, EXPIRE, hosts, partial(_expire_holds_of, work.runtime))
    return f"{sum(expired.results)} holds expired"


async def _expire_holds_of(runtime: Runtime, host_no: int) -> int:
    """Switch one host's expired holds off, unless someone is changing the host's time: the next run comes soon."""
    async with runtime.transaction(SYSTEM) as work:
        if not await try_lock_host(work.db, host_no):
            return 0
        return await store.expire_holds(work.db, host_no, now=work.now)


async def tidy_claims(work: Work) -> str:
    """Remove holds that expired a day ago, group sessions that nobody is booked in, and old tokens of changes."""
    before = work.now - timedelta(days=1)
    holds = await repeat(lambda limit: store.delete_holds(work.db, before, limit=limit))
    seats = await repeat(lambda limit: store.delete_seats(work.db, before, limit=limit))
    sessions = await repeat(lambda limit: store.delete_sessions(work.db, before, limit=limit))
    await team_store.tidy_changes(work.db)
    return f"{holds + seats} holds, {sessions} sessions removed"


async def erase_freed_time(work: Work, claim_ids: Sequence[UUID], seat_ids: Sequence[UUID]) -> None:
    """Delete the time and the seats of bookings that are gone, unless others have it."""
    await store.delete_freed(work.db, claim_ids, seat_ids)


async def erase_some_claims(work: Work, host: User, limit: int) -> int:
    """Delete some claims and busy spans of a host whose account is deleted and who has no bookings any more."""
    return await store.delete_claims_of_host(work.db, host.no, limit)


AVAILABILITY_JOBS = (
    Periodic(name=EXPIRE, expression="* * * * *", run=expire_holds, transaction="none"),
    Periodic(name="claims.tidy", expression="3-59/5 * * * *", run=tidy_claims, transaction="none"),
)
