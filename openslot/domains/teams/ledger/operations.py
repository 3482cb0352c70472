"""The verbs of the ledger: choices of hosts are counted, given back and moved, and credits always sum up to 0.

All of them run under the lock of the event type. What was staged for it is written before another verb is called. What
is counted is a booking, or a group session, known by its claim, for all of its bookings.
"""

from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.teams.choice import spread
from openslot.domains.teams.errors import TeamEventTypeNotFound
from openslot.domains.teams.ledger import store
from openslot.domains.teams.ledger.store import ADD_CREDITS, MemberStanding
from openslot.domains.teams.models import (
    AssignmentReason,
    Balance,
    Candidate,
    ChoiceAsked,
    CreditReason,
    GroupMember,
    HostChoice,
    HostGroup,
    Replacement,
    TeamRules,
)
from openslot.domains.teams.store import find_rules, list_group_members, list_groups
from openslot.platform.core.errors import require
from openslot.platform.core.events import Change
from openslot.platform.core.work import Work


class LoadedGroup(Struct, frozen=True, kw_only=True):
    """A group of an event type, and who may be chosen from it."""

    group: HostGroup
    rules: TeamRules
    members: tuple[GroupMember, ...]
    candidates: tuple[Candidate, ...]


async def settle_credits(work: Work, event_type_id: UUID) -> None:
    """Give back what holds have counted that were not booked, and spread the credit of those who have left.

    It is the first step before hosts are chosen, and costs one statement if there is nothing to do.
    """
    holds, has_changed = await store.find_unsettled(work.db, event_type_id, now=work.now)
    if holds:
        await store.expire(work.db, holds, now=work.now)
        _, has_changed = await store.find_unsettled(work.db, event_type_id, now=work.now)
    if has_changed:
        groups: dict[UUID, list[MemberStanding]] = {}
        for each in await store.list_standings(work.db, event_type_id):
            groups.setdefault(each.group_id, []).append(each)
        for group_id, standings in groups.items():
            await _settle_group(work, group_id, standings)


async def give_hold_back(work: Work, hold_id: UUID) -> None:
    """Take back what a hold has counted whose hosts are chosen again; the next step is to settle."""
    await store.expire(work.db, [hold_id], now=work.now)


async def _settle_group(work: Work, group_id: UUID, standings: Sequence[MemberStanding]) -> None:
    """Begin to choose from who has joined, and divide what is not a member's among the members."""
    members = [
        Candidate(user_id=each.user_id, host_no=each.host_no, weight=each.weight, priority=0)
        for each in standings
        if each.host_no is not None and each.weight is not None
    ]
    joined = {
        each.user_id: work.now if each.weight else None
        for each in standings
        if bool(each.weight) != (each.joined_at is not None)
    }
    if joined:
        await store.join(work.db, group_id, joined)
    left = {each.user_id: -each.credit for each in standings if each.weight is None and each.credit}
    # What is missing belonged to an account that was deleted.
    spare = -sum(each.credit for each in standings if each.weight is not None)
    if spare and members:
        deltas = left | spread(spare, members)
        await store.add_credits(work.db, group_id, deltas, CreditReason.LEFT, now=work.now)


async def leave_groups(work: Work, team_id: UUID, user_id: UUID) -> None:
    """Spread what somebody who has left a team has in its groups; the event types of the team are locked."""
    for event_type_id in await store.list_event_types_of(work.db, team_id, user_id):
        await settle_credits(work, event_type_id)


def assign_hosts(
    work: Work,
    group: HostGroup,
    choice: HostChoice,
    asked: ChoiceAsked,
    reason: AssignmentReason,
    *,
    booking_id: UUID | None = None,
    hold_id: UUID | None = None,
) -> None:
    """Stage that hosts were chosen for a booking or a hold, with all that the choice was made of."""
    if any(isinstance(each, Change) and each.sql is ADD_CREDITS and each.args[0] == group.id for each in work.staged):
        raise RuntimeError("A choice of this group is staged already: one of the two would be lost.")
    work.stage(
        *store.insert_assignment(group, choice, asked, reason, booking_id=booking_id, hold_id=hold_id, now=work.now)
    )


def keep_counted_hold(work: Work, hold_id: UUID, booking_id: UUID) -> None:
    """Stage that a hold has become a booking: what it has counted stays."""
    work.stage(store.keep_hold(hold_id, booking_id))


async def hold_session_again(work: Work, session_id: UUID) -> None:
    """Let a session count no longer than somebody holds a seat in it: all who have booked it are gone."""
    await store.hold_again(work.db, session_id)


async def reverse_credits(work: Work, booking_id: UUID, reason: CreditReason) -> None:
    """Take back all that a booking has counted, exactly; once more changes nothing."""
    event_type_id = await store.reverse(work.db, booking_id, reason, now=work.now)
    if event_type_id is not None:
        await settle_credits(work, event_type_id)


async def restore_credits(work: Work, booking_id: UUID) -> None:
    """Count a booking again that was not counted because nobody came."""
    event_type_id = await store.restore(work.db, booking_id, now=work.now)
    if event_type_id is not None:
        await settle_credits(work, event_type_id)


async def move_assignment(work: Work, booking_id: UUID, *replaced: Replacement, reason: AssignmentReason) -> None:
    """Let other hosts have a booking and pay for it: those who are replaced in one group are one choice."""
    moved = set[UUID]()
    for each in replaced:
        asked = _write_replacement(each)
        event_type_id = await store.move(work.db, booking_id, each, reason=reason, asked=asked, now=work.now)
        moved |= {event_type_id} if event_type_id else set()
    # Only once all are written: what is settled in between would change credits that the next choice was made of.
    for event_type_id in moved:
        await settle_credits(work, event_type_id)


def _write_replacement(replaced: Replacement) -> ChoiceAsked:
    """Write what a choice of other hosts was made of; without `asked` somebody has named them."""
    named = ChoiceAsked(pick=len(replaced.hosts), balance=Balance.SHARE, candidates=(), is_named=True)
    return replace(replaced.asked or named, instead_of=tuple(replaced.hosts))


async def load_groups(work: Work, event_type_id: UUID) -> list[LoadedGroup]:
    """Read the groups of an event type with everybody who may be chosen, as if they were free."""
    rules = require(await find_rules(work.db, event_type_id), TeamEventTypeNotFound)
    members: dict[UUID, list[GroupMember]] = {}
    for each in await list_group_members(work.db, event_type_id):
        members.setdefault(each.group_id, []).append(each)
    groups = await list_groups(work.db, event_type_id)
    candidates = {group.id: [_to_candidate(each) for each in members.get(group.id, ())] for group in groups}
    counted = await store.count_served(work.db, candidates, rules=rules, now=work.now)
    return [
        LoadedGroup(group=group, rules=rules, members=tuple(members.get(group.id, ())), candidates=counted[group.id])
        for group in groups
    ]


def _to_candidate(member: GroupMember) -> Candidate:
    return Candidate(
        host_no=member.host_no,
        user_id=member.user_id,
        weight=member.weight,
        priority=member.priority,
        credit=member.credit,
        last_no=member.last_no,
    )
