"""What a worker knows of the targets it sends to, and of their owners."""

from datetime import datetime, timedelta

from msgspec import Struct, field

# Up to here an answer is quick. Whoever takes longer counts as slow, even while still being waited for.
QUICK = timedelta(seconds=2)
AT_ONCE = 4
FORGIVEN_AFTER = timedelta(minutes=10)

FIRST_GUESS = timedelta(milliseconds=50)
HANGING_GUESS = timedelta(seconds=15)
CLOSEST = timedelta(milliseconds=50)
WIDEST, LONGEST = timedelta(milliseconds=250), timedelta(seconds=60)
# Thousands may wait for targets that never answer, and each time that one of them comes costs others time.
LONGEST_OF_SUSPECTS = timedelta(minutes=10)


class Line(Struct):
    """Effects that were turned away come again one after the other."""

    last_turn: datetime | None = None

    def next_turn(self, step: timedelta, *, is_suspect: bool, now: datetime) -> timedelta:
        """Give the next turn, one step behind the one before."""
        longest = LONGEST_OF_SUSPECTS if is_suspect else LONGEST
        step = step if is_suspect else min(step, WIDEST)
        turn = max(self.last_turn or now, now) + step
        # A line that is too long begins again in its middle: nobody comes much too early, nobody much too late.
        if turn - now > longest:
            turn = now + longest / 2 + step
        self.last_turn = turn
        return max(turn - now, CLOSEST)


class Standing(Struct):
    """What is known of a target: how often in a row it answered, how fast, and what is under way to it."""

    answers: int = 0
    pace: timedelta | None = None
    has_failed: bool = False
    inside: int = 0
    hanging: int = 0
    line: Line = field(default_factory=Line)

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is under way to it."""
        return not self.inside

    @property
    def takes(self) -> timedelta:
        """Guess how long the next answer takes."""
        known = FIRST_GUESS if self.pace is None else self.pace
        return max(known, HANGING_GUESS) if self.hanging else known

    @property
    def is_quick(self) -> bool:
        """Tell whether it answered last time, answers fast, and keeps nobody waiting now."""
        return self.answers > 0 and self.takes <= QUICK

    @property
    def allowance(self) -> int:
        """Tell how many may be under way to it: each answer earns one more, a failure leaves one."""
        return min(max(self.answers, 1), AT_ONCE)

    def learn(self, *, took: timedelta, answered: bool) -> None:
        """Remember how it answered."""
        self.pace = took if self.pace is None else (self.pace * 3 + took) / 4
        self.answers = self.answers + 1 if answered else 0
        if answered and self.has_failed:
            self.line.last_turn = None
        self.has_failed = not answered


class Owner(Struct):
    """How many places the targets of one owner take, and when one of them failed last."""

    quick: int = 0
    slow: int = 0
    hanging: int = 0
    failed_at: datetime | None = None
    line: Line = field(default_factory=Line)

    @property
    def is_idle(self) -> bool:
        """Tell whether no place is taken."""
        return not self.quick + self.slow

    def is_suspect(self, *, now: datetime) -> bool:
        """Tell whether one of the targets hangs, or failed not long ago."""
        return self.hanging > 0 or (self.failed_at is not None and now - self.failed_at < FORGIVEN_AFTER)
