"""Decides which effects may start: divides the places of one worker between targets and between their owners."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.core.destinations import Destination
from openslot.jobs.target_health import AT_ONCE, HANGING_GUESS, QUICK, Named, Owner, TargetHealth, WaitingLine

Key = UUID | tuple[str, str]

MOST_REMEMBERED = 10_000

AT_THIS_TARGET = "others are on their way to this target"
OF_THIS_OWNER = "others of the same owner are on their way"
ALL_SLOW_PLACES = "all places for slow and new targets are taken"


class Place(Struct, eq=False):
    """A place that one attempt has taken."""

    health: TargetHealth
    owner: Owner
    since: datetime
    is_slow: bool
    is_hanging: bool = False

    def count(self, change: int) -> None:
        """Add to the counts of its target and its owner."""
        self.health.inside += change
        self.health.hanging += change * self.is_hanging
        self.owner.hanging += change * self.is_hanging
        if self.is_slow:
            self.owner.slow += change
        else:
            self.owner.quick += change


class Rejected(Struct, frozen=True):
    """There is no free place now: why, when to try again, and whether the target is one that answers quickly."""

    reason: str
    after: timedelta
    is_quick: bool
    waits_at: TargetHealth | None = None
    """The target that calls it before its turn when there is room; None if it waits for something else."""


class Gate:
    """Keeps targets that answer slowly or never from taking the places that others need.

    A target is quick once it has answered quickly. All others share half of the places; those of owners with a failing
    target share half of that half, so that the new targets of other owners find room. A server of the operator's own
    gets up to a quarter of the places while it answers quickly, whatever is sent to it.
    """

    def __init__(self, *, places: int) -> None:
        self.own_places = max(places // 4, AT_ONCE)
        self.slow_places = max(places // 2, 1)
        self.suspect_places = max(places // 4, 1)
        self.owner_places = max(places // 12, AT_ONCE)
        self.suspect_owner_places = max(places // 40, 1)
        self.slow_owner_places = max(places // 50, 1)
        self._targets: dict[Key, TargetHealth] = {}
        self._owners: dict[Key, Owner] = {}
        self._inside: dict[Place, None] = {}
        self._young: dict[Place, None] = {}
        self._line = WaitingLine()
        self._called: list[Named] = []

    @property
    def slow_inside(self) -> int:
        """The number of places that slow, failing and new targets take."""
        return sum(place.is_slow for place in self._inside)

    def foresee(self, kind: str, to: Destination, *, now: datetime) -> Rejected | None:
        """Return how a new effect would be turned away if its target is not quick; None if it may be tried at once."""
        self._notice_hanging(now=now)
        health, owner = self._remember(kind, to)
        return None if health.is_quick else self._find_refusal(health, owner, now=now)

    def enter(self, kind: str, to: Destination, *, now: datetime, job: str = "") -> Place | Rejected:
        """Take a place, or return when to try again."""
        self._notice_hanging(now=now)
        health, owner = self._remember(kind, to)
        health.arrive(job)
        refusal = self._find_refusal(health, owner, now=now)
        if refusal is not None:
            return refusal
        place = Place(health, owner, now, is_slow=not health.is_quick)
        place.count(+1)
        self._inside[place] = self._young[place] = None
        return place

    def leave(self, place: Place, *, answered: bool | None, now: datetime) -> None:
        """Release a place and remember how the target answered; None means that it was not called."""
        del self._inside[place]
        self._young.pop(place, None)
        place.count(-1)
        if answered is not None:
            place.health.learn(took=now - place.since, answered=answered)
        if answered is False:
            place.owner.failed_at = now
        self._called += place.health.call(now=now)

    def wait(self, refusal: Rejected, job: Named, *, now: datetime) -> None:
        """Remember who was turned away, so that they are called as soon as there is room."""
        if refusal.waits_at is not None:
            refusal.waits_at.wait(job)
            self._called += refusal.waits_at.call(now=now)

    def take_called(self) -> list[Named]:
        """Return who has been called since the last time."""
        called, self._called = self._called, []
        return called

    def _remember(self, kind: str, to: Destination) -> tuple[TargetHealth, Owner]:
        key = ("", to.target) if to.is_operators else (kind, to.target)
        most = self.own_places if to.is_operators else AT_ONCE
        health = self._targets.pop(key, None) or TargetHealth(most=most)
        owner_key = to.owner_id or key
        owner = self._owners.pop(owner_key, None) or Owner()
        # Reinserted at the end, so that the least recently used come first.
        self._targets[key] = health
        self._owners[owner_key] = owner
        _forget(self._targets)
        _forget(self._owners)
        return health, owner

    def _find_refusal(self, health: TargetHealth, owner: Owner, *, now: datetime) -> Rejected | None:
        is_suspect = owner.is_suspect(now=now)
        is_own = health.most > AT_ONCE

        def reject(reason: str, line: WaitingLine, step: timedelta) -> Rejected:
            waits_long = is_suspect and not health.is_quick
            after = line.next_turn(step, is_suspect=waits_long, now=now)
            waits_at = health if is_own or reason is AT_THIS_TARGET else None
            return Rejected(reason, after, health.is_quick, waits_at)

        if health.inside >= health.allowance:
            return reject(AT_THIS_TARGET, health.line, health.takes / health.allowance)
        if health.is_quick:
            most = health.most if is_own else self.suspect_owner_places if is_suspect else self.owner_places
            return None if owner.quick < most else reject(OF_THIS_OWNER, owner.line, health.takes / most)
        guess = HANGING_GUESS if is_suspect else health.takes
        if owner.slow >= self.slow_owner_places:
            return reject(OF_THIS_OWNER, owner.line, guess / self.slow_owner_places)
        if self.slow_inside >= self.slow_places:
            return reject(ALL_SLOW_PLACES, self._line, guess / self.slow_places)
        if is_suspect and self._count_suspects(now=now) >= self.suspect_places:
            return reject(ALL_SLOW_PLACES, self._line, guess / self.suspect_places)
        return None

    def _count_suspects(self, *, now: datetime) -> int:
        return sum(place.is_slow and place.owner.is_suspect(now=now) for place in self._inside)

    def _notice_hanging(self, *, now: datetime) -> None:
        """Count targets as slow that have not answered for too long, even if they were quick before."""
        while self._young and now - (place := next(iter(self._young))).since > QUICK:
            del self._young[place]
            place.count(-1)
            place.is_slow = place.is_hanging = True
            place.count(+1)


def _forget(known: dict[Key, TargetHealth] | dict[Key, Owner]) -> None:
    if len(known) > MOST_REMEMBERED:
        oldest = next((key for key, each in known.items() if each.is_idle), None)
        if oldest is not None:
            del known[oldest]
