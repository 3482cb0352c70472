"""Times as iCalendar writes them: on a zone's wall clock, as whole days, and how long something lasts."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.integrations.calendars.content_lines import Component, ContentLine, Lines
from openslot.integrations.calendars.event_zones import zone_of

MOST_DATES = 5_000
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
        """The years for which zones have to be known."""
        return self.first.year - 2, self.last.year + 1


class EventTime(Struct, frozen=True):
    """A time as it was written: on the wall clock of a zone, or a whole day."""

    wall: datetime
    zone: tzinfo
    is_day: bool

    @property
    def instant(self) -> datetime:
        """The same in UTC."""
        return self.wall.replace(tzinfo=self.zone).astimezone(UTC)

    def at(self, wall: datetime) -> "EventTime":
        """Give another time of the same kind."""
        return EventTime(wall, self.zone, self.is_day)


class Length(Struct, frozen=True):
    """How long something lasts: days by the calendar, the rest by the clock."""

    days: int = 0
    elapsed: timedelta = timedelta()

    def end_of(self, start: EventTime) -> datetime:
        """Return the instant at which something ends that begins then."""
        return start.at(start.wall + timedelta(days=self.days)).instant + self.elapsed


def between(start: EventTime | None, end: EventTime | None) -> Length | None:
    """Return how long something lasts from its start and its end."""
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
    """Find a property that is a time."""
    line = component.find(name)
    return read_moment(line.value, line.parameters.get("TZID"), lines, scope) if line else None


def read_moments(line: ContentLine, lines: Lines, scope: Scope) -> Iterator[EventTime]:
    """List the times of a property that may have several."""
    for text in line.value.split(",")[:MOST_DATES]:
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
