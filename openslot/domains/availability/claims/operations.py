"""The verbs that take time of hosts: claim, hold, move and free; each takes the locks before it reads.

The lock is that of the host, or of a team's event type, whose hosts are locked in order once they are chosen.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import lock_hosts
from openslot.domains.availability import holds, shares
from openslot.domains.availability.claims import store
from openslot.domains.availability.claims.holds.operations import KindOf, count_hold, find_held, keep_hold
from openslot.domains.availability.claims.holds.store import drop_hold, drop_hold_of_chosen, lock_hold
from openslot.domains.availability.claims.rehosting import move_hosts, rehost
from openslot.domains.availability.claims.sessions.operations import (
    change_session,
    join,
    leave,
    take_seat,
    vacate,
)
from openslot.domains.availability.claims.sessions.store import (
    confirm_seat,
    drop_seat,
    free_offered_seat,
    has_only_seat,
)
from openslot.domains.availability.claims.store import Locked
from openslot.domains.availability.claims.taking import JudgedStart, check_start, find, find_session, judge, take
from openslot.domains.availability.errors import HoldNotFound, SlotUnavailable
from openslot.domains.availability.models import (
    WAIT_LIST,
    ById,
    Claimed,
    ClaimedHost,
    ClaimKind,
    Code,
    EventTypeRef,
    Hold,
    OtherSeats,
    SlotContext,
)
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.rules import is_offered
from openslot.domains.teams.ledger.operations import settle_credits
from openslot.platform.core.errors import require
from openslot.platform.core.work import Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import check_enabled

HOLD_LASTS = timedelta(minutes=10)


async def lock_time(work: Work, which: EventTypeRef) -> Locked:
    """Wait for the lock of the host, or of a team's event type; what is read afterwards includes earlier changes."""
    return require(await store.lock_time_of(work.db, which), EventTypeNotFound)


async def lock_chosen(work: Work, hosts: Iterable[ClaimedHost]) -> None:
    """Wait for the locks of hosts who were chosen: the lock of an own event type is that of its host."""
    chosen = {each.user_id for each in hosts if each.was_chosen}
    if chosen:
        await lock_hosts(work.db, chosen)


async def claim_slot(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    *,
    kind_of: KindOf = lambda _: ClaimKind.BOOKING,
    hold_id: UUID | None = None,
    asked_at: datetime | None = None,
) -> Claimed:
    """Lock a slot and take it with hosts who are free, or turn the caller's own hold into the claim.

    A slot that the engine would not list is refused. `kind_of` says what the time of an event type is taken for; the
    notice counts from `asked_at`, or from now.
    """
    locked = await lock_time(work, which)
    kept = await keep_hold(work, which, starts_at, hold_id, locked, kind_of=kind_of) if hold_id else None
    if kept is not None:
        return kept
    judged = await judge(work, which, starts_at, is_team=locked.is_team, asked_at=asked_at)
    return await _sit_down(work, which, starts_at, judged, kind=kind_of(judged.found.inputs.event_type))


async def hold_slot(work: Work, which: ById, starts_at: datetime, *, holder: str) -> Hold:
    """Keep a slot for ten minutes for someone who is filling in a form: the time of its hosts, and their credit."""
    await holds.check_address(work, holder)
    locked = await lock_time(work, which)
    judged = await judge(work, which, starts_at, is_team=locked.is_team)
    event_type = judged.found.inputs.event_type
    if not is_offered(event_type):
        raise SlotUnavailable
    await check_enabled(work, FlagKey.BOOKING_HOLDS, user_id=event_type.owner_id)
    await holds.check_again(work, judged.found, starts_at, holder=holder)
    expires_at = work.now + HOLD_LASTS
    held = await _sit_down(work, which, starts_at, judged, kind=ClaimKind.HOLD, expires_at=expires_at, holder=holder)
    count_hold(work, held)
    await shares.spend_hold(work, held)
    await work.apply()
    await shares.check(work, held)
    return Hold(id=held.own_id, expires_at=expires_at)


async def drop_slot_hold(work: Work, hold_id: UUID) -> None:
    """Release a held slot, and give back its credit; a hold that has become a booking meanwhile stays a booking."""
    if not await lock_hold(work.db, hold_id):
        if not await drop_hold(work.db, hold_id, now=work.now):
            raise HoldNotFound
        return
    held = await find_held(work, hold_id, is_team=True)
    if held is None:
        raise HoldNotFound
    await lock_hosts(work.db, [each.user_id for each in held.hosts])
    drop = drop_hold_of_chosen if held.seat_id is None else drop_seat
    if not await drop(work.db, hold_id, now=work.now):
        raise HoldNotFound
    if held.seat_id is not None:
        await vacate(work, held.hosts, held.seat_id)
    await settle_credits(work, held.event_type_id)


async def offer_slot(work: Work, which: EventTypeRef, starts_at: datetime, *, expires_at: datetime) -> Claimed:
    """Stage what keeps an open slot for somebody on the wait list; the caller has locked the host."""
    judged = await judge(work, which, starts_at, is_team=False)
    holder = WAIT_LIST if judged.found.inputs.event_type.seats > 1 else None
    return await _sit_down(work, which, starts_at, judged, kind=ClaimKind.OFFER, expires_at=expires_at, holder=holder)


def free_offered_slot(work: Work, claim_id: UUID, seat_id: UUID | None) -> None:
    """Stage what frees an offered slot, unless it was booked; the caller has locked the host."""
    work.stage(*((store.free_offered(claim_id),) if seat_id is None else free_offered_seat(seat_id)))


