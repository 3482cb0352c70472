"""The lines of an iCalendar text as events and time zones; what is broken is left out and the rest is read."""

import re
from collections.abc import Iterator

from msgspec import Struct

MAX_EVENTS = 50_000
LONGEST_LINE = 256 * 1024
# In bytes still short enough for an index.
LONGEST_UID = 500
# Real definitions have a few kilobytes; a longer one would be kept with every event that names it.
LONGEST_ZONE = 32 * 1024
LONGEST_ZONE_NAME = 255
MAX_LEVELS = 20

# The properties that decide whether and when somebody is busy; titles, notes and guests are not kept.
KEPT = frozenset(
    (
        *("UID", "SEQUENCE", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID"),
        *("STATUS", "TRANSP", "ATTENDEE", "TZID", "TZOFFSETFROM", "TZOFFSETTO"),
    )
)
READ = frozenset({"VEVENT", "VTIMEZONE", "STANDARD", "DAYLIGHT"})

NAME = re.compile(r"[A-Za-z0-9-]+")
PARAMETER = re.compile(r';\s*([A-Za-z0-9-]+)\s*=\s*("[^"]*"|[^;:"]*)')


class TooManyEvents(Exception):
    """The calendar has more events than are read."""


class ContentLine(Struct, frozen=True):
    """One property: its name, its parameters by upper-case name, its value as it was written."""

    name: str
    parameters: dict[str, str]
    value: str
    text: str
    """The whole line, unfolded."""


class Component(Struct):
    """An event or a time zone, with the lines that are kept."""

    kind: str
    lines: list[ContentLine]
    parts: list["Component"]
    written: str | None = None
    """Its text, once it was asked for."""

    def find(self, name: str) -> ContentLine | None:
        return next((line for line in self.lines if line.name == name), None)

    def list(self, name: str) -> Iterator[ContentLine]:
        return (line for line in self.lines if line.name == name)

    def value(self, name: str) -> str:
        """Return the first value of a name, in capitals; empty if there is none."""
        line = self.find(name)
        return line.value.strip().upper() if line else ""

    def write(self) -> str:
        if self.written is None:
            inner = [line.text for line in self.lines] + [part.write() for part in self.parts]
            self.written = "\n".join((f"BEGIN:{self.kind}", *inner, f"END:{self.kind}"))
        return self.written


class Lines(Struct, frozen=True):
    """The events of a text in their order, and the time zones that it defines by their names."""

    events: list[Component]
    zones: dict[str, Component]

    def group(self) -> dict[str, list[Component]]:
        """Return the components of each event by its UID."""
        groups: dict[str, list[Component]] = {}
        for place, component in enumerate(self.events):
            uid = component.find("UID")
            groups.setdefault(uid.value.strip()[:LONGEST_UID] if uid else f"unnamed-{place}", []).append(component)
        return groups


def read_lines(text: str, *, max_: int = MAX_EVENTS) -> Lines:
    """Read events and time zones; invalid lines are ignored."""
    found = Lines([], {})
    # The names of the open components from the outermost event or zone to the current line.
    path: list[str] = []
    inside: list[Component] = []
    for line in unfold(text):
        name = NAME.match(line)
        if name is None:
            continue
        kind = name[0].upper()
        if kind == "BEGIN":
            _begin(found, path, inside, line)
        elif kind == "END":
            _end(found, path, inside, line)
        elif kind in KEPT and path and inside and path[-1] == inside[-1].kind and (read := read_line(line)):
            inside[-1].lines.append(read)
        if len(found.events) > max_:
            raise TooManyEvents
    _close(found, path, inside, 0)
    return found


def unfold(text: str) -> Iterator[str]:
    """Join lines that continue after a line break and a blank, up to a limit."""
    whole: list[str] = []
    length = 0
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line[:1] in {" ", "\t"}:
            if whole and length < LONGEST_LINE:
                whole.append(line[1:])
                length += len(line)
            continue
        if whole:
            yield "".join(whole)
        whole = [line[:LONGEST_LINE]]
        length = len(line)
    if whole:
        yield "".join(whole)


def read_line(line: str) -> ContentLine | None:
    """Read a property; None if the line is not one."""
    name = NAME.match(line)
    if name is None:
        return None
    place = name.end()
    parameters: dict[str, str] = {}
    while (parameter := PARAMETER.match(line, place)) is not None:
        parameters[parameter[1].upper()] = parameter[2].strip().strip('"')
        place = parameter.end()
        # Further values of the same parameter, as MEMBER has them.
        while line[place : place + 2] == ',"' and (end := line.find('"', place + 2)) > 0:
            place = end + 1
    if line[place : place + 1] != ":":
        return None
    return ContentLine(name[0].upper(), parameters, line[place + 1 :], line)


def _begin(found: Lines, path: list[str], inside: list[Component], line: str) -> None:
    kind = line.partition(":")[2].strip().upper()
    # Neither can contain another of its kind, so the previous one lacks its end.
    if kind in {"VEVENT", "VTIMEZONE"}:
        _close(found, path, inside, 0)
    if kind in READ and (kind in {"VEVENT", "VTIMEZONE"} or (inside and inside[-1].kind == "VTIMEZONE")):
        inside.append(Component(kind, [], []))
        path.append(kind)
    elif path and len(path) < MAX_LEVELS:
        path.append(kind)


def _end(found: Lines, path: list[str], inside: list[Component], line: str) -> None:
    kind = line.partition(":")[2].strip().upper()
    if kind in path:
        place = len(path) - 1 - path[::-1].index(kind)
        _close(found, path, inside, place)


def _close(found: Lines, path: list[str], inside: list[Component], place: int) -> None:
    """Close all components from a position of the path on, innermost first."""
    while len(path) > place:
        kind = path.pop()
        if not inside or inside[-1].kind != kind or kind not in READ:
            continue
        done = inside.pop()
        if inside:
            inside[-1].parts.append(done)
        elif kind == "VEVENT":
            found.events.append(done)
        elif (name := done.find("TZID")) and _is_short(name.value, done):
            found.zones.setdefault(name.value.strip(), done)


def _is_short(name: str, zone: Component) -> bool:
    return len(name) <= LONGEST_ZONE_NAME and len(zone.write()) <= LONGEST_ZONE
