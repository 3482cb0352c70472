"""The operator's own servers: sent as much as they keep up with, and whoever was turned away is called."""

from datetime import datetime, timedelta

from openslot.platform.core.actor import Destination, EffectAttempt
from openslot.platform.core.ids import new_id
from openslot.platform.jobs.places import ARRIVES_WITHIN, QUICK, Gate, Place, Rejected
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


def crowd(gate: Gate, to: Destination = OWN, *, now: datetime = NOW) -> list[Place]:
    """Enter until there is no room."""
    inside = []
    while isinstance(place := gate.enter(KIND, to, now=now), Place):
        inside.append(place)
    return inside


def job() -> EffectAttempt:
    return EffectAttempt(effect_id=new_id(), round=1)


def wait(gate: Gate, to: Destination = OWN, *, now: datetime = NOW) -> EffectAttempt:
    """Be turned away, and wait to be called."""
    waiting = job()
    gate.wait(turn_away(gate, to, now=now), waiting, now=now)
    return waiting


def test_a_server_of_the_operators_earns_a_quarter_of_the_places_whatever_is_sent_to_it() -> None:
    gate = Gate(places=PLACES)
    quick = proven(gate, somewhere())
    proven(gate, OWN, times=PLACES)

    assert len(crowd(gate)) == gate.own_places == PLACES // 4
    assert isinstance(gate.enter("probe.other", OWN, now=NOW), Rejected)
    assert fill(gate, somewhere) == gate.slow_places
    enter(gate, quick)


def test_a_server_of_the_operators_that_fails_starts_with_one_place_and_is_not_suspected_for_long() -> None:
    gate = Gate(places=PLACES)
    proven(gate, OWN, times=PLACES)
    visit(gate, OWN, answered=False)
    inside = crowd(gate)
    assert len(inside) == 1
    gate.leave(inside[0], answered=True, now=NOW + SHORT)

    proven(gate, OWN, times=PLACES)
    assert len(crowd(gate)) == gate.own_places


def test_slow_answers_halve_what_a_server_is_sent_at_once() -> None:
    gate = Gate(places=PLACES)
    proven(gate, OWN, times=PLACES)
    gate.leave(enter(gate, OWN), answered=True, now=NOW + QUICK * 1.5)

    inside = crowd(gate)
    assert len(inside) == gate.own_places // 2
    for place in inside:
        gate.leave(place, answered=True, now=NOW + SHORT)
    assert len(crowd(gate)) == gate.own_places // 2 * 2


def test_whoever_was_turned_away_is_called_when_there_is_room_and_the_first_comes_first() -> None:
    gate = Gate(places=PLACES)
    proven(gate, OWN, times=PLACES)
    inside = crowd(gate)
    first, second, third = wait(gate), wait(gate), wait(gate)
    assert gate.take_called() == []

    for place in inside[:2]:
        gate.leave(place, answered=True, now=NOW + SHORT)
    assert gate.take_called() == [first, second]
    assert gate.take_called() == []
    gate.enter(KIND, OWN, now=NOW, attempt=first)
    gate.leave(inside[2], answered=True, now=NOW + SHORT)
    assert gate.take_called() == [third]


def test_whoever_comes_without_being_called_is_not_called() -> None:
    gate = Gate(places=PLACES)
    proven(gate, OWN, times=PLACES)
    inside = crowd(gate)
    first, second = wait(gate), wait(gate)
    assert isinstance(gate.enter(KIND, OWN, now=NOW, attempt=first), Rejected)

    gate.leave(inside[0], answered=True, now=NOW + SHORT)
    assert gate.take_called() == [second]


def test_a_call_that_nobody_answers_is_forgotten() -> None:
    gate = Gate(places=PLACES)
    proven(gate, OWN, times=PLACES)
    inside = crowd(gate)
    waiting = [wait(gate) for _ in range(3)]
    gate.leave(inside[0], answered=True, now=NOW)
    assert gate.take_called() == waiting[:1]

    gate.leave(inside[1], answered=True, now=NOW + ARRIVES_WITHIN * 2)
    assert gate.take_called() == waiting[1:]


def test_nobody_is_called_to_a_server_that_fails_until_it_answers() -> None:
    gate = Gate(places=PLACES)
    place = enter(gate, OWN)
    waiting = [wait(gate), wait(gate)]
    gate.leave(place, answered=False, now=NOW + SHORT)
    assert gate.take_called() == []

    visit(gate, OWN)
    assert gate.take_called() == waiting[:1]
    gate.enter(KIND, OWN, now=NOW, attempt=waiting[0])


def test_whoever_waits_where_there_is_room_again_is_called_at_once() -> None:
    gate = Gate(places=PLACES)
    proven(gate, OWN, times=PLACES)
    inside, waiting = crowd(gate), job()
    refusal = turn_away(gate, OWN)
    for place in inside:
        gate.leave(place, answered=True, now=NOW + SHORT)
    gate.wait(refusal, waiting, now=NOW + SHORT)

    assert gate.take_called() == [waiting]


class Drain(Simulation):
    """A worker that drains a backlog, and calls whoever was turned away."""

    def __init__(self, gate: Gate, *, takes: timedelta) -> None:
        super().__init__(gate)
        self.takes = takes
        self.done_at: dict[EffectAttempt, datetime] = {}

    def add(self, waiting: EffectAttempt) -> None:
        """Let a mail come now."""
        self.at(NOW, lambda now: self.ask(waiting, now))

    def ask(self, waiting: EffectAttempt, now: datetime) -> None:
        """Send a mail, or wait; whoever comes by their turn after they were called has been sent already."""
        if waiting in self.done_at:
            return
        place = self.gate.enter(KIND, OWN, now=now, attempt=waiting)
        if isinstance(place, Rejected):
            self.put_backs["mail"] += 1
            self.at(now + place.after, lambda later: self.ask(waiting, later))
            self.gate.wait(place, waiting, now=now)
        else:
            self.done_at[waiting] = now
            self.at(now + self.takes, lambda end: self.gate.leave(place, answered=True, now=end))
        self.call(now)

    def call(self, now: datetime) -> None:
        """Let those come who were called."""
        for called in self.gate.take_called():
            self.at(now + SHORT, lambda later, called=called: self.ask(called, later))  # type: ignore[misc]

    def run(self, until: datetime) -> None:
        """Let time pass, and call after everything that happens."""
        while self.due and self.due[0][0] <= until:
            super().run(self.due[0][0])
            self.call(self.due[0][0] if self.due else until)


def test_a_backlog_is_drained_as_fast_as_the_server_answers_to_the_last_mail() -> None:
    gate = Gate(places=PLACES)
    # The first answers come while the machine is busy starting: they say little about what follows.
    for _ in range(3):
        visit(gate, OWN, takes=timedelta(seconds=1))
    world = Drain(gate, takes=timedelta(milliseconds=100))
    for _ in range(1_000):
        world.add(job())
    world.run(NOW + timedelta(minutes=2))

    sent = sorted(world.done_at.values())
    assert len(sent) == 1_000
    # 25 at a time, 100 ms each and 20 ms until the next one has come: about 200 a second, in the tail too.
    assert sent[-1] - NOW < timedelta(seconds=8)
    assert sent[-1] - sent[900] < timedelta(seconds=1)
    assert world.put_backs["mail"] < 2_000
