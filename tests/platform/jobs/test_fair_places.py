"""Places: slow and failing targets take half of the places at most, and owners share them fairly."""

from datetime import timedelta

import pytest

from openslot.platform.core.actor import Destination, EffectAttempt
from openslot.platform.core.ids import new_id
from openslot.platform.jobs import places as rules
from openslot.platform.jobs.places import (
    AT_ONCE,
    FORGIVEN_AFTER,
    LONGEST,
    LONGEST_OF_SUSPECTS,
    QUICK,
    FairPlaces,
    Owner,
    Place,
    Rejected,
)
from tests.platform.jobs.place_visits import (
    KIND,
    LONG,
    NOW,
    PLACES,
    SHORT,
    Simulation,
    enter,
    fill,
    proven,
    somewhere,
    turn_away,
    visit,
)


def test_a_target_earns_its_places_by_answering() -> None:
    fair_places, to = FairPlaces(count=PLACES), somewhere()
    earned = []
    for _ in range(6):
        inside = []
        while isinstance(place := fair_places.enter(KIND, to, now=NOW), Place):
            inside.append(place)
        earned.append(len(inside))
        for place in inside[1:]:
            fair_places.leave(place, answered=None, now=NOW)
        fair_places.leave(inside[0], answered=True, now=NOW + SHORT)

    assert earned == [1, 1, 2, 3, 4, 4]


def test_a_failure_leaves_one_place() -> None:
    fair_places = FairPlaces(count=PLACES)
    to = proven(fair_places, somewhere())
    visit(fair_places, to, answered=False)

    enter(fair_places, to)
    turn_away(fair_places, to)


@pytest.mark.parametrize("step", [timedelta(days=1), timedelta(days=-1)])
def test_a_clock_that_is_set_during_an_attempt_makes_no_target_slow(step: timedelta) -> None:
    fair_places = FairPlaces(count=PLACES)
    to = proven(fair_places, somewhere())
    fair_places.leave(enter(fair_places, to), answered=True, now=NOW + step)

    for _ in range(AT_ONCE):
        enter(fair_places, to, now=NOW + step)
    assert turn_away(fair_places, to, now=NOW + step).is_quick


def test_a_failure_is_forgiven_when_the_clock_was_set_back() -> None:
    owner = Owner(failed_at=NOW)

    assert owner.is_suspect(now=NOW + SHORT)
    assert not owner.is_suspect(now=NOW - timedelta(days=1))


def test_new_targets_together_take_half_of_the_places() -> None:
    fair_places = FairPlaces(count=PLACES)
    quick = proven(fair_places, somewhere())

    assert fill(fair_places, somewhere) == fair_places.slow_places == PLACES // 2
    enter(fair_places, quick)


def test_slow_targets_together_take_half_of_the_places() -> None:
    fair_places = FairPlaces(count=PLACES)
    slow = [somewhere() for _ in range(PLACES)]
    for to in slow:
        visit(fair_places, to, takes=QUICK * 2)
        visit(fair_places, to, takes=QUICK * 2)
    asked = iter(slow * 3)

    assert fill(fair_places, lambda: next(asked)) == PLACES // 2


def test_targets_of_owners_who_failed_take_a_quarter_and_leave_the_rest_to_newcomers() -> None:
    fair_places = FairPlaces(count=PLACES)
    failing = [somewhere() for _ in range(PLACES)]
    for to in failing:
        visit(fair_places, to, answered=False)
    owners = iter(failing * 3)

    assert fill(fair_places, lambda: somewhere(next(owners).owner_id)) == fair_places.suspect_places == PLACES // 4
    assert fill(fair_places, somewhere) == PLACES // 4


def test_whoever_was_quick_and_hangs_now_counts_as_slow_while_it_hangs() -> None:
    fair_places = FairPlaces(count=PLACES)
    quick = [proven(fair_places, somewhere()) for _ in range(10)]
    for to in quick:
        for _ in range(AT_ONCE):
            enter(fair_places, to)
    assert fair_places.slow_inside == 0

    late = NOW + QUICK + SHORT
    turn_away(fair_places, quick[0], now=late)
    assert fair_places.slow_inside == 10 * AT_ONCE
    assert fair_places.foresee(KIND, quick[0], now=late) is not None
    assert fill(fair_places, somewhere, now=late) == PLACES // 2 - 10 * AT_ONCE


def test_an_owner_has_a_share_of_the_quick_places_and_a_smaller_one_after_a_failure() -> None:
    fair_places, owner = FairPlaces(count=PLACES), new_id()
    targets = [proven(fair_places, somewhere(owner)) for _ in range(PLACES)]
    asked = iter(targets * 3)
    inside = [place for to in targets if isinstance(place := fair_places.enter(KIND, to, now=NOW), Place)]
    assert len(inside) == fair_places.owner_places < PLACES // 10
    enter(fair_places, proven(fair_places, somewhere()))

    for place in inside:
        fair_places.leave(place, answered=None, now=NOW)
    visit(fair_places, somewhere(owner), answered=False)
    assert fill(fair_places, lambda: next(asked)) == fair_places.suspect_owner_places == PLACES // 40


