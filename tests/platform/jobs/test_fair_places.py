"""The gate: slow and failing targets take half of the places at most, and owners share them fairly."""

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
    Gate,
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
    gate, to = Gate(places=PLACES), somewhere()
    earned = []
    for _ in range(6):
        inside = []
        while isinstance(place := gate.enter(KIND, to, now=NOW), Place):
            inside.append(place)
        earned.append(len(inside))
        for place in inside[1:]:
            gate.leave(place, answered=None, now=NOW)
        gate.leave(inside[0], answered=True, now=NOW + SHORT)

    assert earned == [1, 1, 2, 3, 4, 4]


def test_a_failure_leaves_one_place() -> None:
    gate = Gate(places=PLACES)
    to = proven(gate, somewhere())
    visit(gate, to, answered=False)

    enter(gate, to)
    turn_away(gate, to)


@pytest.mark.parametrize("step", [timedelta(days=1), timedelta(days=-1)])
def test_a_clock_that_is_set_during_an_attempt_makes_no_target_slow(step: timedelta) -> None:
    gate = Gate(places=PLACES)
    to = proven(gate, somewhere())
    gate.leave(enter(gate, to), answered=True, now=NOW + step)

    for _ in range(AT_ONCE):
        enter(gate, to, now=NOW + step)
    assert turn_away(gate, to, now=NOW + step).is_quick


def test_a_failure_is_forgiven_when_the_clock_was_set_back() -> None:
    owner = Owner(failed_at=NOW)

    assert owner.is_suspect(now=NOW + SHORT)
    assert not owner.is_suspect(now=NOW - timedelta(days=1))


def test_new_targets_together_take_half_of_the_places() -> None:
    gate = Gate(places=PLACES)
    quick = proven(gate, somewhere())

    assert fill(gate, somewhere) == gate.slow_places == PLACES // 2
    enter(gate, quick)


def test_slow_targets_together_take_half_of_the_places() -> None:
    gate = Gate(places=PLACES)
    slow = [somewhere() for _ in range(PLACES)]
    for to in slow:
        visit(gate, to, takes=QUICK * 2)
        visit(gate, to, takes=QUICK * 2)
    asked = iter(slow * 3)

    assert fill(gate, lambda: next(asked)) == PLACES // 2


def test_targets_of_owners_who_failed_take_a_quarter_and_leave_the_rest_to_newcomers() -> None:
    gate = Gate(places=PLACES)
    failing = [somewhere() for _ in range(PLACES)]
    for to in failing:
        visit(gate, to, answered=False)
    owners = iter(failing * 3)

    assert fill(gate, lambda: somewhere(next(owners).owner_id)) == gate.suspect_places == PLACES // 4
    assert fill(gate, somewhere) == PLACES // 4


def test_whoever_was_quick_and_hangs_now_counts_as_slow_while_it_hangs() -> None:
    gate = Gate(places=PLACES)
    quick = [proven(gate, somewhere()) for _ in range(10)]
    for to in quick:
        for _ in range(AT_ONCE):
            enter(gate, to)
    assert gate.slow_inside == 0

    late = NOW + QUICK + SHORT
    turn_away(gate, quick[0], now=late)
    assert gate.slow_inside == 10 * AT_ONCE
    assert gate.foresee(KIND, quick[0], now=late) is not None
    assert fill(gate, somewhere, now=late) == PLACES // 2 - 10 * AT_ONCE


def test_an_owner_has_a_share_of_the_quick_places_and_a_smaller_one_after_a_failure() -> None:
    gate, owner = Gate(places=PLACES), new_id()
    targets = [proven(gate, somewhere(owner)) for _ in range(PLACES)]
    asked = iter(targets * 3)
    inside = [place for to in targets if isinstance(place := gate.enter(KIND, to, now=NOW), Place)]
    assert len(inside) == gate.owner_places < PLACES // 10
    enter(gate, proven(gate, somewhere()))

    for place in inside:
        gate.leave(place, answered=None, now=NOW)
    visit(gate, somewhere(owner), answered=False)
    assert fill(gate, lambda: next(asked)) == gate.suspect_owner_places == PLACES // 40


