"""What a worker knows about the targets it sends to, and about their owners."""

from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol

from msgspec import Struct, field

# An answer within this time is quick. A target that takes longer counts as slow, even before it has answered.
QUICK = timedelta(seconds=2)
AT_ONCE = 4
# An effect that was called is expected to arrive within this time, unless another worker has taken it.
ARRIVES_WITHIN = timedelta(seconds=1)
MOST_WAITING = 10_000
FORGIVEN_AFTER = timedelta(minutes=10)

FIRST_GUESS = timedelta(milliseconds=50)
HANGING_GUESS = timedelta(seconds=15)
CLOSEST = timedelta(milliseconds=50)
WIDEST, LONGEST = timedelta(milliseconds=250), timedelta(seconds=60)
# Thousands of effects may wait for targets that never answer, and each attempt takes time from others.
LONGEST_OF_SUSPECTS = timedelta(minutes=10)


class Named(Protocol):
    """A job that waits."""

    @property
    def name(self) -> str:
        """What the queue knows it by."""
        ...


class WaitingLine(Struct):
    """The order in which effects that were turned away are tried again, one after the other."""

    last_turn: datetime | None = None

    def next_turn(self, step: timedelta, *, is_suspect: bool, now: datetime) -> timedelta:
        """Return how long to wait for the next turn, which is one step after the previous one."""
        longest = LONGEST_OF_SUSPECTS if is_suspect else LONGEST
        step = step if is_suspect else min(step, WIDEST)
        turn = max(self.last_turn or now, now) + step
        # If the line is too long, continue in its middle, so that no turn is much too early or much too late.
        if turn - now > longest:
            turn = now + longest / 2 + step
        self.last_turn = turn
        return max(turn - now, CLOSEST)


class TargetHealth(Struct):
    """What is known about a target: how well it has answered, how fast, what it is being sent now, and what waits."""

    most: int = AT_ONCE
    answers: int = 0
    pace: timedelta | None = None
    has_failed: bool = False
    inside: int = 0
    hanging: int = 0
    line: WaitingLine = field(default_factory=WaitingLine)
    waiting: dict[str, Named] = field(default_factory=dict)
    called: dict[str, datetime] = field(default_factory=dict)

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is being sent to it."""
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
        """Remember how it answered."""
        self.pace = took if self.pace is None else (self.pace * 3 + took) / 4
        if not answered:
            self.answers = 0
        else:
            self.answers = min(self.answers + 1, self.most) if took <= QUICK else max(self.answers // 2, 1)
        if answered and self.has_failed:
            self.line.last_turn = None
        self.has_failed = not answered

    def wait(self, job: Named) -> None:
        """Remember an effect that was turned away, behind the others."""
        self.waiting[job.name] = job
        if len(self.waiting) > MOST_WAITING:
            del self.waiting[next(iter(self.waiting))]

    def arrive(self, name: str) -> None:
        """Forget an effect that has come, because it was called or because its turn came."""
        self.waiting.pop(name, None)
        self.called.pop(name, None)

    def call(self, *, now: datetime) -> list[Named]:
        """Choose who may come before their turn, because there is room; whoever has waited longest comes first."""
        while self.called and now - next(iter(self.called.values())) > ARRIVES_WITHIN:
            del self.called[next(iter(self.called))]
        free = self.allowance - self.inside - len(self.called) if self.is_quick else 0
        chosen = list(islice(self.waiting, max(free, 0)))
        self.called.update(dict.fromkeys(chosen, now))
        return [self.waiting.pop(name) for name in chosen]


class Owner(Struct):
    """How many places the targets of one owner take, and when one of them last failed."""

    quick: int = 0
    slow: int = 0
    hanging: int = 0
    failed_at: datetime | None = None
    line: WaitingLine = field(default_factory=WaitingLine)

    @property
    def is_idle(self) -> bool:
        """Return whether it takes no places."""
        return not self.quick + self.slow

    def is_suspect(self, *, now: datetime) -> bool:
        """Return whether one of the targets hangs, or has failed recently."""
        return self.hanging > 0 or (self.failed_at is not None and now - self.failed_at < FORGIVEN_AFTER)
