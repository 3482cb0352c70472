"""Decides which effects may start and which try again: places of one worker divided between targets and owners."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import uniform
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from openslot.platform.core.actor import Destination, EffectAttempt

# An answer within this time is quick. A target that takes longer counts as slow, even before it has answered.
QUICK = timedelta(seconds=2)
AT_ONCE = 4
# An effect that was called is expected to arrive within this time, unless another worker has taken it.
ARRIVES_WITHIN = timedelta(seconds=1)
MAX_WAITING = 10_000
FORGIVEN_AFTER = timedelta(minutes=10)

# No attempt takes longer than this. What seems to, or to take less than nothing, was measured by a clock that was set.
LONGEST_ATTEMPT = timedelta(minutes=5)

FIRST_GUESS = timedelta(milliseconds=50)
HANGING_GUESS = timedelta(seconds=15)
CLOSEST = timedelta(milliseconds=50)
WIDEST, LONGEST = timedelta(milliseconds=250), timedelta(seconds=60)
# Thousands of effects may wait for targets that never answer, and each attempt takes time from others.
LONGEST_OF_SUSPECTS = timedelta(minutes=10)
MAX_REMEMBERED = 10_000

JITTER = 0.1
LONGEST_WISH = timedelta(hours=24)
SHORTEST_HAND_OVER, LONGEST_HAND_OVER = timedelta(seconds=5), timedelta(seconds=30)

AT_THIS_TARGET = "others are on their way to this target"
OF_THIS_OWNER = "others of the same owner are on their way"
ALL_SLOW_PLACES = "all places for slow and new targets are taken"
TURNED_AWAY = (AT_THIS_TARGET, OF_THIS_OWNER, ALL_SLOW_PLACES)

Key = UUID | tuple[str, str]


class WaitingLine(Struct):
    """The order in which effects that were turned away are tried again, one after the other."""

    last_start: datetime | None = None

    def wait_behind(self, step: timedelta, *, is_suspect: bool, now: datetime) -> timedelta:
        """Return how long to wait: one step longer than the one before."""
        longest = LONGEST_OF_SUSPECTS if is_suspect else LONGEST
        step = step if is_suspect else min(step, WIDEST)
        start = max(self.last_start or now, now) + step
        # If the line is too long, continue in its middle, so that no start is much too early or much too late.
        if start - now > longest:
            start = now + longest / 2 + step
        self.last_start = start
        return max(start - now, CLOSEST)


class FairLine(Struct):
    """Who waits for room: those of one account one after the other, and the accounts in turns."""

    by_account: dict[UUID | None, dict[EffectAttempt, None]] = field(default_factory=dict)
    account_of: dict[EffectAttempt, UUID | None] = field(default_factory=dict)

    def join(self, attempt: EffectAttempt, account: UUID | None) -> None:
        """Come behind the others of one's account; if too many wait, the first of them is forgotten."""
        line = self.by_account.setdefault(account, {})
        line[attempt] = None
        self.account_of[attempt] = account
        if len(self.account_of) > MAX_WAITING:
            self.leave(next(iter(line)))

    def leave(self, attempt: EffectAttempt) -> None:
        if attempt not in self.account_of:
            return
        account = self.account_of.pop(attempt)
        del self.by_account[account][attempt]
        if not self.by_account[account]:
            del self.by_account[account]

    def take(self, count: int) -> list[EffectAttempt]:
        """Take so many out, of each account one in turn, beginning with the account that was not asked for longest."""
        chosen = []
        for _ in range(min(max(count, 0), len(self.account_of))):
            account, line = next(iter(self.by_account.items()))
            attempt = next(iter(line))
            self.leave(attempt)
            chosen.append(attempt)
            if line:
                # Behind all others.
                self.by_account[account] = self.by_account.pop(account)
        return chosen


