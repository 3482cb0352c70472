"""Writes small calendars, and reads back when they keep somebody busy."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from openslot.domains.calendars.busy_times import read_events
from openslot.domains.calendars.ports import Scope
from openslot.platform.core.times import at_second

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


def event(uid: str, *, start: str | None = None, end: str | None = None, more: list[str] | None = None) -> str:
    """Write an event; `start` is a value, or parameters and a value."""
    lines = [f"UID:{uid}"]
    for name, value in (("DTSTART", start), ("DTEND", end)):
        if value is not None:
            lines.append(f"{name}{';' if '=' in value else ':'}{value}")
    return "\r\n".join(["BEGIN:VEVENT", *lines, *(more or []), "END:VEVENT"])


def calendar(*components: str) -> str:
    """Write a calendar."""
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Test//EN", *components, "END:VCALENDAR", ""])


def scope(first: str, last: str, zone: ZoneInfo = BERLIN, *addresses: str) -> Scope:
    """Ask for the time between two days in UTC."""
    days = [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (first, last)]
    return Scope(zone=zone, addresses=frozenset(addresses), first=days[0], last=days[1])


def instants(text: str, asked: Scope) -> list[datetime]:
    """List the starts of what is busy."""
    return [start for start, _ in busy(text, asked)]


def busy(text: str, asked: Scope) -> list[tuple[datetime, datetime]]:
    """List what is busy."""
    spans = sorted(span for each in read_events(text, asked) for span in each.spans)
    return [(at_second(start), at_second(end)) for start, end in spans]
