"""Time zones that calendars name or define; icalendar would keep a zone of one calendar for all others of its name."""

import re
from bisect import bisect_right
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any

from icalendar import Timezone
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from openslot.domains.calendars.recurrence import BadRule, Budget, expand
from openslot.platform.core.times import find_zone

LONGEST_ZONE_NAME = 255
FIRST, LAST = datetime(1970, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001 - times of a wall clock
# Rules of real zones; every other one could take any time.
RULE = re.compile(
    r"FREQ=YEARLY(?:;(?:INTERVAL=1|BYMONTH=[0-9]{1,2}|BYDAY=[+-]?[1-5]?[A-Z]{2}|BYMONTHDAY=[0-9,-]{1,100}"
    r"|WKST=[A-Z]{2}|UNTIL=[0-9TZ]{8,16}))*+;?"
)


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


def find_named(name: str, definition: str | None) -> tzinfo | None:
    """Find a zone: by its name, as the calendar defines it, or by the name that Windows gives it."""
    if len(name) > LONGEST_ZONE_NAME:
        return None
    known = _find_known(name)
    if known is None and definition is not None:
        known = _define(definition)
    return known or find_zone(WINDOWS_TO_OLSON.get(name, ""))


def is_known(name: str) -> bool:
    return _find_known(name) is not None


def _find_known(name: str) -> tzinfo | None:
    """Find a zone by its name, which some programs write after a path of their own."""
    pieces = name.strip("/").split("/")[-8:]
    return next((zone for at in range(len(pieces)) if (zone := find_zone("/".join(pieces[at:])))), None)


# Cached by the whole text of the definition, because two calendars may use one name for different zones.
# benchmarks/caches.py: read an event with a zone of its own, 140 times
@lru_cache(maxsize=512)
def _define(text: str) -> tzinfo | None:
    # icalendar remembers zones that have a name.
    unnamed = re.sub("(?m)^TZID:.*\n", "", text)
    try:
        parts = Timezone.from_ical(unnamed).subcomponents
    except ValueError:
        return None
    changes = sorted((change for part in parts for change in _list_changes(part)), key=lambda change: change[0])
    return DefinedZone([(start, to) for start, _, to in changes], changes[0][1]) if changes else None


def _list_changes(part: Any) -> list[tuple[datetime, timedelta, timedelta]]:
    """List when a zone changes its offset, with the offsets before and after."""
    try:
        start, before, after = part["DTSTART"].dt, part["TZOFFSETFROM"].td, part["TZOFFSETTO"].td
    except KeyError:
        return []
    dates = [start, *(each.dt for line in list_lines(part, "RDATE") for each in line.dts)]
    moments = {each.replace(tzinfo=None) for each in dates if isinstance(each, datetime)}
    for rule in list_lines(part, "RRULE") if isinstance(start, datetime) else ():
        moments |= _expand(rule.to_ical().decode(), start.replace(tzinfo=None), before)
    return [(moment, before, after) for moment in moments]


def list_lines(component: Any, name: str) -> list[Any]:
    """List the properties of a name; icalendar makes a list only of several."""
    found = component.get(name, [])
    return found if isinstance(found, list) else [found]


def _expand(rule: str, start: datetime, offset: timedelta) -> set[datetime]:
    """List the changes of a rule; its end is written in UTC, and its last change before the first year still holds."""
    if not RULE.fullmatch(rule):
        return set()
    until = re.search("UNTIL=([0-9TZ]+)", rule)
    last = min(_read_until(until[1], offset), LAST) if until else LAST
    try:
        first = min(FIRST, last) - timedelta(days=800)
        return set(expand(re.sub("UNTIL=[0-9TZ]+", "", rule), start, first=first, last=last, budget=Budget()))
    except (BadRule, OverflowError):
        return set()


def _read_until(text: str, offset: timedelta) -> datetime:
    try:
        until = datetime.fromisoformat(text.removesuffix("Z"))
        return until + (offset if text.endswith("Z") else timedelta(days="T" not in text))
    except (ValueError, OverflowError):
        # Some programs write "never" as the last moment that there is, to which no offset can be added.
        return LAST
