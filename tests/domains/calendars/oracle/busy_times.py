"""When the events of a calendar keep somebody busy: recurring, all-day, moved, cancelled, declined or free."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from tests.domains.calendars.oracle.content_lines import Component, Lines, read_lines
from tests.domains.calendars.oracle.recurrence import BadRule, Budget, expand
from tests.domains.calendars.oracle.times import (
    MAX_DATES,
    EventTime,
    Length,
    Scope,
    between,
    find_moment,
    find_until,
    read_length,
    read_moment,
    read_moments,
    read_wall,
    write_group,
)

DAY = timedelta(days=1)
SEQUENCE = re.compile(r"[0-9]{1,9}")

Interval = tuple[int, int]


class BusyEvent(Struct, frozen=True, kw_only=True):
    """One event of a calendar with all of its repetitions."""

    uid: str
    spans: tuple[Interval, ...]
    """From when to when it keeps the host busy, merged, in whole seconds since 1970."""
    starts_at: datetime | None
    ends_at: datetime | None
    """Of an event that does not repeat; None for all others."""
    is_live: bool
    """False if it is cancelled or declined."""
    text: str
    """What was read, without title, notes and guests."""
    fault: str | None = None
    """What could not be read of it."""


class Version(Struct, frozen=True, kw_only=True):
    """An event as one component describes it: the series, or a changed repetition."""

    start: EventTime
    length: Length
    is_busy: bool
    is_live: bool
    replaces: EventTime | None
    and_future: bool
    sequence: int
    component: Component


def read_events(text: str, scope: Scope, *, budget: Budget | None = None) -> list[BusyEvent]:
    """Read every event of a text; an invalid event does not affect the others."""
    lines = read_lines(text)
    # Events that don't repeat take no steps of the budget, so they count whatever the others cost.
    left = budget or Budget()
    return [read_event(uid, group, lines, scope, budget=left) for uid, group in lines.group().items()]


def read_event(uid: str, group: list[Component], lines: Lines, scope: Scope, *, budget: Budget) -> BusyEvent:
    versions = [found for component in group if (found := _find_version(component, lines, scope)) is not None]
    fault = None if len(versions) == len(group) else "has no time that can be read"
    spans: list[Interval] = []
    try:
        # Spans are added one by one, so that those found before a rule fails still count.
        for span in _list_spans(versions, lines, scope, budget):
            spans.append(span)  # noqa: PERF402
    except BadRule as found:
        fault = f"its rule {found}"
    except OverflowError:
        fault = "is outside the supported years"
    repeats = any(each.component.find(name) is not None for each in versions for name in ("RRULE", "RDATE"))
    only = versions[0] if len(versions) == 1 and not repeats else None
    return BusyEvent(
        uid=uid,
        spans=tuple(_merge(spans)),
        starts_at=only.start.instant if only else None,
        ends_at=only.length.end_of(only.start) if only else None,
        is_live=any(version.is_live for version in versions),
        text=write_group(group, lines.zones),
        fault=fault,
    )


def _merge(spans: list[Interval]) -> Iterator[Interval]:
    begin, until = None, 0
    for start, end in sorted(spans):
        if begin is not None and start > until:
            yield begin, until
        begin = start if begin is None or start > until else begin
        until = max(until, end)
    if begin is not None:
        yield begin, until


def _list_spans(versions: list[Version], lines: Lines, scope: Scope, budget: Budget) -> Iterator[Interval]:
    """List when an event keeps the host busy, those that need no rule first."""
    by_sequence = sorted(versions, key=attrgetter("sequence"))
    changed = {version.replaces.instant: version for version in by_sequence if version.replaces is not None}
    for version in changed.values():
        yield from _span_of(version, version.start, scope)
    later = sorted((version for version in changed.values() if version.and_future), key=_replaced_at)
    moves = [timedelta(), *(version.start.instant - _replaced_at(version) for version in later)]
    for master in versions:
        if master.replaces is not None:
            continue
        left_out, days_out = _read_excluded(master, lines, scope), _read_excluded_days(master)
        starts = chain(
            _list_periods(master, lines, scope),
            ((start, None) for start in _list_starts(master, lines, scope, budget, moves=moves)),
        )
        seen: set[datetime] = set()
        for start, length in starts:
            if start.instant in changed or start.instant in left_out or start.instant in seen:
                continue
            if start.instant.astimezone(master.start.zone).date() in days_out:
                continue
            seen.add(start.instant)
            version, moved = _apply(later, master, start)
            yield from _span_of(version if length is None else replace(version, length=length), moved, scope)


def _apply(later: list[Version], master: Version, start: EventTime) -> tuple[Version, EventTime]:
    """Apply a change of "this and all following" to a repetition."""
    place = bisect_left(later, start.instant, key=_replaced_at)
    version = later[place - 1] if place else None
    if version is None or version.replaces is None:
        return master, start
    wall = start.wall
    if start.zone is not version.start.zone:
        wall = start.instant.astimezone(version.start.zone).replace(tzinfo=None)
    return version, version.start.at(wall + (version.start.wall - version.replaces.wall))


def _replaced_at(version: Version) -> datetime:
    return version.replaces.instant if version.replaces else version.start.instant


def _span_of(version: Version, start: EventTime, scope: Scope) -> Iterator[Interval]:
    if not version.is_busy:
        return
    begins, ends = start.instant, version.length.end_of(start)
    if begins < ends and ends > scope.first and begins < scope.last:
        yield math.floor(begins.timestamp()), math.floor(ends.timestamp())


def _list_starts(
    master: Version, lines: Lines, scope: Scope, budget: Budget, *, moves: list[timedelta]
) -> Iterator[EventTime]:
    """List the starts of a series that may reach into the scope, or are moved there, always including the first."""
    yield master.start
    component = master.component
    for line in component.list("RDATE"):
        if line.parameters.get("VALUE", "").upper() != "PERIOD":
            yield from read_moments(line, lines, scope)
    reach = master.length.end_of(master.start) - master.start.instant + max(moves) + 2 * DAY
    first = scope.first.replace(tzinfo=None) - reach
    last = scope.last.replace(tzinfo=None) - min(moves) + 2 * DAY
    for line in component.list("RRULE"):
        until = find_until(line.value, master.start)
        for wall in expand(line.value, master.start.wall, until=until, first=first, last=last, budget=budget):
            if wall != master.start.wall:
                yield master.start.at(wall)


def _list_periods(master: Version, lines: Lines, scope: Scope) -> Iterator[tuple[EventTime, Length | None]]:
    """List repetitions that say by themselves how long they last."""
    for line in master.component.list("RDATE"):
        if line.parameters.get("VALUE", "").upper() != "PERIOD":
            continue
        for text in line.value.split(",")[:MAX_DATES]:
            begin, _, end = text.partition("/")
            start = read_moment(begin, line.parameters.get("TZID"), lines, scope)
            length = read_length(end) or between(start, read_moment(end, line.parameters.get("TZID"), lines, scope))
            if start is not None and length is not None:
                yield start, length


def _find_version(component: Component, lines: Lines, scope: Scope) -> Version | None:
    """Read a component; None if it has no time, or one that ends outside of the years that there are."""
    try:
        version = _read_version(component, lines, scope)
        if version is not None:
            version.length.end_of(version.start)
    except OverflowError:
        return None
    return version


def _read_version(component: Component, lines: Lines, scope: Scope) -> Version | None:
    start = find_moment(component, "DTSTART", lines, scope)
    replaces = find_moment(component, "RECURRENCE-ID", lines, scope)
    start = start or replaces
    if start is None:
        return None
    is_live = component.value("STATUS") != "CANCELLED" and not _is_declined(component, scope.addresses)
    line = component.find("RECURRENCE-ID")
    return Version(
        start=start,
        length=_find_length(component, start, lines, scope),
        is_busy=is_live and component.value("TRANSP") != "TRANSPARENT",
        is_live=is_live,
        replaces=replaces,
        and_future=line is not None and line.parameters.get("RANGE", "").upper() == "THISANDFUTURE",
        sequence=int(component.value("SEQUENCE")) if SEQUENCE.fullmatch(component.value("SEQUENCE")) else 0,
        component=component,
    )


def _find_length(component: Component, start: EventTime, lines: Lines, scope: Scope) -> Length:
    length = read_length(component.value("DURATION")) or between(start, find_moment(component, "DTEND", lines, scope))
    if length is not None:
        return length
    return Length(days=1) if start.is_day else Length()


def _is_declined(component: Component, addresses: Iterable[str]) -> bool:
    declined = (
        line.value.strip().lower().removeprefix("mailto:")
        for line in component.list("ATTENDEE")
        if line.parameters.get("PARTSTAT", "").upper() == "DECLINED"
    )
    return not set(declined).isdisjoint(addresses)


def _read_excluded(master: Version, lines: Lines, scope: Scope) -> set[datetime]:
    return {
        moment.instant
        for line in master.component.list("EXDATE")
        for moment in read_moments(line, lines, scope)
        if moment.is_day == master.start.is_day
    }


def _read_excluded_days(master: Version) -> set[date]:
    """Read dates that exclude everything that begins on them: some programs exclude timed events this way."""
    texts = (text for line in master.component.list("EXDATE") for text in line.value.split(",")[:MAX_DATES])
    return {day.wall.date() for text in texts if "T" not in text.upper() and (day := read_wall(text)) is not None}
