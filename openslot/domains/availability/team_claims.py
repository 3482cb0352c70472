"""The verbs that take the time of a team's hosts: its event type is locked first, and the hosts in order."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.store import lock_hosts
from openslot.domains.availability import holds, shares, team_claim_store, team_session_store, team_sessions
from openslot.domains.availability.claims.store import has_only_seat
from openslot.domains.availability.errors import HoldNotFound, SlotUnavailable
from openslot.domains.availability.free_hosts import list_wanted
from openslot.domains.availability.groups import keep_most
from openslot.domains.availability.models import ById, Claimed, ClaimedHost, ClaimKind, Code, EventTypeRef, Hold, Weeks
from openslot.domains.availability.slots import is_askable, judge_hosts, repeat_weekly
from openslot.domains.availability.slots import judge as judge_start
from openslot.domains.availability.team_hosts import list_free, team_of
from openslot.domains.availability.team_taking import check_start, claimed, find, judge, rehost, take
from openslot.domains.event_types.rules import is_offered
from openslot.domains.teams.ledger.operations import assign_hosts, give_hold_back, settle_credits
from openslot.domains.teams.models import AssignmentReason
from openslot.platform.core.errors import Invalid
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import check_enabled

HOLD_LASTS = timedelta(minutes=10)


async def claim(
    work: Work, which: EventTypeRef, event_type_id: UUID, starts_at: datetime, *, hold_id: UUID | None = None
) -> Claimed:
    """Choose hosts for a slot and take their time, or that of the caller's own hold; the event type is locked."""
    if hold_id is not None:
        await settle_credits(work, event_type_id)
        kept = await _keep(work, which, starts_at, hold_id)
        if kept is not None:
            return kept
    return await team_sessions.sit_down(work, which, starts_at, await judge(work, which, starts_at))


async def judge_weeks(
    work: Work, which: EventTypeRef, event_type_id: UUID, starts_at: datetime, *, weeks: int, hold_id: UUID | None
) -> Weeks:
    """Find in which of several weeks the same hosts can be booked; the event type is locked.

    Hosts who were held are chosen again, as those of all weeks.
    """
    held = await team_claim_store.find_hold(work.db, hold_id, now=work.now) if hold_id else None
    if held is not None and (held.event_type_id, held.starts_at) != (event_type_id, starts_at):
        raise Invalid(details={"holdId": "is for a different time"})
    if held is not None and hold_id is not None:
        await give_hold_back(work, hold_id)
    await settle_credits(work, event_type_id)
    until = starts_at + timedelta(weeks=weeks) if is_askable(starts_at) else None
    found = await find(work, which, starts_at, until=until, without=hold_id if held else None)
    inputs = found.inputs
    check_start(found, starts_at, field="startTime")
    starts = repeat_weekly(starts_at, get_zone(inputs.calendar.zone), weeks)
    is_open, free = 0, dict.fromkeys(team_of(found).hosts, 0)
    for index, start in enumerate(starts):
        judged = judge_hosts(inputs, start)
        is_open |= (judge_start(inputs, start, judged=judged) is Code.OPEN) << index
        for no, code in judged.items():
            free[no] |= (code is Code.OPEN) << index
    kept = keep_most(list_wanted(team_of(found)), free, is_open)
    return Weeks(
        found=found,
        open=tuple(start for index, start in enumerate(starts) if kept >> index & 1),
        closed=tuple(start for index, start in enumerate(starts) if not kept >> index & 1),
        held_id=hold_id if held else None,
        held_hosts=held.hosts if held else (),
    )


async def take_weeks(work: Work, weeks: Weeks) -> list[Claimed]:
    """Choose hosts once, and take their time in all open weeks; what was held is given up for it."""
    free = list_free(weeks.found, *weeks.open)
    return await take(
        work, weeks.found, weeks.open, free, kind=ClaimKind.BOOKING, given_up=weeks.held_id, without=weeks.held_hosts
    )


