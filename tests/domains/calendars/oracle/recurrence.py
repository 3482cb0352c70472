"""Recurrence rules between two moments, by dateutil, with a bound on the work that any rule can cause."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Self

from dateutil.rrule import rrulestr

LONGEST_RULE = 2_000
MAX_OF_ONE_RULE = 20_000
MAX_INTERVAL = 10_000
MAX_TIMES_OF_DAY = 1_500
# A rule with a count is expanded from its beginning, so a daily rule that began before this year would take too long.
FIRST_COUNTED_YEAR = 1970

UNITS = {
    "SECONDLY": timedelta(seconds=1),
    "MINUTELY": timedelta(minutes=1),
    "HOURLY": timedelta(hours=1),
    "DAILY": timedelta(days=1),
    "WEEKLY": timedelta(weeks=1),
}
STEPS = {**UNITS, "MONTHLY": timedelta(days=28), "YEARLY": timedelta(days=365)}
DAYS_LOOKED_AT = {"WEEKLY": 7, "MONTHLY": 31, "YEARLY": 366}
WITHIN_A_DAY = frozenset({"SECONDLY", "MINUTELY", "HOURLY"})
LOOKS_A_STEP = 20
TIMES_OF_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")
TRIES_A_STEP = 100
PART = re.compile(r"([A-Z]+)=([^;]*)")


class BadRule(ValueError):
    """The rule is invalid, or would take too long to expand."""


class PastTheEndError(Exception):
    """The rule gives nothing more before the end."""


class CountedMonths(tuple[int, ...]):  # noqa: SLOT001 - a tuple has no slots for more
    """The months of a rule, which count how often they are asked for."""

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


class Budget:
    """How many steps may still be taken for one calendar."""

    def __init__(self, steps: int = 300_000) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps, or refuse if none are left."""
        # A rule that is refused takes none, so that it leaves the others theirs.
        if steps > self.left:
            raise BadRule("takes too long to expand")
        self.left -= steps


def expand(
    rule: str,
    start: datetime,
    *,
    until: datetime | None,
    first: datetime,
    last: datetime,
    budget: Budget,
) -> Iterator[datetime]:
    """List the local times that a rule gives from the first to the last moment; all times are without a zone.

    `until` is the rule's own end in local time; the rule's text is read for everything else.
    """
    parts = read_parts(rule)
    start = _move_close(parts, start, first)
    end = min(until, last) if until is not None else last
    looks = _count_looks(parts, start, end)
    budget.spend(10 + looks // LOOKS_A_STEP + _count_tries(parts, start, end) // TRIES_A_STEP)
    for taken, moment in enumerate(_follow(_make(parts, start, looks))):
        if moment > end:
            return
        if taken >= MAX_OF_ONE_RULE:
            raise BadRule("repeats too often")
        budget.spend(1)
        if moment >= first:
            yield moment


def read_parts(rule: str) -> dict[str, str]:
    """Read the parts of a rule, and refuse invalid ones."""
    if len(rule) > LONGEST_RULE:
        raise BadRule("is too long")
    parts = dict(PART.findall(rule.upper().replace(" ", "")))
    if parts.get("FREQ") not in STEPS or not all(parts.get(name, "1").isdecimal() for name in ("INTERVAL", "COUNT")):
        raise BadRule("is invalid")
    if int(parts.get("INTERVAL", "1")) not in range(1, MAX_INTERVAL + 1):
        raise BadRule("is invalid")
    times_of_day = 1
    for name in TIMES_OF_DAY:
        times_of_day *= parts.get(name, "").count(",") + 1
    if times_of_day > MAX_TIMES_OF_DAY:
        raise BadRule("repeats too often")
    return parts


def _move_close(parts: dict[str, str], start: datetime, first: datetime) -> datetime:
    """Begin shortly before the first moment where the rule gives the same times from there on; a count is lowered."""
    unit = UNITS.get(parts["FREQ"])
    if unit is None:
        return start if "COUNT" in parts else _move_months(parts, start, first)
    step = unit * int(parts.get("INTERVAL", "1"))
    skipped = (first - start) // step - 1
    if skipped <= 0:
        return start
    if "COUNT" in parts:
        if any(name.startswith("BY") for name in parts):
            if start.year < FIRST_COUNTED_YEAR:
                raise BadRule("began too long ago")
            return start
        parts["COUNT"] = str(max(int(parts["COUNT"]) - skipped, 0))
    return start + skipped * step


def _move_months(parts: dict[str, str], start: datetime, first: datetime) -> datetime:
    """Begin some months or years later, on the same day of a month that has it for certain."""
    step = int(parts.get("INTERVAL", "1")) * (12 if parts["FREQ"] == "YEARLY" else 1)
    months = (first.year - start.year) * 12 + first.month - start.month
    skipped = months // step - 1
    if skipped <= 0 or start.day > 28:
        return start
    years, month = divmod(start.month - 1 + skipped * step, 12)
    return start.replace(year=start.year + years, month=month + 1)


def _count_looks(parts: dict[str, str], start: datetime, end: datetime) -> int:
    """Return at how many days dateutil looks, at most, before it is past the end."""
    step = STEPS[parts["FREQ"]] * int(parts.get("INTERVAL", "1"))
    periods = max((end - start) // step, 0) + 2
    if parts["FREQ"] in WITHIN_A_DAY:
        # Days that don't match are skipped one at a time.
        return min(periods, (end - start).days + MAX_OF_ONE_RULE)
    return periods * DAYS_LOOKED_AT.get(parts["FREQ"], 1)


def _count_tries(parts: dict[str, str], start: datetime, end: datetime) -> int:
    """Return how many times of day dateutil tries, at most, if a rule wants only some of them."""
    if parts["FREQ"] not in WITHIN_A_DAY or not any(name in parts for name in TIMES_OF_DAY):
        return 0
    return max((end - start) // (UNITS[parts["FREQ"]] * int(parts.get("INTERVAL", "1"))), 0)


def _follow(moments: Iterator[datetime]) -> Iterator[datetime]:
    try:
        yield from moments
    except PastTheEndError:
        return
    except (IndexError, OverflowError, TypeError, ValueError):
        # dateutil notices some impossible values only when it reaches them.
        raise BadRule("is invalid") from None


def _make(parts: dict[str, str], start: datetime, looks: int) -> Iterator[datetime]:
    if parts.get("COUNT") == "0":
        return iter(())
    kept = {name: value for name, value in parts.items() if name != "UNTIL"}
    try:
        made = rrulestr(";".join(f"{name}={value}" for name, value in kept.items()), dtstart=start)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
        raise BadRule("is invalid") from None
    # dateutil asks for the months once for every day it checks, and has no other way to be stopped before the year
    # 9999.
    vars(made)["_bymonth"] = CountedMonths(vars(made)["_bymonth"] or (), looks)
    return iter(made)