def test_an_owner_has_a_small_share_of_the_slow_places() -> None:
    gate, owner = Gate(places=PLACES), new_id()

    assert fill(gate, lambda: somewhere(owner)) == gate.slow_owner_places == PLACES // 50
    enter(gate, somewhere())


def test_targets_without_an_owner_stand_each_for_themselves() -> None:
    gate = Gate(places=PLACES)

    assert fill(gate, lambda: Destination(str(new_id()), None)) == PLACES // 2


def test_the_same_target_of_another_kind_is_another_target() -> None:
    gate, to = Gate(places=PLACES), Destination("example.com", None)
    enter(gate, to)
    turn_away(gate, to)

    assert isinstance(gate.enter("probe.other", to, now=NOW), Place)


def test_an_owner_is_forgiven_after_a_while() -> None:
    gate, owner = Gate(places=PLACES), new_id()
    targets = [proven(gate, somewhere(owner)) for _ in range(PLACES)]
    visit(gate, somewhere(owner), answered=False)

    later = NOW + SHORT + FORGIVEN_AFTER
    assert sum(isinstance(gate.enter(KIND, to, now=later), Place) for to in targets) == gate.owner_places


def test_what_was_not_asked_is_not_judged() -> None:
    gate, to = Gate(places=PLACES), somewhere()
    gate.leave(enter(gate, to), answered=None, now=NOW + LONG)

    assert gate.foresee(KIND, to, now=NOW) is None
    enter(gate, to)
    turn_away(gate, to)


def test_what_would_be_turned_away_is_told_so_before_it_comes_unless_the_target_is_quick() -> None:
    gate, new, quick = Gate(places=PLACES), somewhere(), somewhere()
    proven(gate, quick, times=1)
    assert gate.foresee(KIND, new, now=NOW) is None
    enter(gate, new)
    enter(gate, quick)

    foreseen = gate.foresee(KIND, new, now=NOW)
    assert foreseen is not None
    assert turn_away(gate, new).after > foreseen.after
    assert gate.foresee(KIND, quick, now=NOW) is None
    turn_away(gate, quick)