async def hold(work: Work, which: ById, starts_at: datetime, *, holder: str) -> Hold:
    """Keep the time of some hosts, and their credit, for someone who is filling in a form."""
    found, free = await judge(work, which, starts_at)
    if not is_offered(found.inputs.event_type):
        raise SlotUnavailable
    await check_enabled(work, FlagKey.BOOKING_HOLDS, user_id=found.inputs.event_type.owner_id)
    await holds.check_again(work, found, starts_at, holder=holder)
    expires_at = work.now + HOLD_LASTS
    judged = found, free
    taken = await team_sessions.sit_down(work, which, starts_at, judged, expires_at=expires_at, holder=holder)
    if taken.chosen:
        work.stage(team_claim_store.insert_held(taken.hosts))
    for each in taken.chosen:
        assign_hosts(work, each.group, each.choice, each.asked, AssignmentReason.HELD, hold_id=taken.claim_id)
    await shares.spend_hold(work, taken)
    await work.apply()
    await shares.check(work, taken)
    return Hold(id=taken.own_id, expires_at=expires_at)


async def drop_hold(work: Work, hold_id: UUID) -> None:
    """Release the hosts of a hold, and give back their credit; the event type is locked."""
    held = await team_sessions.find_team_hold(work, hold_id)
    if held is None:
        raise HoldNotFound
    await lock_hosts(work.db, [each.user_id for each in held.hosts])
    drop = team_claim_store.drop_hold if held.seat_id is None else team_session_store.drop_seat
    if not await drop(work.db, hold_id, now=work.now):
        raise HoldNotFound
    if held.seat_id is not None:
        await team_sessions.vacate(work, held.hosts, held.seat_id)
    await settle_credits(work, held.event_type_id)


async def move(
    work: Work, which: EventTypeRef, starts_at: datetime, hosts: Sequence[ClaimedHost], *, seat_id: UUID | None = None
) -> Claimed:
    """Take another slot with the claims of a booking, whose event type is locked.

    The hosts stay who are free then; for the others somebody else is chosen, or the move is refused, as the team says.
    Who joins a session, or leaves others in one, gets other claims, those of the hosts of the new session.
    """
    without = seat_id or hosts[0].claim_id
    found = await find(work, which, starts_at, without=without)
    code = check_start(found, starts_at, field="newStartTime")
    sits_alone = seat_id is None or await has_only_seat(work.db, seat_id, now=work.now)
    if not sits_alone or team_sessions.find_session(found, starts_at) is not None:
        judged = await judge(work, which, starts_at, field="newStartTime", without=without)
        return await team_sessions.sit_down(work, which, starts_at, judged, without=without, leaving=hosts)
    if code not in {Code.OPEN, Code.NO_HOSTS}:
        raise SlotUnavailable
    free = list_free(found, starts_at)
    leaving = [each for each in hosts if each.host_no not in free]
    if leaving and not team_of(found).choice.rules.picks_anew:
        raise SlotUnavailable
    moved = await rehost(work, found, starts_at, hosts, leaving, is_moved=True)
    return replace(moved, seat_id=seat_id)


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
    found = await find(work, which, starts_at, without=hosts[0].claim_id)
    return await rehost(work, found, starts_at, hosts, [leaving], is_moved=False, named=named)


async def _keep(work: Work, which: EventTypeRef, starts_at: datetime, hold_id: UUID) -> Claimed | None:
    """Turn a hold into a booking's time, with the hosts and the credit that it has; None if it is not live."""
    seen = await team_sessions.find_team_hold(work, hold_id)
    if seen is None:
        return None
    await lock_hosts(work.db, [each.user_id for each in seen.hosts])
    # A hold that was dropped or has expired meanwhile holds nobody.
    held = await team_sessions.find_team_hold(work, hold_id)
    if held is None:
        return None
    found = await find(work, which, starts_at, without=held.hosts[0].claim_id)
    if (held.event_type_id, held.starts_at) != (found.inputs.event_type.id, starts_at):
        raise Invalid(details={"holdId": "is for a different time"})
    free = list_free(found, starts_at)
    # Whoever else is free does not matter: its hosts were chosen when it was held.
    is_open = judge_start(found.inputs, starts_at) in {Code.OPEN, Code.NO_HOSTS}
    if not is_open or any(each.host_no not in free for each in held.hosts):
        raise SlotUnavailable
    if held.seat_id is not None:
        return team_sessions.keep_team_seat(work, found, held)
    work.stage(*team_claim_store.keep_claims(held.hosts, found.inputs, starts_at))
    return claimed(found, starts_at, held.hosts, hold_id=hold_id)
