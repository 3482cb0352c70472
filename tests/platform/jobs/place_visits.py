"""Attempts that take places, and a simulation of many."""

import heapq
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

from openslot.platform.core.actor import Destination
from openslot.platform.core.ids import new_id
from openslot.platform.jobs.places import AT_ONCE, FairPlaces, Place, Rejected

NOW = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)
SHORT, LONG = timedelta(milliseconds=20), timedelta(seconds=15)
KIND = "probe.send"
PLACES = 100


def somewhere(owner_id: UUID | None = None) -> Destination:
    """Name a new target, of a new owner unless one is given."""
    return Destination(str(new_id()), owner_id or new_id())


def enter(fair_places: FairPlaces, to: Destination, *, now: datetime = NOW) -> Place:
    """Take a place that must be there."""
    place = fair_places.enter(KIND, to, now=now)
    assert isinstance(place, Place)
    return place


def turn_away(fair_places: FairPlaces, to: Destination, *, now: datetime = NOW) -> Rejected:
    """Ask for a place that must not be there."""
    refusal = fair_places.enter(KIND, to, now=now)
    assert isinstance(refusal, Rejected)
    return refusal


def visit(
    fair_places: FairPlaces, to: Destination, *, takes: timedelta = SHORT, answered: bool = True, now: datetime = NOW
) -> None:
    """Go there and come back."""
    fair_places.leave(enter(fair_places, to, now=now), answered=answered, now=now + takes)


def proven(fair_places: FairPlaces, to: Destination, *, times: int = AT_ONCE, now: datetime = NOW) -> Destination:
    """Let a target answer quickly, so often."""
    for _ in range(times):
        visit(fair_places, to, now=now)
    return to


def fill(fair_places: FairPlaces, make: Callable[[], Destination], *, now: datetime = NOW) -> int:
    """Send more than there are places, each somewhere else; tell how many went."""
    return sum(isinstance(fair_places.enter(KIND, make(), now=now), Place) for _ in range(3 * PLACES))


class Simulation:
    """A worker, its queue and a clock, without any of them: what is turned away comes again when it was told to."""

    def __init__(self, fair_places: FairPlaces) -> None:
        self.fair_places = fair_places
        self.numbers = count()
        self.due: list[tuple[datetime, int, Callable[[datetime], None]]] = []
        self.tries: Counter[str] = Counter()
        self.put_backs: Counter[str] = Counter()
        self.waits: list[timedelta] = []
        self.most_slow = 0

    def at(self, when: datetime, do: Callable[[datetime], None]) -> None:
        """Do something at a time."""
        heapq.heappush(self.due, (when, next(self.numbers), do))

    def send(self, who: str, to: Destination, *, takes: timedelta, answered: bool, when: datetime) -> None:
        """Send an effect somewhere, once."""

        def ask(now: datetime) -> None:
            place = self.fair_places.enter(KIND, to, now=now)
            if isinstance(place, Rejected):
                self.put_backs[who] += 1
                self.at(now + place.after, ask)
                return
            self.tries[who] += 1
            self.most_slow = max(self.most_slow, self.fair_places.slow_inside)
            if answered:
                self.waits.append(now - when)
            self.at(now + takes, lambda end: self.fair_places.leave(place, answered=answered, now=end))

        self.at(when, ask)

    def run(self, until: datetime) -> None:
        """Let time pass."""
        while self.due and self.due[0][0] <= until:
            when, _, do = heapq.heappop(self.due)
            do(when)
