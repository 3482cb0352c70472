"""Seats of group sessions that a team hosts: whoever comes first has hosts chosen, and the others join these.

The event type is locked, so that it has one session at a start.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.store import lock_hosts
from openslot.domains.availability import team_claim_store, team_session_store
from openslot.domains.availability.claims.store import find_hold, insert_seat, keep_seat
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import (
    Claimed,
    ClaimedHost,
    ClaimKind,
    EventTypeRef,
    GroupSession,
    SlotContext,
)
from openslot.domains.availability.team_claim_store import HeldTeam
from openslot.domains.availability.team_hosts import team_of
from openslot.domains.availability.team_session_store import OtherSeats
from openslot.domains.availability.team_taking import claimed, judge, take
from openslot.platform.core.times import at_second, floor_second
from openslot.platform.core.work import Work


class _SessionOver(Exception):
    """The session has expired before its hosts were locked."""


def find_session(found: SlotContext, starts_at: datetime) -> GroupSession | None:
    return team_of(found).sessions.get(floor_second(starts_at))


async def find_team_hold(work: Work, hold_id: UUID) -> HeldTeam | None:
    """Find a live hold of a team, or a held seat with the hosts of its session."""
    held = await team_claim_store.find_hold(work.db, hold_id, now=work.now)
    if held is not None:
        return held
    seat = await find_hold(work.db, hold_id, now=work.now)
    hosts = await team_session_store.list_hosts(work.db, seat.claim_id) if seat and seat.seat_id else ()
    if seat is None or not hosts:
        return None
    return HeldTeam(
        event_type_id=seat.event_type_id,
        starts_at=seat.starts_at,
        ends_at=seat.ends_at,
        hosts=hosts,
        seat_id=seat.seat_id,
    )


async def sit_down(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    judged: tuple[SlotContext, set[int]],
    *,
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
    is_kept = bool(kept) and not team_of(found).choice.rules.picks_anew
    if session is not None:
        if is_kept and session.hosts != kept:
            raise SlotUnavailable
        with suppress(_SessionOver):
            async with work.attempt():
                hosts = await team_session_store.list_hosts(work.db, session.id)
                await lock_hosts(work.db, {each.user_id for each in (*hosts, *leaving)})
                now, _ = await judge(work, which, starts_at, without=without)
                return _join(work, now, starts_at, session, hosts, expires_at=expires_at, holder=holder)
        found, free = await judge(work, which, starts_at, without=without)
    seats = found.inputs.event_type.seats
    (taken,) = await take(
        work,
        found,
        [starts_at],
        free & kept if is_kept else free,
        kind=ClaimKind.HOLD if expires_at else ClaimKind.BOOKING,
        expires_at=expires_at,
        # Of a session the seat is what somebody holds.
        holder=holder if seats == 1 else None,
        locking=leaving,
    )
    if seats == 1:
        return taken
    return replace(taken, seat_id=_seat(work, taken.claim_id, expires_at=expires_at, holder=holder))


def _join(
    work: Work,
    found: SlotContext,
    starts_at: datetime,
    session: GroupSession,
    hosts: tuple[ClaimedHost, ...],
    *,
    expires_at: datetime | None,
    holder: str | None,
) -> Claimed:
    """Stage what takes a seat of a session, whose hosts are locked."""
    now = find_session(found, starts_at)
    # Others may have taken or left seats of it.
    if now is None or replace(now, seats_left=session.seats_left) != session:
        raise _SessionOver
    inputs = [team_of(found).hosts[each.host_no] for each in hosts]
    # A request that began before a host left, and had to wait, would escape the release of the host's bookings.
    if any(each.left_at is not None and each.left_at > work.now for each in inputs):
        raise SlotUnavailable
    work.stage(*team_session_store.join(hosts, seats=found.inputs.event_type.seats, expires_at=expires_at))
    seat_id = _seat(work, session.id, expires_at=expires_at, holder=holder)
    return claimed(found, starts_at, hosts, seat_id=seat_id, hold_id=session.id, ends_at=at_second(session.end))


def _seat(work: Work, session_id: UUID, *, expires_at: datetime | None, holder: str | None) -> UUID:
    seat_id, seated = insert_seat(session_id, expires_at=expires_at, holder=holder, now=work.now)
    work.stage(seated)
    return seat_id


def keep_team_seat(work: Work, found: SlotContext, held: HeldTeam) -> Claimed:
    """Stage what turns a held seat into a booking's; the hosts of its session are locked."""
    session_id, seat_id = held.hosts[0].claim_id, held.seat_id
    if seat_id is None:
        raise TypeError("the hold has no seat")
    work.stage(keep_seat(seat_id))
    work.stage(*team_session_store.join(held.hosts, seats=found.inputs.event_type.seats, expires_at=None))
    return claimed(
        found,
        held.starts_at,
        held.hosts,
        seat_id=seat_id,
        hold_id=session_id,
        ends_at=held.ends_at,
    )


async def leave(work: Work, hosts: Sequence[ClaimedHost], seat_id: UUID) -> OtherSeats:
    """Give back the seat of a booking in a session, whose hosts are locked, and return who else sits there."""
    await team_session_store.free_seat(work.db, seat_id)
    return await vacate(work, hosts, seat_id)


async def vacate(work: Work, hosts: Sequence[ClaimedHost], seat_id: UUID) -> OtherSeats:
    """Keep the time of a session's hosts for those who are left, or free it if that is nobody."""
    others = await team_session_store.find_others(work.db, hosts[0].claim_id, seat_id, now=work.now)
    if not others.booked and others.held_until:
        await team_session_store.hold_until(work.db, hosts, others.held_until)
    elif not others.booked:
        await team_session_store.free(work.db, hosts, now=work.now)
    return others
