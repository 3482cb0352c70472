"""Instants, days and time zones: as the API formats them, and as plain numbers."""

from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from typing import Annotated, ClassVar
from zoneinfo import ZoneInfo, available_timezones

from msgspec import Meta, Struct, to_builtins

from openslot.platform.core.text import CheckedText
from openslot.platform.i18n import Text

DAY = 86_400
FOREVER = 1 << 40
FIRST_YEAR, LAST_YEAR = 1970, 2200
NOT_A_ZONE = Text("is not a time zone; use a name such as Europe/Berlin")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_NO_ZONES = ("localtime", "posixrules", "factory")


class Zone(CheckedText):
    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {"type": "string", "maxLength": 100, "examples": ["Europe/Berlin"]}

    @classmethod
    def parse(cls, text: str) -> str:
        """Return the name in its official spelling, whatever letter case was given."""
        zone = find_zone(text)
        if zone is None:
            raise ValueError(NOT_A_ZONE)
        return str(zone)


class Offsets(Struct, frozen=True):
    """The offsets of one zone over some years, as periods between one change and the next."""

    starts: tuple[int, ...]
    """The instant at which each period begins, in seconds since 1970."""

    seconds: tuple[int, ...]
    """The offset from UTC in each period."""

    wall_ends: tuple[int, ...]
    """The local time at which the next period begins, by the offset before; one fewer than the periods."""


def find_zone(name: str) -> ZoneInfo | None:
    """Find the zone that a name means, in any letter case."""
    known = _known_names().get(name.lower()) if name.isascii() else None
    return _load(known) if known else None


def get_zone(name: str) -> ZoneInfo:
    """Load the zone of a name that was checked before."""
    zone = find_zone(name)
    if zone is None:
        raise LookupError(f"{name!r} is not the name of a time zone")
    return zone


def get_offsets(zone: ZoneInfo, first: date, last: date) -> Offsets:
    """Return the zone's offsets from the year before `first` to the year after `last`."""
    return _offsets_of_years(zone, max(first.year, FIRST_YEAR) - 1, min(last.year, LAST_YEAR) + 1)


def offset_at(offsets: Offsets, instant: int) -> int:
    """Return how many seconds local time is ahead of UTC at an instant."""
    return offsets.seconds[max(bisect_right(offsets.starts, instant) - 1, 0)]


def instant_of(offsets: Offsets, wall: int) -> int:
    """Convert a local time to an instant: the first of two in a fold, the first after a gap."""
    run = bisect_right(offsets.wall_ends, wall)
    return max(wall - offsets.seconds[run], offsets.starts[run])


def spans_of_days(offsets: Offsets, first: int, last: int) -> list[tuple[int, int]]:
    """List when the local date is one of these days: one span, or two if a fold crosses midnight."""
    spans: list[tuple[int, int]] = []
    changes = offsets.starts[1:]
    # Local time is never more than a day away from UTC, so only these periods can show the days.
    nearby = range(bisect_right(changes, (first - 1) * DAY), bisect_right(changes, (last + 2) * DAY) + 1)
    for period in nearby:
        offset = offsets.seconds[period]
        begin, until = first * DAY - offset, (last + 1) * DAY - offset
        if period > 0:
            begin = max(begin, changes[period - 1])
        if period < len(changes):
            until = min(until, changes[period])
        if begin >= until:
            continue
        if spans and spans[-1][1] == begin:
            begin, _ = spans.pop()
        spans.append((begin, until))
    return spans


def day_number(on: date) -> int:
    return on.toordinal() - _EPOCH_ORDINAL


def date_of(day: int) -> date:
    return date.fromordinal(day + _EPOCH_ORDINAL)


def floor_second(at: datetime) -> int:
    return (at - _EPOCH) // _SECOND


def ceil_second(at: datetime) -> int:
    return -((_EPOCH - at) // _SECOND)


def at_second(instant: int) -> datetime:
    """Convert seconds since 1970 to aware UTC."""
    return _EPOCH + timedelta(seconds=instant)


def local_day(zone: ZoneInfo, instant: int) -> int:
    return (instant + _offset(zone, instant)) // DAY


# benchmarks/caches.py: find a zone, 8,500 times
@cache
def _known_names() -> dict[str, str]:
    names = {name.lower(): name for name in available_timezones()}
    return {
        lower: name
        for lower, name in names.items()
        if lower not in _NO_ZONES and not lower.startswith(("posix/", "right/"))
    }


# Python keeps the last eight zones, and reads the files of others again.
# benchmarks/caches.py: zones of a booking page, 6.1 times
@cache
def _load(name: str) -> ZoneInfo:
    return ZoneInfo(name)


# benchmarks/caches.py: find 7 days of slots, 19 times
@lru_cache(maxsize=4096)
def _offsets_of_years(zone: ZoneInfo, first_year: int, last_year: int) -> Offsets:
    begin = _new_year(first_year)
    runs = [(begin, _offset(zone, begin))]
    for year in range(first_year, last_year + 1):
        runs += _changes(zone, year)
    return Offsets(
        starts=tuple(start for start, _ in runs),
        seconds=tuple(offset for _, offset in runs),
        wall_ends=tuple(end + offset for (_, offset), (end, _) in pairwise(runs)),
    )


def _changes(zone: ZoneInfo, year: int) -> tuple[tuple[int, int], ...]:
    """List each change in a year as its instant and the offset from then on."""
    changes = []
    begin, end = _new_year(year), _new_year(year + 1)
    before = _offset(zone, begin)
    # Since 1970 no zone has had two changes within six days, so three days are a safe stride.
    for left in range(begin, end, 3 * DAY):
        right = min(left + 3 * DAY, end)
        after = _offset(zone, right)
        if after != before:
            changes.append((_find_change(zone, left, right), after))
        before = after
    return tuple(changes)


def _find_change(zone: ZoneInfo, before: int, after: int) -> int:
    old = _offset(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == old:
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, instant: int) -> int:
    offset = at_second(instant).astimezone(zone).utcoffset()
    return offset.days * DAY + offset.seconds if offset else 0


def _new_year(year: int) -> int:
    return day_number(date(year, 1, 1)) * DAY


Instant = Annotated[
    str,
    Meta(
        description="ISO 8601, UTC",
        examples=["2026-03-16T09:00:00Z"],
        extra_json_schema={"format": "date-time"},
    ),
]


def iso(instant: datetime) -> str:
    """Format an instant as the API does: UTC, milliseconds if there are any, and Z."""
    # Ten times faster than `isoformat`, and lists consist mostly of times.
    text: str = to_builtins(instant if instant.tzinfo is UTC else instant.astimezone(UTC))
    return f"{text[: 23 if instant.microsecond >= 1000 else 19]}Z"


def iso_of(column: str) -> str:
    """Write the SQL that formats a column's instants as `iso` does."""
    # Half the cost of creating a datetime for each only to format it again.
    return f"""replace(to_char({column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '.000Z', 'Z')"""
