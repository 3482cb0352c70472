"""When the events of a calendar keep somebody busy: recurring, all-day, moved, cancelled, declined or free.

icalendar reads an event, and recurring-ical-events decides when it takes place. Both get times without zones, as the
wall clock of the event shows them: they would keep a zone of one calendar for all others, add hours as if clocks never
changed, and take a repetition for another one that is as many hours away as the zone is from UTC.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from icalendar import Event
from icalendar.prop import vBroken, vDuration
from msgspec import Struct
from recurring_ical_events import EventAdapter
from recurring_ical_events.series import Series

from openslot.domains.availability.grid import Interval, merge
from openslot.domains.calendars.ports import Scope
from openslot.domains.calendars.prefilter import Block, Filtered, filter_text
from openslot.domains.calendars.recurrence import CHECK_EVERY, BadRule, Budget, expand
from openslot.domains.calendars.zones import find_named, list_lines
from openslot.platform.core.times import floor_second

DAY = timedelta(days=1)
LONGEST = timedelta(days=3_660)


class BusyEvent(Struct, frozen=True, kw_only=True):
    """One event of a calendar with all of its repetitions."""

    uid: str
    spans: tuple[Interval, ...]
    """The times at which it keeps the host busy, merged, in whole seconds since 1970."""
    starts_at: datetime | None
    ends_at: datetime | None
    """Set if the event does not repeat."""
    is_live: bool
    """False if it is cancelled or declined."""
    source: Filtered
    """The text that it is from, without titles, notes and guests."""
    fault: str | None = None
    """The part of it that could not be read."""


class EventTime(Struct, frozen=True):
    """A time as it was written: on the wall clock of a zone, or a whole day."""

    wall: datetime
    zone: tzinfo
    is_day: bool

    def instant(self) -> datetime:
        return self.wall.replace(tzinfo=self.zone).astimezone(UTC)

    def on(self, zone: tzinfo) -> datetime:
        """Return what the wall clock of a zone shows then."""
        return self.wall if zone is self.zone else self.instant().astimezone(zone).replace(tzinfo=None)


class Version(Struct, frozen=True, kw_only=True):
    """An event as one component describes it: the series, or a changed repetition."""

    component: Any
    sequence: int
    index: int
    start: EventTime
    replaces: EventTime | None
    days: int
    """How long it lasts: days by the calendar, and the rest by the clock."""
    elapsed: timedelta
    is_live: bool
    is_busy: bool

    def end_of(self, begins: datetime) -> datetime:
        """Return when something ends that begins then, in the zone of that time."""
        return (begins + self.days * DAY).astimezone(UTC) + self.elapsed


class Found(Struct):
    """One occurrence; the library asks whether it is in the span, which is decided later, by its true end."""

    adapter: "WallClockEvent"
    start: datetime
    end: datetime

    def is_in_span(self, *_: datetime) -> bool:
        return True


class WallClockEvent(EventAdapter):  # type: ignore[misc]
    """An event as the library sees it: all of its times are shown by the clock of one zone."""

    def __init__(self, version: Version, reader: "Reader", zone: tzinfo, changed: frozenset[datetime]) -> None:
        super().__init__(version.component)
        self.version = version
        self.reader = reader
        self.zone = zone
        self._changed = changed

    @property
    def raw_start(self) -> datetime:
        return self.version.start.on(self.zone)

    @property
    def raw_end(self) -> datetime:
        return self.raw_start + self.version.days * DAY + self.version.elapsed

    @property
    def recurrence_ids(self) -> tuple[datetime, ...]:
        return (self.version.replaces.on(self.zone),) if self.version.replaces else ()

    @property
    def move_recurrences_by(self) -> timedelta:
        return self.raw_start - self.recurrence_ids[0] if self.this_and_future else timedelta()

    @property
    def extend_query_span_by(self) -> tuple[timedelta, timedelta]:
        moved = self.raw_start - self.recurrence_ids[0] if self.recurrence_ids else timedelta()
        return self.duration + max(moved, timedelta()), max(-moved, timedelta())

    @property
    def sequence(self) -> int:
        return self.version.sequence

    @property
    def exdates(self) -> list[date]:
        """A date excludes all that begins on it: some programs exclude timed events this way.

        Others exclude the repetitions that they change; the library would leave out the change as well.
        """
        found = [each for line in list_lines(self._component, "EXDATE") for each in self.reader.read_all(line)]
        walls = [(each, each.wall if each.is_day else each.on(self.zone)) for each in found]
        return [wall.date() if each.is_day else wall for each, wall in walls if wall not in self._changed]

    @property
    def rdates(self) -> list[datetime | tuple[datetime, timedelta]]:
        found: list[datetime | tuple[datetime, timedelta]] = []
        for line in list_lines(self._component, "RDATE"):
            found += [each.on(self.zone) for each in self.reader.read_all(line)]
            found += [(start.on(self.zone), length) for start, length in self.reader.read_periods(line)]
        return found

    @property
    def rrules(self) -> set[str]:
        """None that the library would expand, because it sets no bounds."""
        return set()

    def has_recurrence_rules(self) -> bool:
        """Deny it, because the library would leave out some changes that have rules of their own."""
        return False

    def expand(self, first: datetime, last: datetime) -> Iterator[datetime]:
        for line in list_lines(self._component, "RRULE"):
            try:
                rule, until = self.reader.read_rule(line, self.version.start, self.zone)
                end = min(until, last) if until else last
                yield from expand(rule, self.start, first=first, last=end, budget=self.reader.budget)
            except BadRule as fault:
                self.reader.fault = f"its rule {fault}"


class BoundedSeries(Series):  # type: ignore[misc]
    """The library's rules for what a series consists of, with our own bounds for its recurrence rules."""

    class RecurrenceRules(Series.RecurrenceRules):  # type: ignore[misc]
        """The starts of a series: the first, those that it lists, and those that its rules give."""

        def rrule_between(self, span_start: datetime, span_stop: datetime) -> Iterator[datetime]:
            yield from super().rrule_between(span_start, span_stop)
            yield from self.core.expand(span_start, span_stop)

    def occurrence(self, adapter: WallClockEvent, start: datetime | None = None, end: datetime | None = None) -> Found:
        return Found(adapter, start or adapter.start, end or adapter.end)


