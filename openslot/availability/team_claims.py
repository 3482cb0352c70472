"""The verbs that take the time of a team's hosts: its event type is locked, hosts are chosen, and then locked in order.

Hosts are chosen without their locks, so that others can go on meanwhile. The chosen are locked and judged once more; if
one of them was taken in between, the locks are given back, and the next ones are chosen.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.accounts.store import lock_hosts
from openslot.availability import claim_store, holds, store, team_claim_store
from openslot.availability.errors import HoldNotFound, InvalidStartTime, SlotUnavailable
from openslot.availability.explain import explain_start
from openslot.availability.models import (
    NO_START,
    ById,
    ChosenHosts,
    Claimed,
    ClaimedHost,
    ClaimKind,
    Code,
    EventTypeRef,
    Hold,
    SlotContext,
    Weeks,
)
from openslot.availability.months import check_asked
from openslot.availability.slots import is_askable, repeat_weekly
from openslot.availability.team_groups import keep_most
from openslot.availability.team_hosts import choose_hosts, give, list_free, name_hosts, pair, team_of
from openslot.availability.team_slots import judge_hosts, judge_team, list_wanted
from openslot.availability.team_store import reread_hosts
from openslot.core.errors import Invalid
from openslot.core.events import make_changes
from openslot.core.times import get_zone
from openslot.core.work import Work
from openslot.event_types.errors import EventTypeNotFound
from openslot.event_types.rules import is_offered
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.teams import ledger
from openslot.teams.choice import repeat
from openslot.teams.models import AssignmentReason

HOLD_LASTS = timedelta(minutes=10)


class _Lost(Exception):
    """Some of the chosen were taken before they were locked."""

    def __init__(self, hosts: Collection[UUID]) -> None:
        self.hosts = hosts


async def claim(
    work: Work, which: EventTypeRef, event_type_id: UUID, starts_at: datetime, *, hold_id: UUID | None = None
) -> Claimed:
    """Choose hosts for a slot and take their time, or that of the caller's own hold; the event type is locked."""
    if hold_id is not None:
        await ledger.settle(work, event_type_id)
        kept = await _keep(work, which, starts_at, hold_id)
        if kept is not None:
            return kept
    found, free = await _judge(work, which, starts_at)
    (taken,) = await _take(work, found, [starts_at], free, kind=ClaimKind.BOOKING)
    return taken


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
        await ledger.give_back(work, hold_id)
    await ledger.settle(work, event_type_id)
    until = starts_at + timedelta(weeks=weeks) if is_askable(starts_at) else None
    found = await _find(work, which, starts_at, until=until, without=held.hosts if held else ())
    inputs = found.inputs
    _check_start(found, starts_at, field="startTime")
    starts = repeat_weekly(starts_at, get_zone(inputs.schedule.zone), weeks)
    is_open, free = 0, dict.fromkeys(team_of(found).hosts, 0)
    for place, start in enumerate(starts):
        judged = judge_hosts(inputs, start)
        is_open |= (judge_team(inputs, start, judged=judged) is Code.OPEN) << place
        for no, code in judged.items():
            free[no] |= (code is Code.OPEN) << place
    kept = keep_most(list_wanted(team_of(found)), free, is_open)
    return Weeks(
        found=found,
        open=tuple(start for place, start in enumerate(starts) if kept >> place & 1),
        closed=tuple(start for place, start in enumerate(starts) if not kept >> place & 1),
        held_id=hold_id if held else None,
        held_hosts=held.hosts if held else (),
    )


async def take_weeks(work: Work, weeks: Weeks) -> list[Claimed]:
    """Choose hosts once, and take their time in all open weeks; what was held is given up for it."""
    free = list_free(weeks.found, *weeks.open)
    return await _take(
        work, weeks.found, weeks.open, free, kind=ClaimKind.BOOKING, given_up=weeks.held_id, without=weeks.held_hosts
    )


async def hold(work: Work, which: ById, starts_at: datetime, *, holder: str) -> Hold:
    """Keep the time of some hosts, and their credit, for someone who is filling in a form."""
    found, free = await _judge(work, which, starts_at)
    if not is_offered(found.inputs.event_type):
        raise SlotUnavailable
    await flags.check_enabled(work, FlagKey.BOOKING_HOLDS, user_id=found.inputs.event_type.owner_id)
    await holds.check_again(work, found, starts_at, holder=holder)
    held = await holds.check_limits(work, found, starts_at)
    expires_at = work.now + HOLD_LASTS
    (taken,) = await _take(work, found, [starts_at], free, kind=ClaimKind.HOLD, expires_at=expires_at, holder=holder)
    work.stage(team_claim_store.insert_held(taken.hosts))
    for each in taken.chosen:
        ledger.assign(work, each.group, each.choice, each.asked, AssignmentReason.HELD, hold_id=taken.claim_id)
    await work.apply()
    if len(held) >= holds.ALWAYS:
        day, first, until = holds.day_of(found.inputs, starts_at)
        holds.check_team_share(work, (await _find(work, which, first, until=until)).inputs, day, held)
    return Hold(id=taken.claim_id, expires_at=expires_at)


