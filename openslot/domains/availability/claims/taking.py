"""How the time of hosts is taken: read, judged, chosen, locked in order, and judged again if it has changed.

The one host of an own event type is locked before it is read: what takes their time is staged for the one statement of
the booking. Others are chosen without their locks, so that others can go on meanwhile. The chosen are locked; if one of
them has changed in between, they are judged once more. If one was taken, the locks are given back, and the next are
chosen.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability.claims import store
from openslot.domains.availability.claims.choosing import choose_hosts, name_hosts
from openslot.domains.availability.claims.expiry.store import expire_holds
from openslot.domains.availability.claims.holds.store import drop_hold_of_chosen
from openslot.domains.availability.claims.store import ClaimsWanted
from openslot.domains.availability.claims.tries import Lost, judge_again, list_lost, list_versions, trying
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
    GroupSession,
    SlotContext,
    SlotInputs,
)
from openslot.domains.availability.months import check_asked
from openslot.domains.availability.slots import is_askable, judge_free
from openslot.domains.availability.slots import judge as judge_start
from openslot.domains.availability.store import find_setting
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.teams.choice import repeat
from openslot.domains.teams.ledger.operations import settle_credits
from openslot.domains.teams.models import HostRole
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import floor_second
from openslot.platform.core.work import Work


class JudgedStart(NamedTuple):
    """What decided about a start, and the numbers of the hosts who are free then."""

    found: SlotContext
    free: set[int]


async def find(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    *,
    is_team: bool,
    without: UUID | None = None,
    until: datetime | None = None,
) -> SlotContext:
    """Read what decides about a start, or about all until another, for all who could host it.

    `without` is the claim or seat that is being replaced: it does not count as busy. For a team, any claim of the
    booking or hold stands for all of them.
    """
    found = await find_setting(
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
    if is_team:
        return found
    # A request that began before the host left, and had to wait, would escape the cancellation of the host's bookings.
    if found.host_left_at is not None and found.host_left_at > work.now:
        raise SlotUnavailable
    if found.has_stale:
        await expire_holds(work.db, found.host_no, now=work.now)
    return found


async def judge(
    work: Work,
    which: EventTypeRef,
    starts_at: datetime,
    *,
    is_team: bool,
    field: str = "startTime",
    without: UUID | None = None,
    asked_at: datetime | None = None,
) -> JudgedStart:
    """Read what decides about a start that may be booked, with a settled ledger, and list who is free then.

    The notice counts from `asked_at`, or from now.
    """
    found = await find(work, which, starts_at, is_team=is_team, without=without)
    if found.inputs.choice.is_unsettled:
        await settle_credits(work, found.inputs.event_type.id)
        found = await find(work, which, starts_at, is_team=is_team, without=without)
    inputs = replace(found.inputs, now=asked_at) if asked_at else found.inputs
    is_open, free = judge_free(inputs, starts_at) if is_askable(starts_at) else (False, set())
    # If enough are free, why the others are not does not matter.
    if not is_open and check_start(inputs, starts_at, field=field) is not Code.OPEN:
        raise SlotUnavailable
    return JudgedStart(found, free)


def check_start(inputs: SlotInputs, starts_at: datetime, *, field: str) -> Code:
    """Judge a start, and refuse one that could never be asked for."""
    code = judge_start(inputs, starts_at)
    if code in NO_START:
        raise InvalidStartTime(field, explain_start(inputs, starts_at).reasons[0].sentence)
    return code


def find_session(found: SlotContext, starts_at: datetime) -> GroupSession | None:
    return found.inputs.sessions.get(floor_second(starts_at))


async def take(
    work: Work,
    found: SlotContext,
    starts: Sequence[datetime],
    free: Collection[int],
    *,
    kind: ClaimKind,
    expires_at: datetime | None = None,
    holder: str | None = None,
    held: Sequence[ClaimedHost] = (),
    locking: Sequence[ClaimedHost] = (),
) -> list[Claimed]:
    """Take the time of free hosts for each start; who is lost on the way is left out of the next choice.

    A hold of one host becomes the claim of the first start; one of chosen hosts is given up, and frees them in the same
    step. Others whose session is left are locked with the chosen.
    """
    if not found.has_team:
        return take_own(work, found, starts, kind=kind, expires_at=expires_at, holder=holder, held=held)
    picks = {each.group.id: each.group.pick for each in found.inputs.groups}
    # What waits for an answer is booked for them.
    kind = ClaimKind.HOLD if expires_at else ClaimKind.BOOKING
    lost = set[UUID]()
    while True:
        chosen = choose_hosts(found, free, picks, without=lost)
        if chosen is None:
            raise SlotUnavailable
        meetings = [name_hosts(found, chosen) for _ in starts]
        wanted = ClaimsWanted(starts=starts, meetings=meetings, kind=kind, expires_at=expires_at, holder=holder)
        try:
            await _insert_claims(work, found, wanted, held=held, locking=locking)
            break
        except (Lost, SlotUnavailable) as fault:
            lost |= await list_lost(work, fault, found, starts, meetings[0])
    counted = _repeat(chosen, len(starts))
    return [
        claimed(found, start, hosts, chosen=each) for start, hosts, each in zip(starts, meetings, counted, strict=True)
    ]


def take_own(
    work: Work,
    found: SlotContext,
    starts: Sequence[datetime],
    *,
    kind: ClaimKind,
    expires_at: datetime | None = None,
    holder: str | None = None,
    held: Sequence[ClaimedHost] = (),
) -> list[Claimed]:
    """Stage what takes the time of the one host, who is locked; a session is freed with its last seat instead."""
    fresh, taken = list(starts), list[Claimed]()
    if held:
        first = fresh.pop(0)
        work.stage(*store.keep_claims(found.inputs, first, held, kind=kind))
        taken.append(claimed(found, first, tuple(held)))
    if fresh:
        meetings = [(own_host(found, new_id()),) for _ in fresh]
        of_session = found.inputs.event_type.seats > 1
        wanted = ClaimsWanted(
            starts=fresh,
            meetings=meetings,
            kind=ClaimKind.SESSION if of_session else kind,
            expires_at=None if of_session else expires_at,
            holder=holder,
        )
        work.stage(store.insert_claims(found.inputs, wanted, now=work.now))
        taken += [claimed(found, start, hosts) for start, hosts in zip(fresh, meetings, strict=True)]
    return taken


def own_host(found: SlotContext, claim_id: UUID) -> ClaimedHost:
    """Name the owner of an event type, who hosts it and was not chosen."""
    return ClaimedHost(
        user_id=found.inputs.event_type.owner_id,
        host_no=found.host_no,
        name=found.host_name,
        claim_id=claim_id,
        group_id=None,
        role=HostRole.ORGANIZER,
    )


async def _insert_claims(
    work: Work,
    found: SlotContext,
    wanted: ClaimsWanted,
    *,
    held: Sequence[ClaimedHost],
    locking: Sequence[ClaimedHost],
) -> None:
    """Lock the chosen and insert their claims: at once if nobody has changed, or else when they are judged again."""
    chosen = wanted.meetings[0]
    hosts, versions = (*chosen, *held, *locking), list_versions(found, chosen)
    numbers = {each.host_no for each in hosts}
    if versions and await store.claim_hosts(
        work.db, found.inputs, wanted, now=work.now, locking=numbers, versions=versions
    ):
        return
    async with trying(work, hosts):
        await judge_again(work, found, wanted.starts, chosen, without=held)
        if held:
            await drop_hold_of_chosen(work.db, held[0].claim_id, now=work.now)
        if not await store.claim_hosts(work.db, found.inputs, wanted, now=work.now):
            raise SlotUnavailable


def _repeat(chosen: tuple[ChosenHosts, ...], meetings: int) -> list[tuple[ChosenHosts, ...]]:
    """Count the same hosts for each of several meetings."""
    times = meetings - 1
    later = [
        [replace(each, asked=asked, choice=choice) for asked, choice in repeat(each.asked, each.choice, times=times)]
        for each in chosen
    ]
    return [chosen, *zip(*later, strict=True)]


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
