"""Who is chosen, what it costs, and why: rules without a database."""

from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openslot.domains.teams.choice import (
    BOOKING,
    choose,
    choose_again,
    explain,
    judge,
    list_eligible,
    share,
    simulate,
    spread,
)
from openslot.domains.teams.models import (
    Balance,
    Candidate,
    ChoiceAsked,
    ChoiceRule,
    HostChoice,
    HostStanding,
    TeamRules,
)

SHARE = TeamRules(event_type_id=UUID(int=9))
TOTAL = TeamRules(event_type_id=UUID(int=9), balance=Balance.TOTAL)
STRICT = replace(TOTAL, max_lead=2)

ANA, BEN, CAM, DEE = (UUID(int=no) for no in (1, 2, 3, 4))


def member(who: UUID, *, weight: int = 100, priority: int = 2, **changes: int | bool) -> Candidate:
    candidate = Candidate(host_no=who.int, user_id=who, weight=weight, priority=priority)
    return replace(candidate, **changes)


def get_choice(candidates: list[Candidate], *, pick: int = 1, rules: TeamRules = SHARE) -> HostChoice:
    choice = choose(candidates, pick=pick, rules=rules)
    assert choice is not None
    return choice


members_drawn = st.lists(
    st.builds(
        Candidate,
        host_no=st.integers(1, 60),
        user_id=st.uuids(),
        weight=st.sampled_from([0, 1, 3, 50, 100, 999, 1000]) | st.integers(0, 1000),
        priority=st.integers(0, 3),
        credit=st.integers(-5 * BOOKING, 5 * BOOKING),
        last_no=st.integers(0, 9),
        served=st.integers(0, 9),
        is_free=st.booleans(),
    ),
    max_size=12,
    unique_by=lambda each: each.host_no,
)
rules_drawn = st.builds(
    TeamRules,
    event_type_id=st.just(UUID(int=9)),
    balance=st.sampled_from(Balance),
    max_lead=st.none() | st.integers(0, 5),
)


@given(candidates=members_drawn, pick=st.integers(1, 4), rules=rules_drawn)
def test_a_choice_is_exact_whole_and_deterministic(candidates: list[Candidate], pick: int, rules: TeamRules) -> None:
    choice = choose(candidates, pick=pick, rules=rules)
    free = {each.user_id: each for each in list_eligible(candidates, rules=rules) if each.is_free}
    if choice is None:
        assert len(free) < pick
        return
    assert len(set(choice.chosen)) == len(choice.chosen) == pick
    assert set(choice.chosen) <= set(choice.eligible) <= set(free)
    assert all(free[user_id].weight > 0 for user_id in choice.chosen)
    assert sum(choice.deltas.values()) == 0
    assert all(type(delta) is int for delta in choice.deltas.values())
    assert all(-BOOKING <= delta <= BOOKING for delta in choice.deltas.values())
    again = choose(candidates[::-1], pick=pick, rules=rules)
    assert again is not None
    assert (again.chosen, again.deltas, again.price) == (choice.chosen, choice.deltas, choice.price)


@given(candidates=members_drawn, pick=st.integers(1, 4), rules=rules_drawn)
def test_nobody_of_a_lower_priority_is_chosen_while_one_of_a_higher_is_left(
    candidates: list[Candidate], pick: int, rules: TeamRules
) -> None:
    choice = choose(candidates, pick=pick, rules=rules)
    if choice is not None:
        free = {each.user_id: each.priority for each in list_eligible(candidates, rules=rules) if each.is_free}
        lowest = min(free[user_id] for user_id in choice.chosen)
        assert all(free[user_id] <= lowest for user_id in free if user_id not in choice.chosen)


