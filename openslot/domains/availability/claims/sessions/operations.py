"""Seats of group sessions: whoever comes first opens one with hosts who are chosen then, and the others join these.

The session of a host's own event type is known by its claim, and what is done to it is staged for the one statement of
the booking. That of chosen hosts is read under their locks. The event type has one session at a start.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.store import lock_hosts
from openslot.domains.availability.claims.holds.store import Held
from openslot.domains.availability.claims.sessions import store
from openslot.domains.availability.claims.taking import claimed, find_session, judge, own_host, take_own
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import (
    Claimed,
    ClaimedHost,
    ClaimKind,
    EventTypeRef,
    GroupSession,
    OtherSeats,
    SlotContext,
)
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Work


class _SessionOver(Exception):
    """The session has expired before its hosts were locked."""


async def join(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    session: GroupSession,
    found: SlotContext,
    *,
    expires_at: datetime | None,
    holder: str | None,
    without: UUID | None = None,
    leaving: Sequence[ClaimedHost] = (),
) -> Claimed | None:
    """Stage what takes a seat of a session; None if it is over.

    Those whose session is left are locked with its hosts.
    """
    if not found.has_team:
        return _join_own(work, starts_at, session, found, expires_at=expires_at, holder=holder)
    with suppress(_SessionOver):
        async with work.attempt():
            hosts = await store.list_hosts(work.db, session.id)
            await lock_hosts(work.db, {each.user_id for each in (*hosts, *leaving)})
            now, _ = await judge(work, which, starts_at, is_team=True, without=without)
            return _join_chosen(work, now, starts_at, session, hosts, expires_at=expires_at, holder=holder)
    return None


def _join_own(
    work: Work,
    starts_at: datetime,
    session: GroupSession,
    found: SlotContext,
    *,
    expires_at: datetime | None,
    holder: str | None,
) -> Claimed:
    """Stage what takes a seat of the one host's session, which keeps its own end."""
    hosts, ends_at = (own_host(found, session.id),), at_second(session.end)
    work.stage(*store.join_session(session.id, seats=found.inputs.event_type.seats, now=work.now))
    seat_id = take_seat(work, session.id, expires_at=expires_at, holder=holder)
    return claimed(found, starts_at, hosts, seat_id=seat_id, ends_at=ends_at)


def _join_chosen(
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
    inputs = [found.inputs.hosts[each.host_no] for each in hosts]
    # A request that began before a host left, and had to wait, would escape the release of the host's bookings.
    if any(each.left_at is not None and each.left_at > work.now for each in inputs):
        raise SlotUnavailable
    work.stage(*store.join_hosts(hosts, seats=found.inputs.event_type.seats, expires_at=expires_at))
    seat_id = take_seat(work, session.id, expires_at=expires_at, holder=holder)
    return claimed(found, starts_at, hosts, seat_id=seat_id, hold_id=session.id, ends_at=at_second(session.end))


def take_seat(work: Work, session_id: UUID, *, expires_at: datetime | None, holder: str | None) -> UUID:
    seat_id, seated = store.insert_seat(session_id, expires_at=expires_at, holder=holder, now=work.now)
    work.stage(seated)
    return seat_id


def change_session(
    work: Work, found: SlotContext, starts_at: datetime, session: GroupSession | None, seat_id: UUID
) -> Claimed:
    """Stage what moves a seat from one session of the one host to another, or to one that is opened for it."""
    if session is None:
        (opened,) = take_own(work, found, [starts_at], kind=ClaimKind.SESSION)
    else:
        work.stage(*store.join_session(session.id, seats=found.inputs.event_type.seats, now=work.now))
        ends_at = at_second(session.end)
        opened = claimed(found, starts_at, (own_host(found, session.id),), ends_at=ends_at)
    work.stage(*store.move_seat(seat_id, opened.claim_id))
    return replace(opened, seat_id=seat_id)


def keep_held_seat(work: Work, found: SlotContext, held: Held, seat_id: UUID) -> Claimed:
    """Stage what turns a held seat into a booking's; the hosts of its session are locked."""
    work.stage(store.keep_seat(seat_id))
    if not held.hosts[0].was_chosen:
        return claimed(found, held.starts_at, held.hosts, seat_id=seat_id, ends_at=held.ends_at)
    work.stage(*store.join_hosts(held.hosts, seats=found.inputs.event_type.seats, expires_at=None))
    return claimed(found, held.starts_at, held.hosts, seat_id=seat_id, hold_id=held.claim_id, ends_at=held.ends_at)


async def leave(work: Work, hosts: Sequence[ClaimedHost], seat_id: UUID) -> OtherSeats:
    """Give back the seat of a booking in a session, whose hosts are locked, and return who else sits there.

    Nobody asks that of the session of one host: it is freed with its last seat, in the statement of the booking.
    """
    if not hosts[0].was_chosen:
        work.stage(*store.free_seat(seat_id))
        return OtherSeats()
    await store.free_seat_of_chosen(work.db, seat_id)
    return await vacate(work, hosts, seat_id)


async def vacate(work: Work, hosts: Sequence[ClaimedHost], seat_id: UUID) -> OtherSeats:
    """Keep the time of a session's hosts for those who are left, or free it if that is nobody."""
    others = await store.find_others(work.db, hosts[0].claim_id, seat_id, now=work.now)
    if not others.booked and others.held_until:
        await store.hold_until(work.db, hosts, others.held_until)
    elif not others.booked:
        await store.free(work.db, hosts, now=work.now)
    return others