class TargetHealth(Struct):
    """What is known about a target: how well it has answered, how fast, what it is being sent now, and what waits."""

    max_: int = AT_ONCE
    answers: int = 0
    pace: timedelta | None = None
    has_failed: bool = False
    inside: int = 0
    hanging: int = 0
    asked: "tuple[datetime, Rejected] | None" = None
    """When it has asked us to wait, why, and for how long."""
    line: WaitingLine = field(default_factory=WaitingLine)
    waiting: FairLine = field(default_factory=FairLine)
    called: dict[EffectAttempt, datetime] = field(default_factory=dict)

    @property
    def is_idle(self) -> bool:
        return not self.inside

    @property
    def takes(self) -> timedelta:
        """Estimate how long the next answer takes."""
        known = FIRST_GUESS if self.pace is None else self.pace
        return max(known, HANGING_GUESS) if self.hanging else known

    @property
    def is_quick(self) -> bool:
        """Return whether its last attempt succeeded, it answers fast, and no answer is overdue now."""
        return self.answers > 0 and self.takes <= QUICK

    @property
    def allowance(self) -> int:
        """Return how many attempts may run at once: quick answers add, slow ones take half, a failure leaves one."""
        return max(self.answers, 1)

    def learn(self, *, took: timedelta, answered: bool) -> None:
        self.pace = took if self.pace is None else (self.pace * 3 + took) / 4
        if not answered:
            self.answers = 0
        else:
            self.answers = min(self.answers + 1, self.max_) if took <= QUICK else max(self.answers // 2, 1)
        if answered and self.has_failed:
            self.line.last_start = None
        self.has_failed = not answered

    def ask_to_wait(self, asked: "Rejected", *, now: datetime) -> None:
        """Remember that nothing is to be sent for a while; after that, half as many at once as before."""
        known = self.find_wait(now=now)
        if known is None or known.after < asked.after:
            self.asked = (now, asked)
        self.answers = max(self.answers // 2, 1)

    def find_wait(self, *, now: datetime) -> "Rejected | None":
        """Return how long nothing is to be sent; None if that is over, or if the clock was set back meanwhile."""
        if self.asked is None:
            return None
        since, asked = self.asked
        return replace(asked, after=since + asked.after - now) if since <= now < since + asked.after else None

    def arrive(self, attempt: EffectAttempt) -> None:
        """Forget an effect that has come, because it was called or because its turn came."""
        self.waiting.leave(attempt)
        self.called.pop(attempt, None)

    def call(self, *, now: datetime, at_least: int = 0) -> list[EffectAttempt]:
        """Choose who may come before their turn, because there is room; accounts take turns.

        As many as there is room for if it is quick; otherwise `at_least` so many, if nobody is on their way.
        """
        if self.find_wait(now=now):
            return []
        while self.called and now - next(iter(self.called.values())) > ARRIVES_WITHIN:
            del self.called[next(iter(self.called))]
        free = (self.allowance if self.is_quick else at_least) - self.inside - len(self.called)
        chosen = self.waiting.take(free)
        self.called.update(dict.fromkeys(chosen, now))
        return chosen


class Owner(Struct):
    """How many places the targets of one owner take, and when one of them last failed."""

    quick: int = 0
    slow: int = 0
    hanging: int = 0
    failed_at: datetime | None = None
    line: WaitingLine = field(default_factory=WaitingLine)
    slow_line: WaitingLine = field(default_factory=WaitingLine)
    """The line of its slow, failing and new targets, so that their long steps don't delay the quick ones."""

    @property
    def is_idle(self) -> bool:
        return not self.quick + self.slow

    def is_suspect(self, *, now: datetime) -> bool:
        """Return whether one of the targets hangs, or has failed recently."""
        return self.hanging > 0 or (self.failed_at is not None and abs(now - self.failed_at) < FORGIVEN_AFTER)


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

    def measure(self, *, now: datetime) -> timedelta:
        """Return how long the attempt has taken, or an estimate if the clock was set meanwhile."""
        took = now - self.since
        return took if timedelta() <= took <= LONGEST_ATTEMPT else self.health.takes


class Rejected(Struct, frozen=True):
    """There is no free place now: why, when to try again, and whether the target is one that answers quickly."""

    reason: str
    after: timedelta
    is_quick: bool
    waits_at: TargetHealth | None = None
    """The target that calls it before its turn when there is room; None if it waits for something else."""
    is_asked: bool = False
    """Whether the target itself has asked for it."""


class FairPlaces:
    """Keeps targets that answer slowly or never from taking the places that others need.

    A target is quick once it has answered quickly. All others share half of the places; those of owners with a failing
    target share half of that half, so that the new targets of other owners find room. A server of the operator's own
    gets up to a quarter of the places while it answers quickly, whatever is sent to it.
    """

    def __init__(self, *, count: int) -> None:
        self.own_places = max(count // 4, AT_ONCE)
        self.slow_places = max(count // 2, 1)
        self.suspect_places = max(count // 4, 1)
        self.owner_places = max(count // 12, AT_ONCE)
        self.suspect_owner_places = max(count // 40, 1)
        self.slow_owner_places = max(count // 50, 1)
        self._targets: dict[Key, TargetHealth] = {}
        self._owners: dict[Key, Owner] = {}
        self._inside: dict[Place, None] = {}
        self._young: dict[Place, None] = {}
        self._line = WaitingLine()
        self._called: list[EffectAttempt] = []

    @property
    def slow_inside(self) -> int:
        """The number of places that slow, failing and new targets take."""
        return sum(place.is_slow for place in self._inside)

    def foresee(self, kind: str, to: Destination, *, now: datetime) -> Rejected | None:
        """Return how a new effect would be turned away if its target is not quick; None if it may be tried at once."""
        self._notice_hanging(now=now)
        health, owner = self._remember(kind, to)
        return _find_wait(health, now=now) or (None if health.is_quick else self._find_refusal(health, owner, now=now))

    def enter(
        self, kind: str, to: Destination, *, now: datetime, attempt: EffectAttempt | None = None
    ) -> Place | Rejected:
        """Take a place, or return when to try again."""
        self._notice_hanging(now=now)
        health, owner = self._remember(kind, to)
        if attempt is not None:
            health.arrive(attempt)
        refusal = _find_wait(health, now=now) or self._find_refusal(health, owner, now=now)
        if refusal is not None:
            return refusal
        place = Place(health, owner, now, is_slow=not health.is_quick)
        place.count(+1)
        self._inside[place] = self._young[place] = None
        return place

    def leave(self, place: Place, *, answered: bool | None, now: datetime, asked: Rejected | None = None) -> None:
        """Release a place and remember how the target answered, and whether it has asked us to wait.

        `answered` is None if it was not called.
        """
        del self._inside[place]
        self._young.pop(place, None)
        place.count(-1)
        took = place.measure(now=now)
        if answered is not None:
            place.health.learn(took=took, answered=answered)
        if answered is False:
            place.owner.failed_at = now
        if asked is not None:
            place.health.ask_to_wait(asked, now=now)
        # Whoever was slow and has just answered quickly gets the next one, and is quick again after a few of them.
        self._called += place.health.call(now=now, at_least=int(answered is True and took <= QUICK))

    def wait(self, refusal: Rejected, attempt: EffectAttempt, *, now: datetime, account: UUID | None = None) -> None:
        """Remember who was turned away, so that they are called as soon as there is room."""
        if refusal.waits_at is not None:
            refusal.waits_at.waiting.join(attempt, account)
            self._called += refusal.waits_at.call(now=now)

    def take_called(self) -> list[EffectAttempt]:
        """Return who has been called since the last time."""
        called, self._called = self._called, []
        return called

    def _remember(self, kind: str, to: Destination) -> tuple[TargetHealth, Owner]:
        key = ("", to.target) if to.is_operators else (kind, to.target)
        max_ = self.own_places if to.is_operators else AT_ONCE
        health = self._targets.pop(key, None) or TargetHealth(max_=max_)
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
        is_own = health.max_ > AT_ONCE

        def reject(reason: str, line: WaitingLine, step: timedelta) -> Rejected:
            waits_long = is_suspect and not health.is_quick
            after = line.wait_behind(step, is_suspect=waits_long, now=now)
            # Whoever waits for another place is called too once its target answers quickly; until then, in its turn.
            waits_at = health if is_own or reason is AT_THIS_TARGET or not health.is_quick else None
            return Rejected(reason, after, health.is_quick, waits_at)

        if health.inside >= health.allowance:
            return reject(AT_THIS_TARGET, health.line, health.takes / health.allowance)
        if health.is_quick:
            max_ = health.max_ if is_own else self.suspect_owner_places if is_suspect else self.owner_places
            return None if owner.quick < max_ else reject(OF_THIS_OWNER, owner.line, health.takes / max_)
        guess = HANGING_GUESS if is_suspect else health.takes
        if owner.slow >= self.slow_owner_places:
            return reject(OF_THIS_OWNER, owner.slow_line, guess / self.slow_owner_places)
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


def _find_wait(health: TargetHealth, *, now: datetime) -> Rejected | None:
    """Return whether a target has asked us to wait; those who do come one after the other when it is ready."""
    asked = health.find_wait(now=now)
    if asked is None:
        return None
    wait = health.line.wait_behind(health.takes / health.allowance, is_suspect=False, now=now + asked.after)
    return replace(asked, after=asked.after + wait, waits_at=health)


def _forget(known: dict[Key, TargetHealth] | dict[Key, Owner]) -> None:
    if len(known) > MAX_REMEMBERED:
        oldest = next((key for key, each in known.items() if each.is_idle), None)
        if oldest is not None:
            del known[oldest]


def hand_over_delay(age: timedelta, *, spread: Callable[[float, float], float] = uniform) -> timedelta:
    """Choose how long an effect waits for a worker that knows it: seconds at first, half a minute when it is old."""
    return min(max(age / 4, SHORTEST_HAND_OVER), LONGEST_HAND_OVER) * spread(1 - JITTER, 1 + JITTER)


def next_delay(
    delays: Sequence[timedelta],
    attempts: int,
    *,
    wished: timedelta | None = None,
    spread: Callable[[float, float], float] = uniform,
) -> timedelta | None:
    """Choose the delay after this many attempts, or return None if there were enough.

    A delay that the other side asks for is honoured up to a day, and never shortens our own.
    """
    if attempts > len(delays):
        return None
    planned = delays[attempts - 1] * spread(1 - JITTER, 1 + JITTER)
    return max(planned, min(wished, LONGEST_WISH)) if wished is not None else planned