@given(candidates=members_drawn, places=st.integers(1, 6))
def test_what_is_earned_is_what_is_paid_and_nobody_earns_more_than_one_booking(
    candidates: list[Candidate], places: int
) -> None:
    members = [each for each in candidates if each.weight]
    if len(members) < places:
        return
    earned, price = share(members, pick=places)
    assert set(earned) == {each.user_id for each in members}
    assert sum(earned.values()) == places * price
    assert all(0 < part <= price for part in earned.values())
    assert BOOKING - len(members) < price <= BOOKING


@given(credit=st.integers(-9 * BOOKING, 9 * BOOKING), candidates=members_drawn.filter(bool))
def test_what_a_leaver_had_is_spread_to_the_last_millionth(credit: int, candidates: list[Candidate]) -> None:
    parts = spread(credit, candidates)
    assert sum(parts.values()) == credit
    weights = {each.user_id: each.weight for each in candidates}
    if any(weights.values()):
        assert all(weights[user_id] for user_id in parts)


def test_weight_above_the_share_of_a_place_is_capped_and_the_rest_is_spread() -> None:
    earned, price = share([member(ANA, weight=1000), member(BEN, weight=100), member(CAM, weight=100)], pick=2)
    assert earned == {ANA: BOOKING, BEN: BOOKING // 2, CAM: BOOKING // 2}
    assert price == BOOKING


def test_a_host_who_is_always_needed_neither_gains_nor_owes() -> None:
    """Two of three, one of whom has ten times the weight: she hosts every booking, and her credit stays where it is."""
    credits_ = {ANA: 0, BEN: 0, CAM: 0}
    had: Counter[UUID] = Counter()
    for no in range(1, 101):
        candidates = [
            member(who, weight=1000 if who == ANA else 100, credit=credit) for who, credit in credits_.items()
        ]
        choice = get_choice(candidates, pick=2)
        had.update(choice.chosen)
        for who, delta in choice.deltas.items():
            credits_[who] += delta
        assert credits_[ANA] == 0, no
    assert had == {ANA: 100, BEN: 50, CAM: 50}


def test_no_hosts_and_one_host_are_no_fault() -> None:
    for rules in (SHARE, TOTAL, STRICT):
        assert choose([], pick=1, rules=rules) is None
        assert list_eligible([], rules=rules) == []
        assert judge([], pick=1, rules=rules) == ()
        alone = get_choice([member(ANA)], rules=rules)
        assert alone.chosen == (ANA,)
        assert all(delta == 0 for delta in alone.deltas.values())
        assert choose([member(ANA, is_free=False)], pick=1, rules=rules) is None
        assert choose([member(ANA, weight=0)], pick=1, rules=rules) is None
        assert choose([member(ANA)], pick=2, rules=rules) is None


def test_the_only_one_who_is_free_earns_and_pays_the_same() -> None:
    choice = get_choice([member(ANA), member(BEN, is_free=False)])
    assert choice.deltas == {ANA: 0}


def test_who_is_away_earns_nothing_and_owes_nothing() -> None:
    choice = get_choice([member(ANA), member(BEN), member(CAM, is_free=False)])
    assert CAM not in choice.deltas
    assert choice.deltas == {ANA: -BOOKING // 2, BEN: BOOKING // 2}


def test_ties_go_to_who_was_not_chosen_for_longest_and_then_to_the_smallest_number() -> None:
    assert get_choice([member(BEN), member(ANA)]).chosen == (ANA,)
    assert get_choice([member(ANA, last_no=7), member(BEN, last_no=5)]).chosen == (BEN,)
    assert get_choice([member(ANA, served=1, last_no=7), member(BEN, served=1, last_no=5)], rules=TOTAL).chosen == (
        BEN,
    )


@pytest.mark.parametrize(
    ("candidates", "pick", "balance", "rule"),
    [
        ([member(ANA), member(BEN, is_free=False)], 1, Balance.SHARE, ChoiceRule.ONLY_FREE),
        ([member(ANA), member(BEN)], 2, Balance.SHARE, ChoiceRule.ONLY_FREE),
        ([member(ANA, priority=3), member(BEN)], 1, Balance.SHARE, ChoiceRule.PRIORITY),
        ([member(ANA, credit=1), member(BEN)], 1, Balance.SHARE, ChoiceRule.BEHIND),
        ([member(ANA, weight=200), member(BEN)], 1, Balance.SHARE, ChoiceRule.BEHIND),
        ([member(ANA, last_no=7), member(BEN, last_no=5)], 1, Balance.SHARE, ChoiceRule.LONGEST_AGO),
        ([member(ANA, served=1), member(BEN)], 1, Balance.TOTAL, ChoiceRule.BEHIND),
        ([member(ANA, served=1), member(BEN, served=1)], 1, Balance.TOTAL, ChoiceRule.LONGEST_AGO),
        ([member(ANA, priority=3), member(BEN), member(CAM, credit=-1)], 2, Balance.SHARE, ChoiceRule.BEHIND),
    ],
)
def test_the_rule_that_has_decided_a_choice_is_said(
    candidates: list[Candidate], pick: int, balance: Balance, rule: ChoiceRule
) -> None:
    asked = ChoiceAsked(pick=pick, balance=balance, candidates=tuple(candidates))
    choice = choose_again(asked)

    assert choice is not None
    assert explain(asked, choice.chosen) is rule
    assert explain(replace(asked, is_named=True), choice.chosen) is ChoiceRule.NAMED
    assert explain(replace(asked, kept=choice.chosen), choice.chosen) is ChoiceRule.SERIES


def test_weights_are_followed_to_the_booking() -> None:
    """The count that customers make: over any stretch a member is less than one booking away from their weight."""
    weights = {ANA: 300, BEN: 100, CAM: 100}
    credits_, had, last = dict.fromkeys(weights, 0), Counter[UUID](), dict.fromkeys(weights, 0)
    for no in range(1, 1001):
        candidates = [
            member(who, weight=weight, credit=credits_[who], last_no=last[who]) for who, weight in weights.items()
        ]
        choice = get_choice(candidates)
        had.update(choice.chosen)
        last[choice.chosen[0]] = no
        for who, delta in choice.deltas.items():
            credits_[who] += delta
        assert all(abs(had[who] * 500 - no * weight) < 500 for who, weight in weights.items()), no
    assert had == {ANA: 600, BEN: 200, CAM: 200}


def test_all_of_a_higher_priority_host_if_they_are_too_few_and_the_rest_is_chosen_below() -> None:
    candidates = [member(ANA, priority=3), member(BEN), member(CAM, credit=5), member(DEE, priority=0)]
    choice = get_choice(candidates, pick=2)
    assert choice.chosen == (ANA, CAM)
    assert choice.eligible == (ANA, BEN, CAM)
    assert choice.deltas == {ANA: 0, BEN: BOOKING // 2, CAM: -BOOKING // 2}


def test_floats_would_lose_what_integers_keep() -> None:
    """Three thirds are a whole, and a sum of credits that is far away from 0 is still exact."""
    far = 2**53
    choice = get_choice([member(ANA, credit=far + 1), member(BEN, credit=far), member(CAM, credit=-2 * far - 1)])
    assert choice.chosen == (ANA,)
    assert sum(choice.deltas.values()) == 0
    equal = get_choice([member(ANA, served=1, weight=3), member(BEN, served=333, weight=1000)], rules=TOTAL)
    assert equal.chosen == (BEN,), "333/1000 is less than 1/3"


def test_total_compares_by_weight() -> None:
    assert get_choice([member(ANA, served=2, weight=200), member(BEN, served=1)], rules=TOTAL).chosen == (ANA,)
    assert get_choice([member(ANA, served=3, weight=200), member(BEN, served=1)], rules=TOTAL).chosen == (BEN,)
    assert get_choice([member(ANA, served=3), member(BEN, served=2)], rules=TOTAL).deltas == {}


def test_total_leaves_out_who_is_too_far_ahead_in_listing_and_booking_alike() -> None:
    ahead = [member(ANA, served=3), member(BEN, served=0, is_free=False), member(CAM, served=2)]
    assert [each.user_id for each in list_eligible(ahead, rules=STRICT)] == [BEN, CAM]
    assert get_choice(ahead, rules=STRICT).chosen == (CAM,)
    assert choose(ahead, pick=2, rules=STRICT) is None
    assert get_choice(ahead, rules=TOTAL).chosen == (CAM,)


def test_strict_totals_that_block_everybody_say_so() -> None:
    ahead = [member(ANA, served=5), member(BEN, served=1, is_free=False), member(CAM, served=4)]
    assert choose(ahead, pick=1, rules=STRICT) is None
    verdicts = {each.user_id: (each.standing, each.ahead // BOOKING) for each in judge(ahead, pick=1, rules=STRICT)}
    assert verdicts == {ANA: (HostStanding.AHEAD, 4), BEN: (HostStanding.AWAY, 0), CAM: (HostStanding.AHEAD, 3)}


@given(candidates=members_drawn, lead=st.integers(0, 3))
def test_a_lead_never_hides_everybody_of_a_group(candidates: list[Candidate], lead: int) -> None:
    """Who is furthest behind may always be chosen, so that a block ends as soon as they are free."""
    able = list_eligible(candidates, rules=replace(TOTAL, max_lead=lead))
    assert bool(able) == any(each.weight for each in candidates)


@given(candidates=members_drawn)
def test_shares_never_hide_who_is_free(candidates: list[Candidate]) -> None:
    may = [each for each in candidates if each.weight and each.is_free]
    choice = choose(candidates, pick=1, rules=replace(SHARE, max_lead=0))
    assert (choice is not None) == bool(may)


def test_a_lead_is_counted_within_a_priority() -> None:
    first, second = member(ANA, priority=3, served=9), member(BEN, served=0)
    assert get_choice([first, second], rules=STRICT).chosen == (ANA,)


@pytest.mark.parametrize(("served", "able"), [(4, True), (5, False)])
def test_a_lead_grows_with_the_weight(served: int, able: bool) -> None:
    """Twice the weight: at the level of one booking of the other she has two, and two more are allowed."""
    found = list_eligible([member(ANA, weight=200, served=served), member(BEN, served=1)], rules=STRICT)
    assert (ANA in {each.user_id for each in found}) is able


def test_verdicts_say_why_each_is_chosen_from_or_not() -> None:
    candidates = [
        member(ANA, credit=-2 * BOOKING),
        member(BEN, credit=BOOKING, is_free=False),
        member(CAM, weight=0),
        member(DEE, priority=1, credit=BOOKING),
    ]
    verdicts = [(each.standing, each.ahead) for each in judge(candidates, pick=1, rules=SHARE)]
    assert verdicts == [
        (HostStanding.ELIGIBLE, 2 * BOOKING),
        (HostStanding.AWAY, -BOOKING),
        (HostStanding.PAUSED, 0),
        (HostStanding.OUTRANKED, -BOOKING),
    ]


def test_other_weights_are_tried_on_what_has_happened() -> None:
    asked = ChoiceAsked(pick=1, balance=Balance.SHARE, candidates=(member(ANA), member(BEN)))
    alone = ChoiceAsked(pick=1, balance=Balance.SHARE, candidates=(member(ANA, is_free=False), member(BEN)))
    assert simulate([asked] * 20, weights={}) == {ANA: 10, BEN: 10}
    assert simulate([asked] * 20, weights={ANA: 300}) == {ANA: 15, BEN: 5}
    assert simulate([asked, alone] * 10, weights={}) == {ANA: 5, BEN: 15}
    assert simulate([asked] * 20, weights={ANA: 0}) == {ANA: 0, BEN: 20}
