"""Targets that ask us to wait: nothing is sent there until then, and nobody who waits loses a try by it."""

from datetime import timedelta
from itertools import count
from time import monotonic

import pytest

from openslot.platform.core.actor import Destination, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import AskedToWait, Done, Expanded, Outcome, Reaction, Runtime, Target, Work, to_target
from openslot.platform.jobs.places import AT_ONCE, LONGEST, LONGEST_WISH, FairPlaces, Place, Rejected
from openslot.runtime import open_runtime
from tests.platform.jobs.place_visits import KIND, NOW, PLACES, SHORT, enter, proven, somewhere, turn_away
from tests.platform.jobs.probes import wired
from tests.platform.jobs.support import poke, settled
from tests.support.effects import run_attempt, working

MINUTE = timedelta(minutes=1)
SENDS = "select id, round, state, attempts, last_error, next_try_at from effects where reaction = $1 order by no"


def ask_to_wait(fair_places: FairPlaces, to: Destination, after: timedelta = MINUTE) -> None:
    """Go there, and be asked to come again later."""
    asked = Rejected("too many", after, is_quick=False, is_asked=True)
    fair_places.leave(enter(fair_places, to), answered=True, now=NOW, asked=asked)


def test_nothing_is_sent_to_a_target_until_it_is_ready_and_others_are_not_concerned() -> None:
    fair_places, other = FairPlaces(count=PLACES), somewhere()
    to = proven(fair_places, somewhere())
    ask_to_wait(fair_places, to)

    refusal = turn_away(fair_places, to, now=NOW + timedelta(seconds=20))
    assert refusal.reason == "too many"
    assert timedelta(seconds=40) < refusal.after < timedelta(seconds=41)
    foreseen = fair_places.foresee(KIND, to, now=NOW + timedelta(seconds=50))
    assert foreseen is not None
    assert timedelta(seconds=10) < foreseen.after < timedelta(seconds=11)
    enter(fair_places, other, now=NOW)
    enter(fair_places, to, now=NOW + MINUTE)


def test_a_target_that_has_asked_gets_half_as_many_at_once() -> None:
    fair_places = FairPlaces(count=PLACES)
    to = proven(fair_places, somewhere())
    ask_to_wait(fair_places, to)

    came = [fair_places.enter(KIND, to, now=NOW + MINUTE) for _ in range(AT_ONCE)]
    assert sum(isinstance(each, Place) for each in came) == AT_ONCE // 2


def test_the_longest_wait_that_it_has_asked_for_counts() -> None:
    fair_places = FairPlaces(count=PLACES)
    to = proven(fair_places, somewhere())
    first, second = enter(fair_places, to), enter(fair_places, to)
    for place, after in ((first, 60 * MINUTE), (second, MINUTE)):
        fair_places.leave(
            place, answered=True, now=NOW, asked=Rejected("too many", after, is_quick=False, is_asked=True)
        )

    assert turn_away(fair_places, to, now=NOW + 2 * MINUTE).after > 58 * MINUTE