def read_events(text: str, scope: Scope, *, budget: Budget | None = None) -> list[BusyEvent]:
    """Read every event of a text; an invalid event does not affect the others."""
    filtered = filter_text(text)
    # Events that don't repeat take no steps of the budget, so they count whatever the others cost.
    left = budget or Budget()
    return [read_event(uid, group, filtered, scope, budget=left) for uid, group in filtered.events.items()]


def read_event(uid: str, group: list[Block], filtered: Filtered, scope: Scope, *, budget: Budget) -> BusyEvent:
    budget.check_time()
    reader = Reader(scope, filtered.zones, budget)
    versions = [found for index, block in enumerate(group) if (found := reader.find_version(block, index)) is not None]
    reader.fault = None if len(versions) == len(group) else "has no time that can be read"
    spans: list[Interval] = []
    try:
        # Spans are added one by one, so that those found before something fails still count.
        for span in reader.list_spans(versions):
            spans.append(span)  # noqa: PERF402
    except BadRule as found:
        reader.fault = f"its rule {found}"
    except OverflowError:
        reader.fault = "is outside the supported years"
    repeats = any(name in version.component for version in versions for name in ("RRULE", "RDATE"))
    only = versions[0] if len(versions) == 1 and not repeats else None
    return BusyEvent(
        uid=uid,
        spans=tuple(merge(spans)),
        starts_at=only.start.instant() if only else None,
        ends_at=only.end_of(only.start.wall.replace(tzinfo=only.start.zone)) if only else None,
        is_live=any(version.is_live for version in versions),
        source=filtered,
        fault=reader.fault,
    )


