"""What is read of an iCalendar text: the lines that decide when somebody is busy, checked, and not too many.

The libraries give up on a text with one broken line, and take whatever time a hostile one demands.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date

from msgspec import Struct

from openslot.domains.calendars.errors import CalendarFault
from openslot.domains.calendars.zones import LONGEST_ZONE_NAME, is_known
from openslot.platform.core.text import fold_ascii

MAX_EVENTS = 50_000
LONGEST_LINE = 256 * 1024
# In bytes still short enough for an index.
LONGEST_UID = 500
# Real definitions have a few kilobytes; a longer one would be kept with every event that names it.
LONGEST_ZONE = 32 * 1024
MAX_DATES = 5_000
MAX_PARTS = 200
MAX_LEVELS = 20

NAME = re.compile(r"[A-Za-z0-9-]+")
LINE = re.compile(r'[A-Za-z0-9-]++((?:\s*;(?:[^":]++|"[^"]*+")*+)?):(.*)', re.DOTALL)
PARAMETER = re.compile(r';\s*([A-Za-z0-9-]+)\s*=\s*("[^"]*"|[^;"]*)')
FOLD = re.compile(r"\n[ \t]")

_DAY = r"(?!000[01])[0-8][0-9]{3}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_TIME = rf"{_DAY}(?:T(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9]|60)Z?)?"
_LENGTH = (
    r"[+-]?P(?=[0-9T])(?:[0-9]{1,5}W)?(?:[0-9]{1,5}D)?"
    r"(?:T(?=[0-9])(?:[0-9]{1,6}H)?(?:[0-9]{1,6}M)?(?:[0-9]{1,8}S)?)?"
)
_OFFSET = r"[+-](?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?"
# The value that a property must have; those with another one say nothing.
VALUES = {
    **{name: re.compile(_TIME) for name in ("DTSTART", "DTEND", "RECURRENCE-ID", "EXDATE")},
    "RDATE": re.compile(rf"{_TIME}(?:/(?:{_TIME}|{_LENGTH}))?"),
    "DURATION": re.compile(_LENGTH),
    "SEQUENCE": re.compile(r"[0-9]{1,9}"),
    "STATUS": re.compile("CANCELLED"),
    "TRANSP": re.compile("TRANSPARENT"),
    "RRULE": re.compile(r"[A-Z0-9=;,+-]{1,2000}"),
    "TZOFFSETFROM": re.compile(_OFFSET),
    "TZOFFSETTO": re.compile(_OFFSET),
}
LISTS = frozenset({"RDATE", "EXDATE"})
TIMES = LISTS | {"DTSTART", "DTEND", "RECURRENCE-ID"}
SEVERAL = LISTS | {"RRULE", "ATTENDEE"}
UNREADABLE_RULE = "NONE"


class TooManyEvents(CalendarFault):
    code = "calendar_too_large"
    message = f"The calendar has more than {MAX_EVENTS} events"


class Block(Struct):
    """An event or a time zone, with the lines that are kept."""

    kind: str
    lines: list[str]
    name: str = ""
    """An event's UID, a zone's TZID."""
    zones: set[str] = set()
    """The names of the zones that it needs."""
    declined: set[str] = set()
    """The addresses of those who have declined."""
    length: str = ""
    """How long it lasts, as it was written."""
    parts: list["Block"] = []
    seen: set[str] = set()
    dates: int = 0

    def write(self) -> str:
        parts = (part.write() for part in self.parts)
        return "\n".join((f"BEGIN:{self.kind}", *self.lines, *parts, f"END:{self.kind}"))


class Filtered(Struct, frozen=True):
    """The events of a text by their UID, each with its changed repetitions, and the zones that it defines by name."""

    events: dict[str, list[Block]]
    zones: dict[str, str]

    def write(self, group: Sequence[Block]) -> str:
        """Write events with the zones that they name, except those that are known by their names."""
        named = sorted({name for block in group for name in block.zones})
        zones = (self.zones[name] for name in named if name in self.zones and not is_known(name))
        return "\n".join((*zones, *(block.write() for block in group)))

    def write_all(self) -> str:
        """Write all events and each zone once, however many of them name it."""
        return self.write([block for group in self.events.values() for block in group])


def filter_text(text: str, *, max_: int = MAX_EVENTS) -> Filtered:
    """Keep what decides when somebody is busy; broken lines and components that never end spoil no others."""
    found, count = Filtered({}, {}), 0
    for block in _list_blocks(text):
        if block.kind == "VTIMEZONE":
            _keep_zone(found, block)
            continue
        found.events.setdefault(block.name or f"unnamed-{count}", []).append(block)
        count += 1
        if count > max_:
            raise TooManyEvents
    return found


def _keep_zone(found: Filtered, zone: Block) -> None:
    text = zone.write()
    if zone.name and len(zone.name) <= LONGEST_ZONE_NAME and len(text) <= LONGEST_ZONE:
        found.zones.setdefault(zone.name, text)


def _list_blocks(text: str) -> Iterator[Block]:
    """List the events and zones of a text; one that lacks its end ends where the next begins."""
    block: Block | None = None
    # The components inside of it whose lines are not its own, such as alarms.
    inside: list[str] = []
    for line in _unfold(text):
        name = NAME.match(line)
        kind = name[0].upper() if name else ""
        if kind in {"BEGIN", "END"}:
            other = line.partition(":")[2].strip().upper()
            is_whole = other in {"VEVENT", "VTIMEZONE"}
            if is_whole:
                if block is not None and (kind == "BEGIN" or block.kind == other):
                    yield block
                    block = None
                if kind == "BEGIN":
                    block, inside = Block(other, []), []
            elif block is not None:
                _follow(block, inside, other, begins=kind == "BEGIN")
        elif block is not None and (kind in VALUES or kind in {"UID", "TZID", "ATTENDEE"}):
            _keep_line(block, inside, kind, line)
    if block is not None:
        yield block


def _follow(block: Block, inside: list[str], kind: str, *, begins: bool) -> None:
    if begins and block.kind == "VTIMEZONE" and kind in {"STANDARD", "DAYLIGHT"} and len(block.parts) < MAX_PARTS:
        inside[:] = [kind]
        block.parts.append(Block(kind, []))
    elif begins and len(inside) < MAX_LEVELS:
        inside.append(kind)
    elif not begins and kind in inside:
        del inside[len(inside) - 1 - inside[::-1].index(kind) :]


def _keep_line(block: Block, inside: list[str], name: str, line: str) -> None:
    if block.kind == "VTIMEZONE" and len(inside) == 1 and block.parts and inside[0] == block.parts[-1].kind:
        _keep_property(block.parts[-1], name, line)
    elif not inside and (name == "TZID") == (block.kind == "VTIMEZONE"):
        _keep_property(block, name, line)


def _keep_property(block: Block, name: str, line: str) -> None:
    """Keep a property in its usual form, if it has a value that makes sense and is not there yet."""
    found = LINE.match(line)
    if found is None or (name in block.seen and name not in SEVERAL):
        return
    parameters = {key.upper(): value.strip().strip('"') for key, value in PARAMETER.findall(found[1])}
    value = found[2].strip()
    if name in {"UID", "TZID"}:
        block.name = value[:LONGEST_UID]
        block.lines.append(f"{name}:{block.name}")
    elif name == "ATTENDEE":
        _keep_declined(block, parameters, value)
        return
    else:
        _keep_value(block, name, parameters, value.upper())
    block.seen.add(name)


def _keep_declined(block: Block, parameters: dict[str, str], value: str) -> None:
    address = fold_ascii(value).removeprefix("mailto:")
    if parameters.get("PARTSTAT", "").upper() == "DECLINED" and len(block.declined) < MAX_DATES:
        block.declined.add(address)
        block.lines.append(f"ATTENDEE;PARTSTAT=DECLINED:mailto:{address}")


def _keep_value(block: Block, name: str, parameters: dict[str, str], value: str) -> None:
    if name in LISTS:
        values = [each.strip() for each in value.split(",")[: MAX_DATES - block.dates]]
        block.dates += len(values)
        value = ",".join(each for each in map(_mend, values) if _is_sound(name, each))
    elif name == "RRULE":
        value = value.replace(" ", "")
        # An event whose rule can't be read is counted as such.
        value = value if VALUES[name].fullmatch(value) else UNREADABLE_RULE
    else:
        value = _mend(value)
        value = value if _is_sound(name, value) else ""
    if not value:
        return
    if name == "DURATION":
        block.length = value
    zone = parameters.get("TZID", "").strip()
    if zone and len(zone) <= LONGEST_ZONE_NAME and not value.endswith("Z"):
        block.zones.add(zone)
        name += f';TZID="{zone}"'
    if parameters.get("RANGE", "").upper() == "THISANDFUTURE":
        name += ";RANGE=THISANDFUTURE"
    block.lines.append(f"{name}:{value}")


def _is_sound(name: str, value: str) -> bool:
    if not VALUES[name].fullmatch(value):
        return False
    days = [part[:8] for part in value.split("/") if part[:8].isdecimal()] if name in TIMES else []
    with suppress(ValueError):
        return all(date.fromisoformat(day) for day in days)
    return False


def _mend(value: str) -> str:
    """Read a leap second as the last second of its minute."""
    return re.sub(r"(T[0-9]{4})60", r"\g<1>59", value)


def _unfold(text: str) -> Iterator[str]:
    """Join lines that continue after a line break and a blank, and cut those that are too long."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return (line[:LONGEST_LINE] for line in FOLD.sub("", plain).split("\n"))
