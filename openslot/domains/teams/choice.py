"""The choice of hosts: fair, in integers, and the same whenever it is made again (Fagin and Williams' carpool rule).

Each member of a group has a credit: by how much they are behind their share, in millionths of a booking. All who could
have been chosen for a booking earn their share of it, by weight, and who is chosen pays for it: credits sum up to 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.teams.models import (
    Balance,
    Candidate,
    ChoiceAsked,
    ChoiceRule,
    HostChoice,
    HostStanding,
    HostVerdict,
    TeamRules,
)

BOOKING = 1_000_000


def choose(
    candidates: Sequence[Candidate], *, pick: int, rules: TeamRules, kept: Sequence[UUID] = ()
) -> HostChoice | None:
    """Choose as many hosts as are to be picked among those who are free; None if they are too few.

    Members of the highest priority are chosen first. If they are too few they all host, which changes nobody's credit,
    and the others are chosen from the next priority. Hosts who are kept were chosen among the same before: nobody is
    chosen anew, and it counts as if they were.
    """
    # How far they are ahead was judged before.
    able = [each for each in candidates if each.weight > 0] if kept else list_eligible(candidates, rules=rules)
    free = [each for each in able if each.is_free]
    if len(free) < pick:
        return None
    chosen: list[UUID] = []
    eligible: list[UUID] = []
    deltas: dict[UUID, int] = {}
    price = 0
    for members in _by_priority(free):
        left = pick - len(chosen)
        if not left:
            break
        earned, price = share(members, pick=left) if rules.balance is Balance.SHARE else ({}, 0)
        ranked = _rank(members, earned, rules)
        winners = [each for each in kept if each in ranked] if kept else ranked[:left]
        chosen += winners
        eligible += [each.user_id for each in members]
        deltas |= {user_id: part - (price if user_id in winners else 0) for user_id, part in earned.items()}
    return HostChoice(chosen=tuple(chosen), eligible=tuple(eligible), deltas=deltas, price=price)


def choose_again(asked: ChoiceAsked) -> HostChoice | None:
    return choose(asked.candidates, pick=asked.pick, rules=_rules_of(asked), kept=asked.kept)


def repeat(asked: ChoiceAsked, choice: HostChoice, *, times: int) -> list[tuple[ChoiceAsked, HostChoice]]:
    """Let the chosen host so many more bookings, as a series has: each counts, one after the other."""
    repeated: list[tuple[ChoiceAsked, HostChoice]] = []
    for _ in range(times):
        candidates = tuple(
            replace(each, credit=each.credit + choice.deltas.get(each.user_id, 0)) for each in asked.candidates
        )
        asked = replace(asked, candidates=candidates, kept=choice.chosen)
        again = choose_again(asked)
        if again is None:
            raise RuntimeError("Those who were chosen before are not free any more.")
        choice = again
        repeated.append((asked, choice))
    return repeated


def list_eligible(candidates: Iterable[Candidate], *, rules: TeamRules) -> list[Candidate]:
    """List who may be chosen at all, whether they are free or not: listing and booking ask the same."""
    members = [each for each in candidates if each.weight > 0]
    if rules.balance is Balance.SHARE or rules.max_lead is None:
        return members
    levels = _levels(members)
    return [each for each in members if _lead(each, levels) <= rules.max_lead]


def share(members: Sequence[Candidate], *, pick: int) -> tuple[dict[UUID, int], int]:
    """Return what each of these members earns by one booking, and what each of the chosen pays.

    A share is by weight, and at most a whole booking: what would be more is spread over the others. The sum of what is
    earned is exactly that of what is paid.
    """
    if len(members) <= pick:
        return {each.user_id: BOOKING for each in members}, BOOKING
    whole: list[UUID] = []
    rest = members
    while True:
        weight = sum(each.weight for each in rest)
        parts = {each.user_id: BOOKING * each.weight // weight for each in rest}
        price = sum(parts.values())
        left = pick - len(whole)
        capped = [user_id for user_id, part in parts.items() if left * part >= price]
        if not capped:
            return {**dict.fromkeys(whole, price), **{user_id: left * part for user_id, part in parts.items()}}, price
        whole += capped
        rest = [each for each in rest if each.user_id not in capped]


def spread(credit: int, members: Sequence[Candidate]) -> dict[UUID, int]:
    """Divide the credit of those who have left among the others by weight, to the last millionth."""
    weights = {each.user_id: each.weight for each in sorted(members, key=lambda each: each.host_no)}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1)
    total = sum(weights.values())
    parts = {user_id: abs(credit) * weight // total for user_id, weight in weights.items()}
    missing = abs(credit) - sum(parts.values())
    for user_id in [user_id for user_id, weight in weights.items() if weight][:missing]:
        parts[user_id] += 1
    return {user_id: part if credit > 0 else -part for user_id, part in parts.items() if part}


class HostHistory(NamedTuple):
    """When a member has joined, and how many bookings they had: both by how many had joined a group before."""

    joined: int
    served: dict[int, int]


def count_from_level(
    members: Sequence[Candidate], histories: Mapping[UUID, HostHistory | None]
) -> tuple[Candidate, ...]:
    """Complete members by the bookings that count with the balance `total`; who has no history joins at this moment.

    Who joins begins at the level of those who were there, by weight: otherwise they would get every booking until they
    have as many. The level is made of bookings within the window, so it fades as they leave it.
    """
    now = 1 + max((order for each in histories.values() if each for order in (each.joined, *each.served)), default=0)
    found = {each.user_id: histories.get(each.user_id) or HostHistory(now, {}) for each in members}
    began: dict[UUID, int] = {}

    def count(each: Candidate, until: int) -> int:
        history = found[each.user_id]
        own = (count for order, count in history.served.items() if history.joined <= order < until)
        return began[each.user_id] + sum(own)

    for each in sorted(members, key=lambda each: found[each.user_id].joined):
        joined = found[each.user_id].joined
        earlier = [other for other in members if other.weight and found[other.user_id].joined < joined]
        weight = sum(other.weight for other in earlier)
        began[each.user_id] = sum(count(other, joined) for other in earlier) * each.weight // weight if weight else 0
    return tuple(replace(each, served=count(each, now + 1)) for each in members)


def judge(candidates: Sequence[Candidate], *, pick: int, rules: TeamRules) -> tuple[HostVerdict, ...]:
    """Return for each candidate why they may be chosen or not, and how far they are ahead."""
    able = {each.user_id for each in list_eligible(candidates, rules=rules)}
    choice = choose(candidates, pick=pick, rules=rules)
    considered = set(choice.eligible) if choice else able
    levels = _levels([each for each in candidates if each.weight > 0])

    def stand(each: Candidate) -> HostStanding:
        if not each.weight:
            return HostStanding.PAUSED
        if each.user_id not in able:
            return HostStanding.AHEAD
        if not each.is_free:
            return HostStanding.AWAY
        return HostStanding.ELIGIBLE if each.user_id in considered else HostStanding.OUTRANKED

    def lead(each: Candidate) -> int:
        if rules.balance is Balance.SHARE:
            return -each.credit
        return int(_lead(each, levels) * BOOKING) if each.weight else 0

    return tuple(HostVerdict(user_id=each.user_id, standing=stand(each), ahead=lead(each)) for each in candidates)


def explain(asked: ChoiceAsked, chosen: Sequence[UUID]) -> ChoiceRule:
    """Say which rule has decided a choice."""
    if asked.is_named or asked.kept:
        return ChoiceRule.NAMED if asked.is_named else ChoiceRule.SERIES
    rules = _rules_of(asked)
    free = [each for each in list_eligible(asked.candidates, rules=rules) if each.is_free]
    winners = [each for each in free if each.user_id in chosen]
    if not winners or len(winners) == len(free):
        return ChoiceRule.ONLY_FREE
    lowest = min(each.priority for each in winners)
    members = [each for each in free if each.priority == lowest]
    pick = sum(each.priority == lowest for each in winners)
    if pick == len(members):
        return ChoiceRule.PRIORITY
    earned, _ = share(members, pick=pick) if rules.balance is Balance.SHARE else ({}, 0)
    behind = {each.user_id: _behind(each, earned, rules) for each in members}
    least = min(behind[each.user_id] for each in winners if each.priority == lowest)
    most = max(behind[each.user_id] for each in members if each not in winners)
    return ChoiceRule.BEHIND if least > most else ChoiceRule.LONGEST_AGO


def simulate(history: Iterable[ChoiceAsked], *, weights: Mapping[UUID, int]) -> dict[UUID, int]:
    """Return how many bookings each would have had if the weights had been others, with who was free as it was.

    Credits begin at 0, and so do the bookings that are counted with the balance `total`.
    """
    had: dict[UUID, int] = {}
    credits_: dict[UUID, int] = {}
    last: dict[UUID, int] = {}
    before: tuple[UUID, ...] = ()
    for no, asked in enumerate(history, 1):
        candidates = [
            replace(
                each,
                weight=weights.get(each.user_id, each.weight),
                credit=credits_.get(each.user_id, 0),
                last_no=last.get(each.user_id, 0),
                served=had.setdefault(each.user_id, 0),
            )
            for each in asked.candidates
        ]
        # A series has the hosts of its first booking, and that comes right before.
        kept = before if asked.kept else ()
        choice = choose(candidates, pick=asked.pick, rules=_rules_of(asked), kept=kept)
        before = choice.chosen if choice else ()
        if choice is None:
            continue
        for user_id, delta in choice.deltas.items():
            credits_[user_id] = credits_.get(user_id, 0) + delta
        for user_id in choice.chosen:
            had[user_id] += 1
            last[user_id] = no
    return had


def _rules_of(asked: ChoiceAsked) -> TeamRules:
    return TeamRules(event_type_id=UUID(int=0), balance=asked.balance, max_lead=asked.max_lead)


def _by_priority(members: Sequence[Candidate]) -> list[list[Candidate]]:
    """Group members by priority, the highest first."""
    classes: dict[int, list[Candidate]] = {}
    for each in members:
        classes.setdefault(each.priority, []).append(each)
    return [classes[priority] for priority in sorted(classes, reverse=True)]


def _rank(members: Sequence[Candidate], earned: Mapping[UUID, int], rules: TeamRules) -> list[UUID]:
    """Sort members: who is furthest behind, then who was not chosen for longest, then who has the smallest number."""
    ranked = sorted(members, key=lambda each: (-_behind(each, earned, rules), each.last_no, each.host_no))
    return [each.user_id for each in ranked]


def _behind(each: Candidate, earned: Mapping[UUID, int], rules: TeamRules) -> int | Fraction:
    if rules.balance is Balance.SHARE:
        return each.credit + earned[each.user_id]
    return -Fraction(each.served, each.weight)


def _levels(members: Iterable[Candidate]) -> dict[int, Fraction]:
    """Return for each priority how many bookings who is furthest behind has had, for a weight of 1."""
    levels: dict[int, Fraction] = {}
    for each in members:
        served = Fraction(each.served, each.weight)
        levels[each.priority] = min(levels.get(each.priority, served), served)
    return levels


def _lead(member: Candidate, levels: Mapping[int, Fraction]) -> Fraction:
    """Return how many bookings a member had more than they had at the level of who is furthest behind.

    It is compared within a priority: those of a lower one are behind because they come later.
    """
    return member.served - member.weight * levels[member.priority]