@pytest.mark.parametrize("places", [2, 3, 5, 20, 500])
def test_every_number_of_places_leaves_half_to_those_who_answer(places: int) -> None:
    gate = Gate(places=places)
    quick = proven(gate, somewhere())

    assert fill(gate, somewhere) == max(places // 2, 1)
    enter(gate, quick)


def test_those_who_wait_for_a_quick_target_come_one_after_the_other_within_a_minute() -> None:
    gate = Gate(places=PLACES)
    to = proven(gate, somewhere())
    for _ in range(AT_ONCE):
        enter(gate, to)
    waits = [turn_away(gate, to).after for _ in range(20_000)]

    assert waits[:100] == sorted(waits[:100])
    assert LONGEST / 2 < max(waits) <= LONGEST


def test_those_who_wait_for_a_target_that_hangs_come_seldom() -> None:
    gate, to = Gate(places=PLACES), somewhere()
    enter(gate, to)
    waits = [turn_away(gate, to, now=NOW + LONG).after for _ in range(100)]

    assert min(waits) >= LONG
    assert LONGEST_OF_SUSPECTS / 2 < max(waits) <= LONGEST_OF_SUSPECTS
    assert min(waits[50:]) > LONGEST_OF_SUSPECTS / 2


def test_a_target_that_answers_again_is_asked_soon() -> None:
    gate, to = Gate(places=PLACES), somewhere()
    visit(gate, to, takes=LONG, answered=False)
    place = enter(gate, to)
    for _ in range(10):
        turn_away(gate, to)
    gate.leave(place, answered=True, now=NOW)
    gate.leave(enter(gate, to), answered=True, now=NOW)

    enter(gate, to)
    enter(gate, to)
    assert turn_away(gate, to).after < LONG


def test_what_waited_for_its_owner_is_called_when_its_target_answers() -> None:
    gate, owner_id = Gate(places=PLACES), new_id()
    visit(gate, somewhere(owner_id), answered=False)
    for _ in range(gate.slow_owner_places):
        enter(gate, somewhere(owner_id))
    to = somewhere(owner_id)
    waits = [EffectAttempt(new_id(), 1) for _ in range(3)]
    for attempt in waits:
        refusal = turn_away(gate, to)
        assert refusal.after > QUICK
        gate.wait(refusal, attempt, now=NOW)
    assert gate.take_called() == []

    # The turn of the first one has come: the others need not wait for theirs.
    gate.leave(next(iter(gate._inside)), answered=None, now=NOW)
    place = gate.enter(KIND, to, now=NOW, attempt=waits[0])
    assert isinstance(place, Place)
    gate.leave(place, answered=True, now=NOW + SHORT)
    assert gate.take_called() == waits[1:2]


def test_what_waits_at_a_target_that_was_silent_is_called_one_by_one_until_it_is_quick_again() -> None:
    gate, to = Gate(places=PLACES), somewhere()
    visit(gate, to, takes=LONG, answered=False)
    place = enter(gate, to)
    waits = [EffectAttempt(new_id(), 0) for _ in range(30)]
    for attempt in waits:
        refusal = gate.foresee(KIND, to, now=NOW)
        assert refusal is not None
        gate.wait(refusal, attempt, now=NOW)
    gate.leave(place, answered=True, now=NOW + SHORT)
    called: list[EffectAttempt] = []
    most = 0
    while coming := gate.take_called():
        called += coming
        most = max(most, len(coming))
        assert most == 1 or gate._targets[KIND, to.target].is_quick
        for attempt in coming:
            inside = gate.enter(KIND, to, now=NOW, attempt=attempt)
            assert isinstance(inside, Place)
            gate.leave(inside, answered=True, now=NOW + SHORT)

    assert called == waits
    assert most > 1


def test_nobody_is_called_to_a_target_that_answers_slowly_nor_again_and_again_where_the_owner_has_no_place() -> None:
    gate, owner_id = Gate(places=PLACES), new_id()
    to = somewhere(owner_id)
    visit(gate, to, takes=LONG, answered=False)
    place = enter(gate, to)
    attempt = EffectAttempt(new_id(), 1)
    gate.wait(turn_away(gate, to), attempt, now=NOW)
    gate.leave(place, answered=True, now=NOW + QUICK + SHORT)
    assert gate.take_called() == []

    visit(gate, to)
    assert gate.take_called() == [attempt]
    for _ in range(gate.slow_owner_places):
        enter(gate, somewhere(owner_id))
    refusal = gate.enter(KIND, to, now=NOW, attempt=attempt)
    assert isinstance(refusal, Rejected)
    gate.wait(refusal, attempt, now=NOW)
    assert gate.take_called() == []


def test_the_long_wait_of_a_failing_target_is_not_that_of_a_quick_one_of_the_same_owner() -> None:
    gate, owner_id = Gate(places=PLACES), new_id()
    quick = [proven(gate, somewhere(owner_id)) for _ in range(3)]
    visit(gate, somewhere(owner_id), answered=False)
    for _ in range(gate.slow_owner_places):
        enter(gate, somewhere(owner_id))
    for _ in range(20):
        turn_away(gate, somewhere(owner_id))
    for to in quick[: gate.suspect_owner_places]:
        enter(gate, to)

    assert turn_away(gate, quick[-1]).after < QUICK


def test_what_has_not_been_asked_for_longest_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_REMEMBERED", 3)
    gate = Gate(places=PLACES)
    busy, old, recent = somewhere(), somewhere(), somewhere()
    place = enter(gate, busy)
    for to in (recent, old, recent):
        visit(gate, to, answered=False)
    visit(gate, somewhere())

    assert {(KIND, busy.target), (KIND, recent.target)} < set(gate._targets)
    assert (KIND, old.target) not in gate._targets
    turn_away(gate, busy)
    gate.leave(place, answered=True, now=NOW)
    assert len(gate._targets) == len(gate._owners) == 3


def test_four_hundred_tarpits_of_twenty_owners_neither_delay_a_healthy_owner_nor_fill_the_queue() -> None:
    world = Simulation(Gate(places=PLACES))
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