def test_an_owner_has_a_small_share_of_the_slow_places() -> None:
    fair_places, owner = FairPlaces(count=PLACES), new_id()

    assert fill(fair_places, lambda: somewhere(owner)) == fair_places.slow_owner_places == PLACES // 50
    enter(fair_places, somewhere())


def test_targets_without_an_owner_stand_each_for_themselves() -> None:
    fair_places = FairPlaces(count=PLACES)

    assert fill(fair_places, lambda: Destination(str(new_id()), None)) == PLACES // 2


def test_the_same_target_of_another_kind_is_another_target() -> None:
    fair_places, to = FairPlaces(count=PLACES), Destination("example.com", None)
    enter(fair_places, to)
    turn_away(fair_places, to)

    assert isinstance(fair_places.enter("probe.other", to, now=NOW), Place)


def test_an_owner_is_forgiven_after_a_while() -> None:
    fair_places, owner = FairPlaces(count=PLACES), new_id()
    targets = [proven(fair_places, somewhere(owner)) for _ in range(PLACES)]
    visit(fair_places, somewhere(owner), answered=False)

    later = NOW + SHORT + FORGIVEN_AFTER
    assert sum(isinstance(fair_places.enter(KIND, to, now=later), Place) for to in targets) == fair_places.owner_places


def test_what_was_not_asked_is_not_judged() -> None:
    fair_places, to = FairPlaces(count=PLACES), somewhere()
    fair_places.leave(enter(fair_places, to), answered=None, now=NOW + LONG)

    assert fair_places.foresee(KIND, to, now=NOW) is None
    enter(fair_places, to)
    turn_away(fair_places, to)


def test_what_would_be_turned_away_is_told_so_before_it_comes_unless_the_target_is_quick() -> None:
    fair_places, new, quick = FairPlaces(count=PLACES), somewhere(), somewhere()
    proven(fair_places, quick, times=1)
    assert fair_places.foresee(KIND, new, now=NOW) is None
    enter(fair_places, new)
    enter(fair_places, quick)

    foreseen = fair_places.foresee(KIND, new, now=NOW)
    assert foreseen is not None
    assert turn_away(fair_places, new).after > foreseen.after
    assert fair_places.foresee(KIND, quick, now=NOW) is None
    turn_away(fair_places, quick)