async def drop_hold(work: Work, hold_id: UUID) -> None:
    """Release the hosts of a hold, and give back their credit; the event type is locked."""
    held = await team_claim_store.find_hold(work.db, hold_id, now=work.now)
    if held is None:
        raise HoldNotFound
    await lock_hosts(work.db, [each.user_id for each in held.hosts])
    if not await team_claim_store.drop_hold(work.db, hold_id, now=work.now):
        raise HoldNotFound
    await ledger.settle(work, held.event_type_id)


async def move(work: Work, which: EventTypeRef, starts_at: datetime, hosts: Sequence[ClaimedHost]) -> Claimed:
    """Take another slot with the claims of a booking, whose event type is locked.

    The hosts stay who are free then; for the others somebody else is chosen, or the move is refused, as the team says.
    """
    found = await _find(work, which, starts_at, without=hosts)
    code = _check_start(found, starts_at, field="newStartTime")
    if code not in {Code.OPEN, Code.NO_HOSTS}:
        raise SlotUnavailable
    free = list_free(found, starts_at)
    leaving = [each for each in hosts if each.host_no not in free]
    if leaving and not team_of(found).rules.picks_anew:
        raise SlotUnavailable
    return await _rehost(work, found, starts_at, hosts, leaving, is_moved=True)


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
    found = await _find(work, which, starts_at, without=hosts)
    return await _rehost(work, found, starts_at, hosts, [leaving], is_moved=False, named=named)


async def _keep(work: Work, which: EventTypeRef, starts_at: datetime, hold_id: UUID) -> Claimed | None:
    """Turn a hold into a booking's time, with the hosts and the credit that it has; None if it is not live."""
    seen = await team_claim_store.find_hold(work.db, hold_id, now=work.now)
    if seen is None:
        return None
    await lock_hosts(work.db, [each.user_id for each in seen.hosts])
    # A hold that was dropped or has expired meanwhile holds nobody.
    held = await team_claim_store.find_hold(work.db, hold_id, now=work.now)
    if held is None:
        return None
    found = await _find(work, which, starts_at, without=held.hosts)
    if (held.event_type_id, held.starts_at) != (found.inputs.event_type.id, starts_at):
        raise Invalid(details={"holdId": "is for a different time"})
    free = list_free(found, starts_at)
    # Whoever else is free does not matter: its hosts were chosen when it was held.
    is_open = judge_team(found.inputs, starts_at) in {Code.OPEN, Code.NO_HOSTS}
    if not is_open or any(each.host_no not in free for each in held.hosts):
        raise SlotUnavailable
    work.stage(*team_claim_store.keep_claims(held.hosts, found.inputs, starts_at))
    return _claimed(found, starts_at, held.hosts, hold_id=hold_id)


async def _take(
    work: Work,
    found: SlotContext,
    starts: Sequence[datetime],
    free: Collection[int],
    *,
    kind: ClaimKind,
    expires_at: datetime | None = None,
    holder: str | None = None,
    given_up: UUID | None = None,
    without: Sequence[ClaimedHost] = (),
) -> list[Claimed]:
    """Choose free hosts and insert their claims for each start; who is lost on the way is left out of the next choice.

    A hold that is given up frees its hosts in the same step.
    """
    picks = {each.group.id: each.group.pick for each in team_of(found).groups}
    lost = set[UUID]()
    while True:
        chosen = choose_hosts(found, free, picks, without=lost)
        if chosen is None:
            raise SlotUnavailable
        meetings = [name_hosts(found, chosen) for _ in starts]
        try:
            async with work.attempt():
                await _lock_and_judge(work, found, starts, meetings[0], without=without)
                if given_up is not None:
                    await team_claim_store.drop_hold(work.db, given_up, now=work.now)
                taken = team_claim_store.insert_claims(
                    found.inputs, starts, meetings, kind=kind, expires_at=expires_at, holder=holder, now=work.now
                )
                await make_changes(work.db, [taken])
        except (_Lost, SlotUnavailable) as fault:
            lost |= await _list_lost(work, fault, found, starts, meetings[0])
            continue
        counted = _repeat(chosen, len(starts))
        return [
            _claimed(found, start, hosts, chosen=each)
            for start, hosts, each in zip(starts, meetings, counted, strict=True)
        ]


def _repeat(chosen: tuple[ChosenHosts, ...], meetings: int) -> list[tuple[ChosenHosts, ...]]:
    """Count the same hosts for each of several meetings."""
    times = meetings - 1
    later = [
        [replace(each, asked=asked, choice=choice) for asked, choice in repeat(each.asked, each.choice, times=times)]
        for each in chosen
    ]
    return [chosen, *zip(*later, strict=True)]


