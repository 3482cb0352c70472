"""Times as iCalendar writes them: in zones that events name or define, as whole days, and how long something lasts."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from msgspec import Struct

from tests.domains.calendars.oracle.content_lines import LONGEST_ZONE_NAME, Component, ContentLine, Lines, read_lines
from tests.domains.calendars.oracle.recurrence import BadRule, Budget, expand

OFFSET = re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?")
LOCAL = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?")
MAX_PARTS = 200
YEAR_WITHOUT_END = 9000


class DefinedZone(tzinfo):
    """A zone as a calendar defines it: from when on, by its own wall clock, which offset holds."""

    def __init__(self, changes: list[tuple[datetime, timedelta]], before: timedelta) -> None:
        self._starts = [start for start, _ in changes]
        self._offsets = [before, *(offset for _, offset in changes)]

    def utcoffset(self, dt: datetime | None, /) -> timedelta:
        if dt is None:
            return self._offsets[-1]
        return self._offsets[bisect_right(self._starts, dt.replace(tzinfo=None))]

    def dst(self, _dt: datetime | None, /) -> timedelta:
        return timedelta()

    def tzname(self, _dt: datetime | None, /) -> str | None:
        return None


def zone_of(name: str, defined: dict[str, Component], *, default: tzinfo, years: tuple[int, int]) -> tzinfo:
    name = name.strip()
    if len(name) > LONGEST_ZONE_NAME:
        return default
    known = _find_known(name)
    if known is not None:
        return known
    definition = defined.get(name)
    return (_define(definition.write(), years) if definition else None) or default


def write_group(group: Sequence[Component], defined: dict[str, Component]) -> str:
    """Write the components of an event with the zones that they name, except those that are known by their names."""
    named = {line.parameters.get("TZID", "").strip() for event in group for line in event.lines}
    zones = (defined[name] for name in sorted(named) if name in defined and _find_known(name) is None)
    return "\n".join(component.write() for component in (*zones, *group))


KNOWN = {name.lower(): name for name in available_timezones()}


@lru_cache(maxsize=1024)
def _find_known(name: str) -> tzinfo | None:
    """Find a zone by its name, which some programs write after a path of their own."""
    pieces = name.strip("/").split("/")[-8:]
    for start in range(len(pieces)):
        if (known := KNOWN.get("/".join(pieces[start:]).lower())) is not None:
            return ZoneInfo(known)
    return None


# Cached by the whole text of the definition, because two calendars may use one name for different zones.
@lru_cache(maxsize=512)
def _define(text: str, years: tuple[int, int]) -> tzinfo | None:
    definition = next(iter(read_lines(text).zones.values()), None)
    changes: list[tuple[datetime, timedelta, timedelta]] = []
    budget = Budget(100_000)
    for part in definition.parts[:MAX_PARTS] if definition else ():
        try:
            changes += _list_changes(part, years, budget)
        except (BadRule, OverflowError):
            continue
    if not changes:
        return None
    changes.sort(key=lambda change: change[0])
    return DefinedZone([(start, to) for start, _, to in changes], changes[0][1])


def _list_changes(
    part: Component, years: tuple[int, int], budget: Budget
) -> list[tuple[datetime, timedelta, timedelta]]:
    start, before, after = (
        _read_local(part.value("DTSTART")),
        _read_offset(part.value("TZOFFSETFROM")),
        _read_offset(part.value("TZOFFSETTO")),
    )
    if start is None or before is None or after is None:
        return []
    moments = {start}
    for line in part.list("RDATE"):
        moments |= {moment for each in line.value.split(",")[:1000] if (moment := _read_local(each)) is not None}
    if rule := part.value("RRULE"):
        first, last = datetime(years[0], 1, 1), datetime(years[1], 12, 31)  # noqa: DTZ001 - a wall clock's time
        until = _find_until(rule, before)
        # The last change of a rule that has ended holds until another part's change.
        first = min(first, until or first) - timedelta(days=800)
        moments |= set(expand(rule, start, until=until, first=first, last=last, budget=budget))
    return [(moment, before, after) for moment in moments]


def _find_until(rule: str, offset: timedelta) -> datetime | None:
    found = re.search(r"UNTIL=([0-9TZ]+)", rule)
    if found is None:
        return None
    until = _read_local(found[1] if "T" in found[1] else f"{found[1]}T235959")
    # Some programs write "never" as the last moment that there is, to which no offset can be added.
    if until is None or until.year >= YEAR_WITHOUT_END:
        return None
    return until + offset if found[1].endswith("Z") else until


def _read_local(text: str) -> datetime | None:
    found = LOCAL.match(text.strip())
    if found is None:
        return None
    try:
        return datetime(*(int(part or 0) for part in found.groups()))  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError:
        return None


def _read_offset(text: str) -> timedelta | None:
    found = OFFSET.match(text.strip())
    if found is None:
        return None
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]), seconds=int(found[4] or 0))
    if offset >= timedelta(hours=24):
        return None
    return -offset if found[1] == "-" else offset


MAX_DATES = 5_000
LONGEST = timedelta(days=3_660)
WHEN = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?")
LENGTH = re.compile(r"([+-])?P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?")


class Scope(Struct, frozen=True, kw_only=True):
    """Whose calendar it is, and which time counts."""

    zone: ZoneInfo
    """The host's: of all-day events, and of times that name no zone."""
    addresses: frozenset[str] = frozenset()
    """The host's own, in lower case: what one of them has declined keeps nobody busy."""
    first: datetime
    last: datetime

    @property
    def years(self) -> tuple[int, int]:
        return self.first.year - 2, self.last.year + 1


