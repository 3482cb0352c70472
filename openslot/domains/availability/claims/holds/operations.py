"""Holds that are booked, with the hosts that they have."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.store import lock_hosts
from openslot.domains.availability.claims.choosing import list_free
from openslot.domains.availability.claims.holds.store import (
    Held,
    find_hold,
    find_hold_of_chosen,
    insert_held,
)
from openslot.domains.availability.claims.sessions.operations import keep_held_seat
from openslot.domains.availability.claims.sessions.store import list_hosts
from openslot.domains.availability.claims.store import Locked, keep_claims
from openslot.domains.availability.claims.taking import claimed, find
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import Claimed, ClaimKind, Code, EventTypeRef, SlotContext
from openslot.domains.availability.slots import judge
from openslot.domains.event_types.models import EventType
from openslot.domains.teams.ledger.operations import assign_hosts, settle_credits
from openslot.domains.teams.models import AssignmentReason
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work

KindOf = Callable[[EventType], ClaimKind]


def count_hold(work: Work, held: Claimed) -> None:
    """Stage who was chosen for a hold, with their credit."""
    if held.chosen:
        work.stage(insert_held(held.hosts))
    for each in held.chosen:
        assign_hosts(work, each.group, each.choice, each.asked, AssignmentReason.HELD, hold_id=held.claim_id)


async def keep_hold(
    work: Work, which: EventTypeRef, starts_at: datetime, hold_id: UUID, locked: Locked, *, kind_of: KindOf
) -> Claimed | None:
    """Turn a hold into the claim, with the hosts and the credit that it has; None if it is not live.

    A time of its own is as long as it is wanted now, a seat as its session.
    """
    is_team = locked.is_team
    if is_team:
        await settle_credits(work, locked.event_type_id)
    held = await _find_locked(work, hold_id, is_team=is_team)
    if held is None:
        return None
    without = held.claim_id if is_team else held.seat_id or held.claim_id
    found = await find(work, which, starts_at, is_team=is_team, without=without)
    check_held(held, found.inputs.event_type.id, starts_at)
    if not _is_open(found, starts_at, held):
        raise SlotUnavailable
    if held.seat_id is not None:
        return keep_held_seat(work, found, held, held.seat_id)
    # What waits for an answer is booked for hosts who were chosen.
    kind = ClaimKind.BOOKING if is_team else kind_of(found.inputs.event_type)
    work.stage(*keep_claims(found.inputs, starts_at, held.hosts, kind=kind))
    return claimed(found, starts_at, held.hosts, hold_id=hold_id if is_team else None)


def check_held(held: Held, event_type_id: UUID, starts_at: datetime) -> None:
    """Refuse to book another time by a hold than its own."""
    if (held.event_type_id, held.starts_at) != (event_type_id, starts_at):
        raise Invalid(details={"holdId": "is for a different time"})


async def find_held(work: Work, hold_id: UUID, *, is_team: bool) -> Held | None:
    """Find a live hold, or a held seat with the hosts of its session."""
    if not is_team:
        return await find_hold(work.db, hold_id, now=work.now)
    held = await find_hold_of_chosen(work.db, hold_id, now=work.now)
    if held is not None:
        return held
    seat = await find_hold(work.db, hold_id, now=work.now)
    hosts = await list_hosts(work.db, seat.claim_id) if seat and seat.seat_id else ()
    return replace(seat, hosts=hosts) if seat and hosts else None


async def _find_locked(work: Work, hold_id: UUID, *, is_team: bool) -> Held | None:
    """Find a live hold whose hosts are locked: the one host is, and those who were chosen are now."""
    seen = await find_held(work, hold_id, is_team=is_team)
    if seen is None or not is_team:
        return seen
    await lock_hosts(work.db, [each.user_id for each in seen.hosts])
    # A hold that was dropped or has expired meanwhile holds nobody.
    return await find_held(work, hold_id, is_team=True)


def _is_open(found: SlotContext, starts_at: datetime, held: Held) -> bool:
    """Judge what is held without its own time; who else is free does not matter, its hosts were chosen before."""
    inputs = found.inputs
    if found.has_team:
        free = list_free(found, starts_at)
        is_open = judge(inputs, starts_at) in {Code.OPEN, Code.NO_HOSTS}
        return is_open and all(each.host_no in free for each in held.hosts)
    # A held seat is left to its holder, also where its event type has fewer seats by now.
    sessions = {
        start: replace(each, seats_left=max(each.seats_left, 1)) if each.id == held.claim_id else each
        for start, each in inputs.sessions.items()
    }
    return judge(replace(inputs, sessions=sessions), starts_at) is Code.OPEN
