"""Recurrence rules by dateutil between two times of a wall clock, with a bound on the work that any rule can cause."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from sys import getsizeof
from time import thread_time
from typing import Self

from dateutil.rrule import rrulestr

from openslot.domains.calendars.errors import LONG_ZONES, CalendarUnreadable

MAX_OF_ONE_RULE = 20_000
MAX_INTERVAL = 10_000
MAX_TIMES_OF_DAY = 1_500
# What dateutil does for a rule: it looks at every day of a period, and for some rules at every hour, minute or second.
UNITS = {
    "SECONDLY": timedelta(seconds=1),
    "MINUTELY": timedelta(minutes=1),
    "HOURLY": timedelta(hours=1),
    "DAILY": timedelta(days=1),
    "WEEKLY": timedelta(weeks=1),
    "MONTHLY": timedelta(days=28),
    "YEARLY": timedelta(days=365),
}
DAYS_OF = {"WEEKLY": 7, "MONTHLY": 31, "YEARLY": 366}
WITHIN_A_DAY = frozenset({"SECONDLY", "MINUTELY", "HOURLY"})
TIMES_OF_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")
LOOKS_A_STEP, TRIES_A_STEP = 20, 100
CHECK_EVERY = 200


class BadRule(ValueError):
    """The rule is invalid, or would take too long to expand."""


class TakesTooLongError(Exception):
    """The time for one calendar is over."""


class PastTheEndError(Exception):
    """The rule gives nothing more before the end."""


class Budget:
    """What one calendar may still cost: steps of its rules, seconds of the processor, and bytes of what is kept."""

    def __init__(self, steps: int = 300_000, *, seconds: float = 60, bytes_: int = 100 * 1024 * 1024) -> None:
        self.left = steps
        self._bytes_left = bytes_
        self._until = thread_time() + seconds
        self._unchecked = CHECK_EVERY

    def spend(self, steps: int) -> None:
        """Take steps for a rule, or refuse it; a rule that is refused takes none, and so leaves the others theirs."""
        self.check_time(steps)
        if steps > self.left:
            raise BadRule("takes too long to expand")
        self.left -= steps

    def keep(self, text: str) -> str:
        """Return a text that is kept, or refuse the calendar: events with their zones can be far longer than it is."""
        # As it is in memory: one letter of another alphabet makes all others take up to four bytes.
        self._bytes_left -= getsizeof(text)
        if self._bytes_left < 0:
            raise CalendarUnreadable(LONG_ZONES)
        return text

    def check_time(self, steps: int = 1) -> None:
        # To ask for the time takes longer than a step.
        self._unchecked += steps
        if self._unchecked < CHECK_EVERY:
            return
        self._unchecked = 0
        if thread_time() > self._until:
            raise TakesTooLongError


class CountedMonths(tuple[int, ...]):  # noqa: SLOT001 - a tuple has no slots for more
    """The months of a rule. dateutil asks for them at each day, and can't be stopped before the year 9999 otherwise."""

    left: int

    def __new__(cls, months: Iterable[int], left: int) -> Self:
        made = super().__new__(cls, months)
        made.left = left
        return made

    def __bool__(self) -> bool:
        self.left -= 1
        if self.left < 0:
            raise PastTheEndError
        return len(self) > 0


def expand(rule: str, start: datetime, *, first: datetime, last: datetime, budget: Budget) -> Iterator[datetime]:
    """List what a rule gives from the first to the last moment; all times, also the rule's end, are without a zone."""
    parts = _read_parts(rule)
    start = _move_close(parts, start, first)
    looks = _count_looks(parts, start, last)
    budget.spend(10 + looks // LOOKS_A_STEP + _count_tries(parts, start, last) // TRIES_A_STEP)
    try:
        made = _make(parts, start, looks)
        for taken, moment in enumerate(made):
            if moment > last:
                return
            if taken >= MAX_OF_ONE_RULE:
                raise BadRule("repeats too often")
            budget.spend(1)
            if moment >= first:
                yield moment
    except PastTheEndError:
        return
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
        # dateutil notices some impossible values only when it reaches them.
        raise fault if isinstance(fault, BadRule) else BadRule("is invalid") from None


def _read_parts(rule: str) -> dict[str, str]:
    parts = dict(re.findall("([A-Z]+)=([^;]*)", rule))
    if parts.get("FREQ") not in UNITS or not all(parts.get(name, "1").isdecimal() for name in ("INTERVAL", "COUNT")):
        raise BadRule("is invalid")
    if int(parts.get("INTERVAL", "1")) not in range(1, MAX_INTERVAL + 1):
        raise BadRule("is invalid")
    times_of_day = 1
    for name in TIMES_OF_DAY:
        times_of_day *= parts.get(name, "").count(",") + 1
    if times_of_day > MAX_TIMES_OF_DAY:
        raise BadRule("repeats too often")
    return parts


def _step(parts: dict[str, str]) -> timedelta:
    return UNITS[parts["FREQ"]] * int(parts.get("INTERVAL", "1"))


def _move_close(parts: dict[str, str], start: datetime, first: datetime) -> datetime:
    """Begin shortly before the first moment where the rule gives the same times from there on."""
    if "COUNT" in parts:
        return start
    if parts["FREQ"] not in DAYS_OF or parts["FREQ"] == "WEEKLY":
        return start + max((first - start) // _step(parts) - 1, 0) * _step(parts)
    months = int(parts.get("INTERVAL", "1")) * (12 if parts["FREQ"] == "YEARLY" else 1)
    skipped = ((first.year - start.year) * 12 + first.month - start.month) // months - 1
    # Only the first 28 days are in every month.
    if skipped <= 0 or start.day > 28:
        return start
    years, month = divmod(start.month - 1 + skipped * months, 12)
    return start.replace(year=start.year + years, month=month + 1)


def _count_looks(parts: dict[str, str], start: datetime, end: datetime) -> int:
    """Return at how many days dateutil looks, at most, before it is past the end."""
    periods = max((end - start) // _step(parts), 0) + 2
    if "COUNT" in parts and not any(name.startswith("BY") for name in parts):
        periods = min(periods, int(parts["COUNT"]) + 2)
    if parts["FREQ"] in WITHIN_A_DAY:
        # Days that don't match are skipped one at a time.
        return min(periods, (end - start).days + MAX_OF_ONE_RULE)
    return periods * DAYS_OF.get(parts["FREQ"], 1)


def _count_tries(parts: dict[str, str], start: datetime, end: datetime) -> int:
    """Return how many times of day dateutil tries, at most, if a rule wants only some of them."""
    if parts["FREQ"] not in WITHIN_A_DAY or not any(name in parts for name in TIMES_OF_DAY):
        return 0
    return max((end - start) // _step(parts), 0)


def _make(parts: dict[str, str], start: datetime, looks: int) -> Iterable[datetime]:
    made = rrulestr(";".join(f"{name}={value}" for name, value in parts.items()), dtstart=start)
    vars(made)["_bymonth"] = CountedMonths(vars(made)["_bymonth"] or (), looks)
    return made