@pytest.mark.parametrize("places", [2, 3, 5, 20, 500])
def test_every_number_of_places_leaves_half_to_those_who_answer(places: int) -> None:
    fair_places = FairPlaces(count=places)
    quick = proven(fair_places, somewhere())

    assert fill(fair_places, somewhere) == max(places // 2, 1)
    enter(fair_places, quick)


def test_those_who_wait_for_a_quick_target_come_one_after_the_other_within_a_minute() -> None:
    fair_places = FairPlaces(count=PLACES)
    to = proven(fair_places, somewhere())
    for _ in range(AT_ONCE):
        enter(fair_places, to)
    waits = [turn_away(fair_places, to).after for _ in range(20_000)]

    assert waits[:100] == sorted(waits[:100])
    assert LONGEST / 2 < max(waits) <= LONGEST


def test_those_who_wait_for_a_target_that_hangs_come_seldom() -> None:
    fair_places, to = FairPlaces(count=PLACES), somewhere()
    enter(fair_places, to)
    waits = [turn_away(fair_places, to, now=NOW + LONG).after for _ in range(100)]

    assert min(waits) >= LONG
    assert LONGEST_OF_SUSPECTS / 2 < max(waits) <= LONGEST_OF_SUSPECTS
    assert min(waits[50:]) > LONGEST_OF_SUSPECTS / 2


def test_a_target_that_answers_again_is_asked_soon() -> None:
    fair_places, to = FairPlaces(count=PLACES), somewhere()
    visit(fair_places, to, takes=LONG, answered=False)
    place = enter(fair_places, to)
    for _ in range(10):
        turn_away(fair_places, to)
    fair_places.leave(place, answered=True, now=NOW)
    fair_places.leave(enter(fair_places, to), answered=True, now=NOW)

    enter(fair_places, to)
    enter(fair_places, to)
    assert turn_away(fair_places, to).after < LONG


def test_what_waited_for_its_owner_is_called_when_its_target_answers() -> None:
    fair_places, owner_id = FairPlaces(count=PLACES), new_id()
    visit(fair_places, somewhere(owner_id), answered=False)
    for _ in range(fair_places.slow_owner_places):
        enter(fair_places, somewhere(owner_id))
    to = somewhere(owner_id)
    waits = [EffectAttempt(new_id(), 1) for _ in range(3)]
    for attempt in waits:
        refusal = turn_away(fair_places, to)
        assert refusal.after > QUICK
        fair_places.wait(refusal, attempt, now=NOW)
    assert fair_places.take_called() == []

    # The turn of the first one has come: the others need not wait for theirs.
    fair_places.leave(next(iter(fair_places._inside)), answered=None, now=NOW)
    place = fair_places.enter(KIND, to, now=NOW, attempt=waits[0])
    assert isinstance(place, Place)
    fair_places.leave(place, answered=True, now=NOW + SHORT)
    assert fair_places.take_called() == waits[1:2]


def test_what_waits_at_a_target_that_was_silent_is_called_one_by_one_until_it_is_quick_again() -> None:
    fair_places, to = FairPlaces(count=PLACES), somewhere()
    visit(fair_places, to, takes=LONG, answered=False)
    place = enter(fair_places, to)
    waits = [EffectAttempt(new_id(), 0) for _ in range(30)]
    for attempt in waits:
        refusal = fair_places.foresee(KIND, to, now=NOW)
        assert refusal is not None
        fair_places.wait(refusal, attempt, now=NOW)
    fair_places.leave(place, answered=True, now=NOW + SHORT)
    called: list[EffectAttempt] = []
    most = 0
    while coming := fair_places.take_called():
        called += coming
        most = max(most, len(coming))
        assert most == 1 or fair_places._targets[KIND, to.target].is_quick
        for attempt in coming:
            inside = fair_places.enter(KIND, to, now=NOW, attempt=attempt)
            assert isinstance(inside, Place)
            fair_places.leave(inside, answered=True, now=NOW + SHORT)

    assert called == waits
    assert most > 1


def test_nobody_is_called_to_a_target_that_answers_slowly_nor_again_and_again_where_the_owner_has_no_place() -> None:
    fair_places, owner_id = FairPlaces(count=PLACES), new_id()
    to = somewhere(owner_id)
    visit(fair_places, to, takes=LONG, answered=False)
    place = enter(fair_places, to)
    attempt = EffectAttempt(new_id(), 1)
    fair_places.wait(turn_away(fair_places, to), attempt, now=NOW)
    fair_places.leave(place, answered=True, now=NOW + QUICK + SHORT)
    assert fair_places.take_called() == []

    visit(fair_places, to)
    assert fair_places.take_called() == [attempt]
    for _ in range(fair_places.slow_owner_places):
        enter(fair_places, somewhere(owner_id))
    refusal = fair_places.enter(KIND, to, now=NOW, attempt=attempt)
    assert isinstance(refusal, Rejected)
    fair_places.wait(refusal, attempt, now=NOW)
    assert fair_places.take_called() == []


def test_the_long_wait_of_a_failing_target_is_not_that_of_a_quick_one_of_the_same_owner() -> None:
    fair_places, owner_id = FairPlaces(count=PLACES), new_id()
    quick = [proven(fair_places, somewhere(owner_id)) for _ in range(3)]
    visit(fair_places, somewhere(owner_id), answered=False)
    for _ in range(fair_places.slow_owner_places):
        enter(fair_places, somewhere(owner_id))
    for _ in range(20):
        turn_away(fair_places, somewhere(owner_id))
    for to in quick[: fair_places.suspect_owner_places]:
        enter(fair_places, to)

    assert turn_away(fair_places, quick[-1]).after < QUICK


def test_what_has_not_been_asked_for_longest_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_REMEMBERED", 3)
    fair_places = FairPlaces(count=PLACES)
    busy, old, recent = somewhere(), somewhere(), somewhere()
    place = enter(fair_places, busy)
    for to in (recent, old, recent):
        visit(fair_places, to, answered=False)
    visit(fair_places, somewhere())

    assert {(KIND, busy.target), (KIND, recent.target)} < set(fair_places._targets)
    assert (KIND, old.target) not in fair_places._targets
    turn_away(fair_places, busy)
    fair_places.leave(place, answered=True, now=NOW)
    assert len(fair_places._targets) == len(fair_places._owners) == 3


@pytest.mark.rest("waits for seconds")
def test_four_hundred_tarpits_of_twenty_owners_neither_delay_a_healthy_owner_nor_fill_the_queue() -> None:
    world = Simulation(FairPlaces(count=PLACES))
    healthy = somewhere()
    for _ in range(20):
        owner = new_id()
        for _ in range(20):
            tarpit = somewhere(owner)
            for number in range(40):
                when = NOW + timedelta(seconds=number)
                world.send("tarpit", tarpit, takes=LONG, answered=False, when=when)
    for number in range(40):
        world.send("healthy", healthy, takes=SHORT, answered=True, when=NOW + timedelta(seconds=number))
    world.run(NOW + timedelta(minutes=10))

    assert world.tries["healthy"] == 40
    assert sorted(world.waits)[37] <= timedelta(seconds=1)
    assert world.most_slow <= PLACES // 2
    assert world.tries["tarpit"] >= 400
    assert world.put_backs["healthy"] <= 40
    print(world.tries, world.put_backs, max(world.waits))  # noqa: T201
    # Each of the 16,000 comes about three times in these ten minutes.
    assert world.put_backs["tarpit"] < 16_000 * 3
