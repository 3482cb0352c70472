"""How far from their share anybody comes: never more than half a booking for each other member, whoever is free."""

from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openslot.domains.teams.choice import BOOKING, choose
from openslot.domains.teams.models import Candidate, TeamRules
from tests.support.parts import how_many

SHARE = TeamRules(event_type_id=UUID(int=9))

Adversary = Callable[[list[int], Random], set[int]]
"""Says who is free, knowing every credit."""


class Group:
    """A group in memory."""

    def __init__(self, weights: list[int], *, pick: int = 1) -> None:
        self.weights = weights
        self.pick = pick
        self.credits = [0] * len(weights)
        self._last = [0] * len(weights)
        self._no = 0

    def book(self, free: set[int]) -> None:
        candidates = [
            Candidate(
                host_no=who,
                user_id=UUID(int=who),
                weight=weight,
                priority=2,
                credit=self.credits[who],
                last_no=self._last[who],
                is_free=who in free,
            )
            for who, weight in enumerate(self.weights)
        ]
        choice = choose(candidates, pick=self.pick, rules=SHARE)
        if choice is None:
            return
        self._no += 1
        for user_id, delta in choice.deltas.items():
            self.credits[user_id.int] += delta
        for user_id in choice.chosen:
            self._last[user_id.int] = self._no

    def check(self) -> None:
        assert sum(self.credits) == 0
        bound = (len(self.weights) - 1) * BOOKING // 2
        assert max(map(abs, self.credits)) <= bound, self.credits


def leave_two_who_are_even(credits_: list[int], random: Random) -> set[int]:
    """Let two be free who are nearly level: one of them falls behind and one gets ahead, as far up as it goes."""
    pairs = list(combinations(range(len(credits_)), 2))
    random.shuffle(pairs)

    def gap(pair: tuple[int, int]) -> tuple[int, int]:
        one, other = (credits_[who] for who in pair)
        return abs(one - other), -one - other

    one, other = min(pairs, key=gap)
    return {one, other}


def leave_those_ahead(credits_: list[int], random: Random) -> set[int]:
    """Let those be free who have had most, so that one of them has still more."""
    ranked = sorted(range(len(credits_)), key=credits_.__getitem__)
    return set(ranked[: random.randint(1, max(1, len(ranked) // 2))])


def leave_those_behind(credits_: list[int], random: Random) -> set[int]:
    ranked = sorted(range(len(credits_)), key=credits_.__getitem__, reverse=True)
    return set(ranked[: random.randint(2, len(ranked))])


def leave_anybody(credits_: list[int], random: Random) -> set[int]:
    return {who for who in range(len(credits_)) if random.random() < random.choice((0.1, 0.5, 0.9))}


ADVERSARIES: list[Adversary] = [leave_two_who_are_even, leave_those_ahead, leave_those_behind, leave_anybody]


def look_ahead(group: Group) -> Iterator[set[int]]:
    """Try every set of those who might be free, and take what hurts most: the largest sum of squared credits."""
    everyone = range(len(group.weights))
    sets = [set(each) for size in range(group.pick, len(group.weights) + 1) for each in combinations(everyone, size)]
    while True:
        best, harm = sets[0], -1
        for free in sets:
            trial = Group(group.weights, pick=group.pick)
            trial.credits = list(group.credits)
            trial.book(free)
            squares = sum(each * each for each in trial.credits)
            if squares > harm:
                best, harm = free, squares
        yield best


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("kind", ["equal", "weighted", "two at a time"])
def test_nobody_is_further_from_their_share_than_the_bound(adversary: Adversary, count: int, kind: str) -> None:
    random = Random(f"{adversary.__name__} {count} {kind}")
    weights = [100] * count if kind == "equal" else [random.choice((1, 25, 100, 1000)) for _ in range(count)]
    group = Group(weights, pick=2 if kind == "two at a time" else 1)
    for _ in range(600):
        group.book(adversary(group.credits, random))
        group.check()


@pytest.mark.parametrize(
    ("weights", "pick"), [([100] * 5, 1), ([1000, 500, 100, 10, 1], 1), ([900, 300, 200, 100, 50], 2)]
)
def test_an_adversary_who_tries_everything_stays_within_the_bound(weights: list[int], pick: int) -> None:
    group = Group(weights, pick=pick)
    for _, free in zip(range(120), look_ahead(group), strict=False):
        group.book(free)
        group.check()
    assert max(map(abs, group.credits)) > BOOKING // 2, "an adversary who does no harm proves nothing"


@given(data=st.data(), weights=st.lists(st.integers(1, 1000), min_size=1, max_size=7), pick=st.integers(1, 3))
def test_any_sequence_of_who_is_free_stays_within_the_bound(data: st.DataObject, weights: list[int], pick: int) -> None:
    group = Group(weights, pick=pick)
    for free in data.draw(st.lists(st.sets(st.integers(0, len(weights) - 1)), max_size=40)):
        group.book(free)
        group.check()


@settings(max_examples=how_many(40))
@given(data=st.data(), count=st.integers(2, 6))
def test_weights_that_change_all_the_time_do_not_move_the_bound(data: st.DataObject, count: int) -> None:
    group = Group([100] * count)
    for _ in range(data.draw(st.integers(0, 30))):
        group.weights = data.draw(st.lists(st.integers(1, 1000), min_size=count, max_size=count))
        group.book(data.draw(st.sets(st.integers(0, count - 1))))
        group.check()