def test_those_who_wait_come_one_after_the_other_when_it_is_ready() -> None:
    fair_places = FairPlaces(count=PLACES)
    to = proven(fair_places, somewhere())
    ask_to_wait(fair_places, to)

    turns = [turn_away(fair_places, to).after for _ in range(10_000)]

    assert min(turns) > MINUTE
    assert max(turns) <= MINUTE + LONGEST
    a_second = [len([each for each in turns if each // timedelta(seconds=1) == second]) for second in range(60, 121)]
    assert max(a_second) < 500


def test_a_success_that_was_under_way_ends_no_wait_and_calls_nobody() -> None:
    fair_places = FairPlaces(count=PLACES)
    to = proven(fair_places, somewhere())
    under_way = [enter(fair_places, to) for _ in range(3)]
    ask_to_wait(fair_places, to)
    fair_places.wait(
        Rejected("no room", SHORT, is_quick=True, waits_at=fair_places._targets[KIND, to.target]), attempt(), now=NOW
    )
    for place in under_way:
        fair_places.leave(place, answered=True, now=NOW + SHORT)

    assert fair_places.take_called() == []
    turn_away(fair_places, to, now=NOW + SHORT)


def test_a_clock_that_is_set_back_ends_the_wait() -> None:
    fair_places, to = FairPlaces(count=PLACES), somewhere()
    ask_to_wait(fair_places, to)

    assert isinstance(fair_places.enter(KIND, to, now=NOW - timedelta(days=1)), Place)


def attempt() -> EffectAttempt:
    return EffectAttempt(new_id(), 0)


def sending(answer: Outcome | AskedToWait, *, delays: tuple[timedelta, ...] = (MINUTE,)) -> Reaction:
    async def send(work: Work, effect: Effect) -> Outcome:
        del work, effect
        if isinstance(answer, AskedToWait):
            raise answer
        return answer

    return Reaction(name=KIND, run=send, delays=delays, destination=to_target)


async def to_one(_: Work, effect: Effect) -> Outcome:
    del effect
    return Expanded((Target(reaction=KIND, target="one"),))


async def run_all(runtime: Runtime, reaction: str, fair_places: FairPlaces) -> None:
    for row in await runtime.pool.fetch(SENDS, reaction):
        await run_attempt(runtime, EffectAttempt(row["id"], row["round"]), fair_places)


@pytest.mark.parametrize(("after", "waited"), [(MINUTE, MINUTE), (timedelta(days=365), LONGEST_WISH)])
async def test_neither_who_was_asked_to_wait_nor_who_was_not_sent_loses_a_try(
    settings: Settings, after: timedelta, waited: timedelta
) -> None:
    fair_places = FairPlaces(count=20)
    reaction = sending(AskedToWait("too many", after=after))
    async with open_runtime(settings, wiring=wired(to_one, more=(reaction,))) as runtime:
        for note in ("first", "second"):
            await poke(runtime, note)
        await run_all(runtime, "probe.write", fair_places)
        await run_all(runtime, KIND, fair_places)

        rows = await runtime.pool.fetch(SENDS, KIND)
        assert [(row["state"], row["attempts"], row["last_error"]) for row in rows] == [("queued", 0, "too many")] * 2
        for row in rows:
            assert waited - MINUTE < row["next_try_at"] - runtime.clock() < waited + MINUTE


async def test_tries_are_counted_if_a_target_asks_for_longer_than_all_of_them_take(settings: Settings) -> None:
    fair_places = FairPlaces(count=20)
    reaction = sending(AskedToWait("too many", after=MINUTE))
    async with open_runtime(settings, wiring=wired(to_one, more=(reaction,))) as runtime:
        await poke(runtime, "old")
        await run_all(runtime, "probe.write", fair_places)
        await runtime.pool.execute("update effects set created_at = now() - interval '61 seconds'")

        states = []
        for _ in range(2):
            await run_all(runtime, KIND, fair_places)
            states += [(row["state"], row["attempts"]) for row in await runtime.pool.fetch(SENDS, KIND)]

    assert states == [("queued", 1), ("dead", 2)]


@pytest.mark.rest("waits for seconds")
async def test_a_crowd_gets_through_a_target_with_a_limit_as_fast_as_it_allows(settings: Settings) -> None:
    """Ten requests in half a second are allowed; eighty come at once."""
    asked: list[float] = []
    numbers = count()

    async def send(work: Work, effect: Effect) -> Outcome:
        del work, effect
        now = monotonic()
        if len([each for each in asked if each > now - 0.5]) >= 10:
            raise AskedToWait("too many", after=timedelta(seconds=0.5))
        asked.append(now)
        return Done(vendor_id=str(next(numbers)))

    # The growing delays of tries that fail would take minutes.
    reaction = Reaction(name=KIND, run=send, delays=(MINUTE, 10 * MINUTE), destination=to_target)
    async with open_runtime(settings, wiring=wired(to_one, more=(reaction,))) as runtime:
        for number in range(80):
            await poke(runtime, str(number))
        async with working(runtime):
            assert set(await settled(runtime)) == {"done"}
        rows = await runtime.pool.fetch(SENDS, KIND)
        assert [row["attempts"] for row in rows] == [1] * 80
