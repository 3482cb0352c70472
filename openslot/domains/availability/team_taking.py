"""How the time of a team's hosts is taken: read, judged, chosen, locked in order, and judged again if it has changed.

Hosts are chosen without their locks, so that others can go on meanwhile. The chosen are locked; if one of them has
changed in between, they are judged once more. If one was taken, the locks are given back, and the next are chosen.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.store import give_back, lock_for_try
from openslot.domains.availability import store, team_claim_store
from openslot.domains.availability.claims.store import expire_holds
from openslot.domains.availability.errors import InvalidStartTime, SlotUnavailable
from openslot.domains.availability.explain import explain_start
from openslot.domains.availability.models import (
    NO_START,
    ChosenHosts,
    Claimed,
    ClaimedHost,
    ClaimKind,
    Code,
    EventTypeRef,
    SlotContext,
)
from openslot.domains.availability.months import check_asked
from openslot.domains.availability.slots import is_askable, judge_free
from openslot.domains.availability.slots import judge as judge_start
from openslot.domains.availability.team_hosts import choose_hosts, give, list_free, name_hosts, pair, team_of
from openslot.domains.availability.team_store import reread_hosts
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.teams.choice import repeat
from openslot.domains.teams.ledger.operations import settle_credits
from openslot.platform.core.events import make_changes
from openslot.platform.core.work import Work


class _Lost(Exception):
    """Some of the chosen were taken before they were locked."""

    def __init__(self, hosts: Collection[UUID]) -> None:
        self.hosts = hosts


async def take(
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
    locking: Sequence[ClaimedHost] = (),
) -> list[Claimed]:
    """Choose free hosts and insert their claims for each start; who is lost on the way is left out of the next choice.

    A hold that is given up frees its hosts in the same step. Others whose session is left are locked with the chosen.
    """
    picks = {each.group.id: each.group.pick for each in team_of(found).groups}
    lost = set[UUID]()
    while True:
        chosen = choose_hosts(found, free, picks, without=lost)
        if chosen is None:
            raise SlotUnavailable
        meetings = [name_hosts(found, chosen) for _ in starts]
        wanted = team_claim_store.ClaimsWanted(
            starts=starts, meetings=meetings, kind=kind, expires_at=expires_at, holder=holder
        )
        try:
            await _insert_claims(work, found, wanted, given_up=given_up, without=without, locking=locking)
            break
        except (_Lost, SlotUnavailable) as fault:
            lost |= await _list_lost(work, fault, found, starts, meetings[0])
    counted = _repeat(chosen, len(starts))
    return [
        claimed(found, start, hosts, chosen=each) for start, hosts, each in zip(starts, meetings, counted, strict=True)
    ]


async def _insert_claims(
    work: Work,
    found: SlotContext,
    wanted: team_claim_store.ClaimsWanted,
    *,
    given_up: UUID | None,
    without: Sequence[ClaimedHost],
    locking: Sequence[ClaimedHost],
) -> None:
    """Lock the chosen and insert their claims: at once if nobody has changed, or else when they are judged again."""
    chosen = wanted.meetings[0]
    hosts, versions = (*chosen, *without, *locking), _list_versions(found, chosen)
    numbers = {each.host_no for each in hosts}
    if versions and await team_claim_store.claim_hosts(
        work.db, found.inputs, wanted, now=work.now, locking=numbers, versions=versions
    ):
        return
    async with _trying(work, hosts):
        await _judge_again(work, found, wanted.starts, chosen, without=without)
        if given_up is not None:
            await team_claim_store.drop_hold(work.db, given_up, now=work.now)
        if not await team_claim_store.claim_hosts(work.db, found.inputs, wanted, now=work.now):
            raise SlotUnavailable


def _repeat(chosen: tuple[ChosenHosts, ...], meetings: int) -> list[tuple[ChosenHosts, ...]]:
    """Count the same hosts for each of several meetings."""
    times = meetings - 1
    later = [
        [replace(each, asked=asked, choice=choice) for asked, choice in repeat(each.asked, each.choice, times=times)]
        for each in chosen
    ]
    return [chosen, *zip(*later, strict=True)]


async def rehost(
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
            async with _trying(work, (*judged, *hosts)):
                await _judge_again(work, found, [starts_at], judged, without=hosts)
                await make_changes(work.db, [team_claim_store.move_claims(found.inputs, starts_at, now)])
        except (_Lost, SlotUnavailable) as fault:
            gone = await _list_lost(work, fault, found, [starts_at], judged)
            if not gone.isdisjoint(staying):
                raise SlotUnavailable from None
            lost |= gone
            continue
        return claimed(found, starts_at, now, chosen=chosen, replaced=replaced)


@asynccontextmanager
async def _trying(work: Work, hosts: Iterable[ClaimedHost]) -> AsyncIterator[None]:
    """Lock hosts in order until the commit, or until somebody is lost: then all is undone, and the locks given back."""
    await lock_for_try(work.db, {each.host_no for each in hosts})
    try:
        yield
    except (_Lost, SlotUnavailable):
        await give_back(work.db)
        raise


def _list_versions(found: SlotContext, hosts: Sequence[ClaimedHost]) -> dict[int, int | None] | None:
    """List which versions of hosts were judged; None if there is more to do than to insert their claims."""
    team = team_of(found)
    if team.choice.changing or any(team.hosts[each.host_no].has_stale for each in hosts):
        return None
    return {each.host_no: team.choice.versions[each.host_no] for each in hosts}


async def _judge_again(
    work: Work,
    found: SlotContext,
    starts: Sequence[datetime],
    hosts: Sequence[ClaimedHost],
    *,
    without: Sequence[ClaimedHost] = (),
) -> None:
    """Judge hosts by what is there now that they are locked, with those whose claims are given up."""
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
            await expire_holds(work.db, no, now=work.now)


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


async def find(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    *,
    without: UUID | None = None,
    until: datetime | None = None,
    is_team: bool = True,
) -> SlotContext:
    """Read what decides about a start, or about all until another, for all of a team who could host it, or the host.

    `without` is the claim or seat that is being replaced: it does not count as busy. For a team, any claim of the
    booking or hold stands for all of them.
    """
    found = await store.find_setting(
        work.db,
        which,
        asked_from=starts_at,
        asked_until=until or starts_at + timedelta(seconds=1),
        now=work.now,
        without=without,
        is_team=is_team,
    )
    if found is None:
        raise EventTypeNotFound
    check_asked(which, found)
    return found


async def judge(
    work: Work, which: EventTypeRef, starts_at: datetime, *, field: str = "startTime", without: UUID | None = None
) -> tuple[SlotContext, set[int]]:
    """Read what decides about a start that may be booked, with a settled ledger, and list who is free then."""
    found = await find(work, which, starts_at, without=without)
    if team_of(found).choice.is_unsettled:
        await settle_credits(work, found.inputs.event_type.id)
        found = await find(work, which, starts_at, without=without)
    is_open, free = judge_free(found.inputs, starts_at) if is_askable(starts_at) else (False, set())
    # If enough are free, why the others are not does not matter.
    if not is_open and check_start(found, starts_at, field=field) is not Code.OPEN:
        raise SlotUnavailable
    return found, free


def check_start(found: SlotContext, starts_at: datetime, *, field: str) -> Code:
    """Judge a start, and refuse one that could never be asked for."""
    code = judge_start(found.inputs, starts_at)
    if code in NO_START:
        raise InvalidStartTime(field, explain_start(found.inputs, starts_at).reasons[0].sentence)
    return code


def claimed(
    found: SlotContext,
    starts_at: datetime,
    hosts: tuple[ClaimedHost, ...],
    *,
    chosen: tuple[ChosenHosts, ...] = (),
    replaced: Mapping[UUID, UUID] = {},
    hold_id: UUID | None = None,
    seat_id: UUID | None = None,
    ends_at: datetime | None = None,
) -> Claimed:
    return Claimed(
        claim_id=hosts[0].claim_id,
        seat_id=seat_id,
        event_type=found.inputs.event_type,
        starts_at=starts_at,
        ends_at=ends_at or starts_at + found.inputs.duration,
        link=found.link,
        hosts=hosts,
        chosen=chosen,
        replaced=replaced,
        hold_id=hold_id,
        found=found,
    )