async def _rehost(
    work: Work,
    found: SlotContext,
    starts_at: datetime,
    hosts: Sequence[ClaimedHost],
    leaving: Sequence[ClaimedHost],
    *,
    is_moved: bool,
    named: UUID | None = None,
) -> Claimed:
    """Move the claims of a booking to a time, and those of hosts who can't or shall not host it to others.

    Hosts who stay are judged only if the booking moves.
    """
    staying = {each.user_id for each in hosts if each not in leaving}
    picks: dict[UUID, int] = {}
    for each in leaving:
        if each.group_id is None:
            raise SlotUnavailable
        picks[each.group_id] = picks.get(each.group_id, 0) + 1
    free, lost = list_free(found, starts_at), {each.user_id for each in hosts}
    while True:
        chosen = choose_hosts(found, free, picks, without=lost, named=named)
        if chosen is None:
            raise SlotUnavailable
        replaced = pair(leaving, chosen)
        new = {each.user_id: each for group in chosen for each in group.asked.candidates}
        now = tuple(give(found, each, new[replaced[each.user_id]]) if each in leaving else each for each in hosts)
        judged = now if is_moved else [each for each in now if each.user_id not in staying]
        try:
            async with work.attempt():
                await _lock_and_judge(work, found, [starts_at], judged, without=hosts)
                await make_changes(work.db, [team_claim_store.move_claims(found.inputs, starts_at, now)])
        except (_Lost, SlotUnavailable) as fault:
            gone = await _list_lost(work, fault, found, [starts_at], judged)
            if not gone.isdisjoint(staying):
                raise SlotUnavailable from None
            lost |= gone
            continue
        return _claimed(found, starts_at, now, chosen=chosen, replaced=replaced)


async def _lock_and_judge(
    work: Work,
    found: SlotContext,
    starts: Sequence[datetime],
    hosts: Sequence[ClaimedHost],
    *,
    without: Sequence[ClaimedHost] = (),
) -> None:
    """Lock hosts in order, with those whose claims are given up, and judge them again by what is there now."""
    await lock_hosts(work.db, {each.user_id for each in (*hosts, *without)})
    numbers, changing = [each.host_no for each in hosts], [each.claim_id for each in without]
    again = await reread_hosts(work.db, found, numbers, starts=starts, changing=changing)
    free = list_free(again, *starts)
    # A request that began before a host left, and had to wait, would escape the release of the host's bookings.
    gone = {no for no, host in team_of(again).hosts.items() if host.left_at is not None and host.left_at > work.now}
    lost = [each.user_id for each in hosts if each.host_no not in free or each.host_no in gone]
    if lost:
        raise _Lost(lost)
    for no, host in team_of(again).hosts.items():
        if host.has_stale:
            await claim_store.expire(work.db, no, now=work.now)


async def _list_lost(
    work: Work,
    fault: _Lost | SlotUnavailable,
    found: SlotContext,
    starts: Sequence[datetime],
    hosts: Sequence[ClaimedHost],
) -> set[UUID]:
    """List whom a try has lost; what the constraint refused was taken by somebody who has not asked for the lock."""
    if isinstance(fault, _Lost):
        return set(fault.hosts)
    user_ids = [each.user_id for each in hosts]
    return await team_claim_store.list_taken(work.db, user_ids, found.inputs, starts) or set(user_ids)


async def _find(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    *,
    without: Sequence[ClaimedHost] = (),
    until: datetime | None = None,
) -> SlotContext:
    """Read what decides about a start, or about all until another, for all who could host it."""
    found = await store.find_setting(
        work.db,
        which,
        asked_from=starts_at,
        asked_until=until or starts_at + timedelta(seconds=1),
        now=work.now,
        without=without[0].claim_id if without else None,
    )
    if found is None:
        raise EventTypeNotFound
    check_asked(which, found)
    return found


async def _judge(work: Work, which: EventTypeRef, starts_at: datetime) -> tuple[SlotContext, set[int]]:
    """Read what decides about a start that may be booked, with a settled ledger, and list who is free then."""
    found = await _find(work, which, starts_at)
    if team_of(found).is_unsettled:
        await ledger.settle(work, found.inputs.event_type.id)
        found = await _find(work, which, starts_at)
    judged = judge_hosts(found.inputs, starts_at) if is_askable(starts_at) else {}
    if _check_start(found, starts_at, field="startTime", judged=judged) is not Code.OPEN:
        raise SlotUnavailable
    return found, {no for no, code in judged.items() if code is Code.OPEN}


def _check_start(
    found: SlotContext, starts_at: datetime, *, field: str, judged: Mapping[int, Code] | None = None
) -> Code:
    """Judge a start, and refuse one that could never be asked for; its hosts may be judged before."""
    code = judge_team(found.inputs, starts_at, judged=judged)
    if code in NO_START:
        raise InvalidStartTime(field, explain_start(found.inputs, starts_at).reasons[0].sentence)
    return code


def _claimed(
    found: SlotContext,
    starts_at: datetime,
    hosts: tuple[ClaimedHost, ...],
    *,
    chosen: tuple[ChosenHosts, ...] = (),
    replaced: Mapping[UUID, UUID] = {},
    hold_id: UUID | None = None,
) -> Claimed:
    return Claimed(
        claim_id=hosts[0].claim_id,
        seat_id=None,
        event_type=found.inputs.event_type,
        starts_at=starts_at,
        ends_at=starts_at + found.inputs.duration,
        link=found.link,
        hosts=hosts,
        chosen=chosen,
        replaced=replaced,
        hold_id=hold_id,
    )
