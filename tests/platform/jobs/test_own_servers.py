"""The operator's own servers: sent as much as they keep up with, and whoever was turned away is called."""

from datetime import datetime, timedelta

from openslot.platform.core.actor import Destination, EffectAttempt
from openslot.platform.core.ids import new_id
from openslot.platform.jobs.places import ARRIVES_WITHIN, QUICK, FairPlaces, Place, Rejected
from tests.platform.jobs.place_visits import (
    KIND,
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

OWN = Destination("the operator's", None, is_operators=True)


def crowd(fair_places: FairPlaces, to: Destination = OWN, *, now: datetime = NOW) -> list[Place]:
    """Enter until there is no room."""
    inside = []
    while isinstance(place := fair_places.enter(KIND, to, now=now), Place):
        inside.append(place)
    return inside


def job() -> EffectAttempt:
    return EffectAttempt(effect_id=new_id(), round=1)


def wait(fair_places: FairPlaces, to: Destination = OWN, *, now: datetime = NOW) -> EffectAttempt:
    """Be turned away, and wait to be called."""
    waiting = job()
    fair_places.wait(turn_away(fair_places, to, now=now), waiting, now=now)
    return waiting


def test_a_server_of_the_operators_earns_a_quarter_of_the_places_whatever_is_sent_to_it() -> None:
    fair_places = FairPlaces(count=PLACES)
    quick = proven(fair_places, somewhere())
    proven(fair_places, OWN, times=PLACES)

    assert len(crowd(fair_places)) == fair_places.own_places == PLACES // 4
    assert isinstance(fair_places.enter("probe.other", OWN, now=NOW), Rejected)
    assert fill(fair_places, somewhere) == fair_places.slow_places
    enter(fair_places, quick)


def test_a_server_of_the_operators_that_fails_starts_with_one_place_and_is_not_suspected_for_long() -> None:
    fair_places = FairPlaces(count=PLACES)
    proven(fair_places, OWN, times=PLACES)
    visit(fair_places, OWN, answered=False)
    inside = crowd(fair_places)
    assert len(inside) == 1
    fair_places.leave(inside[0], answered=True, now=NOW + SHORT)

    proven(fair_places, OWN, times=PLACES)
    assert len(crowd(fair_places)) == fair_places.own_places


def test_slow_answers_halve_what_a_server_is_sent_at_once() -> None:
    fair_places = FairPlaces(count=PLACES)
    proven(fair_places, OWN, times=PLACES)
    fair_places.leave(enter(fair_places, OWN), answered=True, now=NOW + QUICK * 1.5)

    inside = crowd(fair_places)
    assert len(inside) == fair_places.own_places // 2
    for place in inside:
        fair_places.leave(place, answered=True, now=NOW + SHORT)
    assert len(crowd(fair_places)) == fair_places.own_places // 2 * 2


def test_whoever_was_turned_away_is_called_when_there_is_room_and_the_first_comes_first() -> None:
    fair_places = FairPlaces(count=PLACES)
    proven(fair_places, OWN, times=PLACES)
    inside = crowd(fair_places)
    first, second, third = wait(fair_places), wait(fair_places), wait(fair_places)
    assert fair_places.take_called() == []

    for place in inside[:2]:
        fair_places.leave(place, answered=True, now=NOW + SHORT)
    assert fair_places.take_called() == [first, second]
    assert fair_places.take_called() == []
    fair_places.enter(KIND, OWN, now=NOW, attempt=first)
    fair_places.leave(inside[2], answered=True, now=NOW + SHORT)
    assert fair_places.take_called() == [third]


def test_whoever_comes_without_being_called_is_not_called() -> None:
    fair_places = FairPlaces(count=PLACES)
    proven(fair_places, OWN, times=PLACES)
    inside = crowd(fair_places)
    first, second = wait(fair_places), wait(fair_places)
    assert isinstance(fair_places.enter(KIND, OWN, now=NOW, attempt=first), Rejected)

    fair_places.leave(inside[0], answered=True, now=NOW + SHORT)
    assert fair_places.take_called() == [second]


def test_a_call_that_nobody_answers_is_forgotten() -> None:
    fair_places = FairPlaces(count=PLACES)
    proven(fair_places, OWN, times=PLACES)
    inside = crowd(fair_places)
    waiting = [wait(fair_places) for _ in range(3)]
    fair_places.leave(inside[0], answered=True, now=NOW)
    assert fair_places.take_called() == waiting[:1]

    fair_places.leave(inside[1], answered=True, now=NOW + ARRIVES_WITHIN * 2)
    assert fair_places.take_called() == waiting[1:]


def test_nobody_is_called_to_a_server_that_fails_until_it_answers() -> None:
    fair_places = FairPlaces(count=PLACES)
    place = enter(fair_places, OWN)
    waiting = [wait(fair_places), wait(fair_places)]
    fair_places.leave(place, answered=False, now=NOW + SHORT)
    assert fair_places.take_called() == []

    visit(fair_places, OWN)
    assert fair_places.take_called() == waiting[:1]
    fair_places.enter(KIND, OWN, now=NOW, attempt=waiting[0])


def test_whoever_waits_where_there_is_room_again_is_called_at_once() -> None:
    fair_places = FairPlaces(count=PLACES)
    proven(fair_places, OWN, times=PLACES)
    inside, waiting = crowd(fair_places), job()
    refusal = turn_away(fair_places, OWN)
    for place in inside:
        fair_places.leave(place, answered=True, now=NOW + SHORT)
    fair_places.wait(refusal, waiting, now=NOW + SHORT)

    assert fair_places.take_called() == [waiting]


class Drain(Simulation):
    """A worker that drains a backlog, and calls whoever was turned away."""

    def __init__(self, fair_places: FairPlaces, *, takes: timedelta) -> None:
        super().__init__(fair_places)
        self.takes = takes
        self.done_at: dict[EffectAttempt, datetime] = {}

    def add(self, waiting: EffectAttempt) -> None:
        """Let a mail come now."""
        self.at(NOW, lambda now: self.ask(waiting, now))

    def ask(self, waiting: EffectAttempt, now: datetime) -> None:
        """Send a mail, or wait; whoever comes by their turn after they were called has been sent already."""
        if waiting in self.done_at:
            return
        place = self.fair_places.enter(KIND, OWN, now=now, attempt=waiting)
        if isinstance(place, Rejected):
            self.put_backs["mail"] += 1
            self.at(now + place.after, lambda later: self.ask(waiting, later))
            self.fair_places.wait(place, waiting, now=now)
        else:
            self.done_at[waiting] = now
            self.at(now + self.takes, lambda end: self.fair_places.leave(place, answered=True, now=end))
        self.call(now)

    def call(self, now: datetime) -> None:
        """Let those come who were called."""
        for called in self.fair_places.take_called():
            self.at(now + SHORT, lambda later, called=called: self.ask(called, later))  # type: ignore[misc]

    def run(self, until: datetime) -> None:
        """Let time pass, and call after everything that happens."""
        while self.due and self.due[0][0] <= until:
            super().run(self.due[0][0])
            self.call(self.due[0][0] if self.due else until)


def test_a_backlog_is_drained_as_fast_as_the_server_answers_to_the_last_mail() -> None:
    fair_places = FairPlaces(count=PLACES)
    # The first answers come while the machine is busy starting: they say little about what follows.
    for _ in range(3):
        visit(fair_places, OWN, takes=timedelta(seconds=1))
    world = Drain(fair_places, takes=timedelta(milliseconds=100))
    for _ in range(1_000):
        world.add(job())
    world.run(NOW + timedelta(minutes=2))

    sent = sorted(world.done_at.values())
    assert len(sent) == 1_000
    # 25 at a time, 100 ms each and 20 ms until the next one has come: about 200 a second, in the tail too.
    assert sent[-1] - NOW < timedelta(seconds=8)
    assert sent[-1] - sent[900] < timedelta(seconds=1)
    assert world.put_backs["mail"] < 2_000
