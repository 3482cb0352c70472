"""Who of a team's groups hosts a meeting: the free ones, the chosen of each group, and those who take a place."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability.groups import HostsWanted, fill
from openslot.domains.availability.models import ChosenHosts, ClaimedHost, SlotContext
from openslot.domains.availability.slots import list_free_hosts
from openslot.domains.teams.choice import choose
from openslot.domains.teams.models import Candidate, ChoiceAsked, HostChoice, HostRole
from openslot.platform.core.ids import new_id


def choose_hosts(
    found: SlotContext,
    free: Collection[int],
    picks: Mapping[UUID, int],
    *,
    without: Collection[UUID],
    named: UUID | None = None,
) -> tuple[ChosenHosts, ...] | None:
    """Choose so many hosts of each group among the free ones, each host for one; None if they are too few."""
    rules = found.inputs.choice.rules
    groups = [each for each in found.inputs.groups if each.group.id in picks]
    if len(groups) < len(picks):
        return None
    made: dict[int, ChosenHosts] = {}

    def pick(index: int, allowed: frozenset[int]) -> Sequence[int] | None:
        group = groups[index].group
        candidates = tuple(replace(each, is_free=each.host_no in allowed) for each in groups[index].candidates)
        choice = _name(candidates, named) if named else choose(candidates, pick=picks[group.id], rules=rules)
        if choice is None:
            return None
        asked = ChoiceAsked(
            pick=picks[group.id],
            balance=rules.balance,
            max_lead=rules.max_lead,
            candidates=candidates,
            is_named=named is not None,
        )
        made[index] = ChosenHosts(group=group, choice=choice, asked=asked)
        numbers = {each.user_id: each.host_no for each in candidates}
        return [numbers[user_id] for user_id in choice.chosen]

    wanted = [
        HostsWanted(
            picks[each.group.id],
            frozenset(c.host_no for c in each.candidates if c.host_no in free and c.user_id not in without),
        )
        for each in groups
    ]
    return tuple(made[index] for index in range(len(groups))) if fill(wanted, pick) is not None else None


def _name(candidates: Sequence[Candidate], named: UUID) -> HostChoice | None:
    """Choose who is named, whoever would be next, if they are free."""
    is_free = any(each.user_id == named and each.is_free for each in candidates)
    return HostChoice(chosen=(named,), eligible=(named,), deltas={}, price=0) if is_free else None


def pair(leaving: Sequence[ClaimedHost], chosen: Sequence[ChosenHosts]) -> dict[UUID, UUID]:
    """Give each host who leaves somebody of the same group."""
    new = {each.group.id: list(each.choice.chosen) for each in chosen}
    return {each.user_id: new[each.group_id].pop(0) for each in leaving if each.group_id is not None}


def name_hosts(found: SlotContext, chosen: Sequence[ChosenHosts]) -> tuple[ClaimedHost, ...]:
    """Name the chosen in the order of the groups; the first of them is the organizer."""
    hosts: list[ClaimedHost] = []
    for group in chosen:
        numbers = {each.user_id: each.host_no for each in group.asked.candidates}
        for user_id in group.choice.chosen:
            hosts.append(
                ClaimedHost(
                    user_id=user_id,
                    host_no=numbers[user_id],
                    name=_name_of(found, numbers[user_id]),
                    claim_id=new_id(),
                    group_id=group.group.id,
                    role=HostRole.HOST if hosts else HostRole.ORGANIZER,
                )
            )
    return tuple(hosts)


def give(found: SlotContext, leaving: ClaimedHost, to: Candidate) -> ClaimedHost:
    """Give the claim and the role of a host to another one."""
    return replace(leaving, user_id=to.user_id, host_no=to.host_no, name=_name_of(found, to.host_no))


def _name_of(found: SlotContext, host_no: int) -> str:
    return found.inputs.hosts[host_no].name


def list_free(found: SlotContext, *starts: datetime) -> set[int]:
    """List who is free at all of some starts."""
    return set.intersection(*(list_free_hosts(found.inputs, each) for each in starts))