class EventTime(Struct, frozen=True):
    """A time as it was written: on the wall clock of a zone, or a whole day."""

    wall: datetime
    zone: tzinfo
    is_day: bool

    @property
    def instant(self) -> datetime:
        return self.wall.replace(tzinfo=self.zone).astimezone(UTC)

    def at(self, wall: datetime) -> "EventTime":
        return EventTime(wall, self.zone, self.is_day)


class Length(Struct, frozen=True):
    """How long something lasts: days by the calendar, the rest by the clock."""

    days: int = 0
    elapsed: timedelta = timedelta()

    def end_of(self, start: EventTime) -> datetime:
        """Return the instant at which something ends that begins then."""
        return start.at(start.wall + timedelta(days=self.days)).instant + self.elapsed


def between(start: EventTime | None, end: EventTime | None) -> Length | None:
    if start is None or end is None:
        return None
    if start.is_day and end.is_day:
        return Length(days=min((end.wall - start.wall).days, LONGEST.days))
    return Length(elapsed=min(end.instant - start.instant, LONGEST))


def read_length(text: str) -> Length | None:
    """Read a duration; one that is negative lasts no time."""
    found = LENGTH.fullmatch(text.strip().upper())
    if found is None or text.strip().upper() in {"", "P", "PT"}:
        return None
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    if found[1] == "-":
        return Length()
    elapsed = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return Length(days=min(weeks * 7 + days, LONGEST.days), elapsed=min(elapsed, LONGEST))


def find_moment(component: Component, name: str, lines: Lines, scope: Scope) -> EventTime | None:
    line = component.find(name)
    return read_moment(line.value, line.parameters.get("TZID"), lines, scope) if line else None


def read_moments(line: ContentLine, lines: Lines, scope: Scope) -> Iterator[EventTime]:
    """List the times of a property that may have several."""
    for text in line.value.split(",")[:MAX_DATES]:
        moment = read_moment(text, line.parameters.get("TZID"), lines, scope)
        if moment is not None:
            yield moment


def read_moment(text: str, zone: str | None, lines: Lines, scope: Scope) -> EventTime | None:
    """Read a time; one without a zone is the host's."""
    moment = read_wall(text)
    if moment is None or moment.zone is UTC:
        return moment
    named = zone_of(zone, lines.zones, default=scope.zone, years=scope.years) if zone and not moment.is_day else None
    return EventTime(moment.wall, named or scope.zone, moment.is_day)


def read_wall(text: str) -> EventTime | None:
    """Read a time as it is written; None if it is invalid."""
    found = WHEN.fullmatch(text.strip().upper())
    if found is None or not 1 < int(found[1]) < 9000:
        return None
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        # A leap second is read as the last second of its minute.
        wall = datetime(year, month, day, hour, minute, min(second, 59))  # noqa: DTZ001 - a wall clock's time
    except ValueError:
        return None
    return EventTime(wall, UTC if found[7] else ZoneInfo("UTC"), is_day=found[4] is None)


def find_until(rule: str, start: EventTime) -> datetime | None:
    """Read a rule's end on the wall clock of its start; a date includes its whole day."""
    found = re.search(r"UNTIL=([0-9TZ]+)", rule.upper())
    until = read_wall(found[1]) if found else None
    if until is None:
        return None
    if until.is_day:
        return until.wall + timedelta(hours=23, minutes=59, seconds=59)
    if until.zone is not UTC:
        return until.wall
    return until.instant.astimezone(start.zone).replace(tzinfo=None)