class Reader:
    """Reads one event: its times in their zones, and when it takes place."""

    def __init__(self, scope: Scope, zones: dict[str, str], budget: Budget) -> None:
        self.scope = scope
        self.budget = budget
        self.fault: str | None = None
        self._zones = zones
        # Wall clocks are less than a day ahead of UTC or behind it.
        self._window = tuple(at.replace(tzinfo=None) for at in (scope.first - 2 * DAY, scope.last + 2 * DAY))

    def find_version(self, block: Block, index: int) -> Version | None:
        """Read a component; None if it has no time, or one that ends outside of the years that there are."""
        component = _parse(block)
        replaces = self._find(component, "RECURRENCE-ID")
        start = self._find(component, "DTSTART") or replaces
        if start is None:
            return None
        is_live = "STATUS" not in component and block.declined.isdisjoint(self.scope.addresses)
        days, elapsed = self._find_length(block, component, start)
        version = Version(
            component=component,
            sequence=int(component.get("SEQUENCE", 0)),
            index=index,
            start=start,
            replaces=replaces,
            days=days,
            elapsed=elapsed,
            is_live=is_live,
            is_busy=is_live and "TRANSP" not in component,
        )
        try:
            version.end_of(start.wall.replace(tzinfo=start.zone))
        except OverflowError:
            return None
        return version

    def list_spans(self, versions: Sequence[Version]) -> Iterator[Interval]:
        # The newest word on each repetition; the library would let an older one change all that follow.
        newest = sorted(versions, key=lambda version: (version.sequence, version.index))
        changes = {each.replaces.instant(): each for each in newest if each.replaces is not None}
        masters = [version for version in versions if version.replaces is None]
        # Programs that give one UID to several events mean all of them.
        for master in masters or list(changes.values())[:1]:
            self.budget.spend(len(changes) if len(masters) > 1 else 0)
            for found in self._make_series(master, tuple(changes.values())).between(*self._window):
                yield from self._span_of(found)

    def _make_series(self, master: Version, changes: tuple[Version, ...]) -> BoundedSeries:
        zone = master.start.zone
        changed = frozenset(each.replaces.on(zone) for each in changes if each.replaces is not None)
        events = changes if master.replaces is not None else (*changes, master)
        return BoundedSeries([WallClockEvent(version, self, zone, changed) for version in events])

    def _span_of(self, found: Found) -> Iterator[Interval]:
        version, adapter = found.adapter.version, found.adapter
        if not version.is_busy:
            return
        begins, length = found.start.replace(tzinfo=adapter.zone), found.end - found.start
        # A repetition may say by itself how long it lasts.
        ends = version.end_of(begins) if length == adapter.duration else begins.astimezone(UTC) + length
        if begins < ends and ends > self.scope.first and begins < self.scope.last:
            yield floor_second(begins), floor_second(ends)

    def read_all(self, line: Any) -> Iterator[EventTime]:
        """Read the times of a property that may have several."""
        return (self._read(each.dt, line) for each in line.dts if not isinstance(each.dt, tuple))

    def read_periods(self, line: Any) -> Iterator[tuple[EventTime, timedelta]]:
        for begin, end in (each.dt for each in line.dts if isinstance(each.dt, tuple)):
            start = self._read(begin, line)
            length = end if isinstance(end, timedelta) else self._read(end, line).instant() - start.instant()
            yield start, max(length, timedelta())

    def read_rule(self, line: Any, start: EventTime, zone: tzinfo) -> tuple[str, datetime | None]:
        """Read a rule and its end on the wall clock of its start; a date includes its whole day."""
        if isinstance(line, vBroken) or not line.get("FREQ"):
            raise BadRule("is invalid")
        rule = re.sub("UNTIL=[0-9TZ]*;?", "", line.to_ical().decode())
        until = next(iter(line.get("UNTIL", [])), None)
        if until is None:
            return rule, None
        read = self._read(until, line)
        if read.is_day:
            return rule, read.wall + DAY - timedelta(seconds=1)
        return rule, read.on(zone) if read.zone is UTC else read.wall

    def _find(self, component: Any, name: str) -> EventTime | None:
        found = component.get(name)
        return None if found is None or isinstance(found, vBroken) else self._read(found.dt, found)

    def _read(self, value: date, line: Any) -> EventTime:
        """Read a time; one without a zone is the host's."""
        if not isinstance(value, datetime):
            return EventTime(datetime(value.year, value.month, value.day), self.scope.zone, is_day=True)  # noqa: DTZ001
        if value.tzinfo is not None:
            return EventTime(value.replace(tzinfo=None), UTC, is_day=False)
        name = line.params.get("X-TZID")
        definition = self._zones.get(name) if name else None
        if definition is not None:
            # To work out what a zone defines may take seconds, and each event may name many.
            self.budget.check_time(CHECK_EVERY)
        zone = find_named(name, definition) if name else None
        return EventTime(value, zone or self.scope.zone, is_day=False)

    def _find_length(self, block: Block, component: Any, start: EventTime) -> tuple[int, timedelta]:
        """Return how long something lasts, as days and the rest; what is negative lasts no time."""
        if block.length:
            # A day by the calendar is not always 24 hours; icalendar would make them one.
            by_calendar, _, by_clock = block.length.partition("T")
            read: Callable[[str], timedelta] = vDuration.from_ical
            days, rest = read(by_calendar), read(f"PT{by_clock}") if by_clock else timedelta()
            return (0, timedelta()) if "-" in block.length else (min(days, LONGEST).days, min(rest, LONGEST))
        end = self._find(component, "DTEND")
        if end is None:
            return int(start.is_day), timedelta()
        if start.is_day and end.is_day:
            return max(min((end.wall - start.wall).days, LONGEST.days), 0), timedelta()
        return 0, max(min(end.instant() - start.instant(), LONGEST), timedelta())


def _parse(block: Block) -> Any:
    # Zones that icalendar does not see it does not look up.
    text = block.write().replace(";TZID=", ";X-TZID=")
    with suppress(ValueError):
        return Event.from_ical(text)
    return Event()