async def _sit_down(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    judged: JudgedStart,
    *,
    kind: ClaimKind,
    expires_at: datetime | None = None,
    holder: str | None = None,
    without: UUID | None = None,
    leaving: Sequence[ClaimedHost] = (),
) -> Claimed:
    """Take an open slot for a booking, or for a hold that expires: with hosts who are chosen now, or in their session.

    Somebody who leaves another session has given up their seat there, and its hosts are locked too. If the team does
    not pick anew, they keep these hosts.
    """
    found, free = judged
    session = find_session(found, starts_at)
    kept = {each.host_no for each in leaving}
    is_kept = bool(kept) and found.has_team and not found.inputs.choice.rules.picks_anew
    if session is not None:
        if is_kept and session.hosts != kept:
            raise SlotUnavailable
        joined = await join(
            work,
            which,
            starts_at,
            session,
            found,
            expires_at=expires_at,
            holder=holder,
            without=without,
            leaving=leaving,
        )
        if joined is not None:
            return joined
        found, free = await judge(work, which, starts_at, is_team=True, without=without)
    return await _take_time(
        work,
        found,
        starts_at,
        free & kept if is_kept else free,
        kind=kind,
        expires_at=expires_at,
        holder=holder,
        leaving=leaving,
    )


async def _take_time(
    work: Work,
    found: SlotContext,
    starts_at: datetime,
    free: set[int],
    *,
    kind: ClaimKind,
    expires_at: datetime | None,
    holder: str | None,
    leaving: Sequence[ClaimedHost],
) -> Claimed:
    """Take the time of hosts who are free, and the first seat if it is a session's: the seat is what somebody holds."""
    has_seats = found.inputs.event_type.seats > 1
    (taken,) = await take(
        work,
        found,
        [starts_at],
        free,
        kind=kind,
        expires_at=expires_at,
        holder=None if has_seats else holder,
        locking=leaving,
    )
    if not has_seats:
        return taken
    return replace(taken, seat_id=take_seat(work, taken.claim_id, expires_at=expires_at, holder=holder))


async def move_time(
    work: Work, which: EventTypeRef, starts_at: datetime, hosts: Sequence[ClaimedHost], seat_id: UUID | None
) -> Claimed:
    """Give a booking another slot of the same event type: it holds the old one or the new one, never both.

    Its host is locked, or its event type. Chosen hosts stay who are free then; for the others somebody else is chosen,
    or the move is refused, as the team says. Who joins a session, or leaves others in one, gets what the new one has.
    """
    is_team, without = hosts[0].was_chosen, seat_id or hosts[0].claim_id
    found = await find(work, which, starts_at, is_team=is_team, without=without)
    code = check_start(found.inputs, starts_at, field="newStartTime")
    if code not in {Code.OPEN, Code.NO_HOSTS}:
        raise SlotUnavailable
    session = find_session(found, starts_at)
    if session is None and (seat_id is None or await has_only_seat(work.db, seat_id, now=work.now)):
        return replace(await move_hosts(work, found, starts_at, hosts), seat_id=seat_id)
    if seat_id is not None and not is_team:
        return change_session(work, found, starts_at, session, seat_id)
    judged = JudgedStart(found, {found.host_no})
    if is_team:
        judged = await judge(work, which, starts_at, is_team=True, field="newStartTime", without=without)
    taken = await _sit_down(work, which, starts_at, judged, kind=ClaimKind.BOOKING, without=without, leaving=hosts)
    return replace(taken, left=await free_time(work, hosts, seat_id))


async def replace_host(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    hosts: Sequence[ClaimedHost],
    leaving: ClaimedHost,
    *,
    named: UUID | None = None,
) -> Claimed:
    """Let another host take the place of one, at the same time: who is named, or else the next one by the rule.

    Whether somebody would book the time now does not matter: the meeting is there already.
    """
    found = await find(work, which, starts_at, is_team=True, without=hosts[0].claim_id)
    return await rehost(work, found, starts_at, hosts, [leaving], is_moved=False, named=named)


def confirm_time(work: Work, hosts: Sequence[ClaimedHost], seat_id: UUID | None) -> None:
    """Stage what turns time that waited into a booking's; refused if it was freed meanwhile.

    The time of hosts who were chosen is a booking's from the beginning.
    """
    if not hosts[0].was_chosen:
        work.stage(store.confirm_claim(hosts[0].claim_id) if seat_id is None else confirm_seat(seat_id))


async def free_time(work: Work, hosts: Sequence[ClaimedHost], seat_id: UUID | None) -> OtherSeats:
    """Free the time of hosts or a seat; they are locked. Return who else has a seat in a session of chosen hosts."""
    (left,) = await free_times(work, [(hosts, seat_id)])
    return left


async def free_times(work: Work, times: Sequence[tuple[Sequence[ClaimedHost], UUID | None]]) -> list[OtherSeats]:
    """Free the times of several bookings, each of its hosts or a seat, whose hosts are locked."""
    alone = [host for hosts, seat_id in times if seat_id is None for host in hosts]
    if alone:
        work.stage(store.free_claims(alone))
    return [OtherSeats() if seat_id is None else await leave(work, hosts, seat_id) for hosts, seat_id in times]


async def erase_freed_time(work: Work, claim_ids: Sequence[UUID], seat_ids: Sequence[UUID]) -> None:
    """Delete the time and the seats of bookings that are gone, unless others have it."""
    await store.delete_freed(work.db, claim_ids, seat_ids)


async def erase_some_claims(work: Work, host: User, limit: int) -> int:
    """Delete some claims and busy spans of a host whose account is deleted and who has no bookings any more."""
    return await store.delete_claims_of_host(work.db, host.no, limit)
