"""Meetings as iCalendar: the one writer, for mail, the host's calendar, feeds and exports; and links for the web."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

import icalendar
from icalendar import vCalAddress, vDatetime, vInt, vText, vUri
from icalendar.parser import Contentline
from msgspec import Struct

from openslot.domains.mail.models import MailAddress, Method
from openslot.platform.core.text import defuse, one_line, paragraph

PRODUCT = "-//Openslot//Openslot//EN"


class Attendee(Struct, frozen=True, kw_only=True):
    """Who takes part, and whether an answer is expected."""

    address: MailAddress
    is_chair: bool = False
    is_asked: bool = False


class CalendarEntry(Struct, frozen=True, kw_only=True):
    uid: str
    sequence: int
    starts_at: datetime
    ends_at: datetime
    summary: str
    description: str
    location: str
    url: str | None
    organizer: MailAddress
    attendees: tuple[Attendee, ...]
    created_at: datetime
    updated_at: datetime
    is_cancelled: bool = False
    is_kept_by_server: bool = False
    """Whether a calendar server keeps it, which must not send invitations unless it is asked to."""
    invites: bool = False
    """Whether the calendar server invites those who take part, and tells them of changes; else Openslot does."""
    longest_description: int = 5000


def write_calendar(entry: CalendarEntry, method: Method | None = None) -> bytes:
    """Write an entry as a calendar; without a method it is a file that anyone may keep."""
    return write_entries((entry,), method=method)


def write_entries(
    entries: Iterable[CalendarEntry], *, method: Method | None = None, properties: Mapping[str, str] | None = None
) -> bytes:
    """Write entries as one calendar.

    Times are in UTC: a single meeting needs no rules of a zone, and every client shows it in its owner's own.
    """
    lines = [
        _write_line("BEGIN", "VCALENDAR"),
        _write_line("VERSION", "2.0"),
        _write_line("PRODID", PRODUCT),
        _write_line("CALSCALE", "GREGORIAN"),
    ]
    if method is not None:
        lines.append(_write_line("METHOD", method.value))
    lines += (_write_line(name.upper(), value) for name, value in (properties or {}).items())
    for entry in entries:
        lines += _write_event(entry, is_cancelled=entry.is_cancelled or method is Method.CANCEL)
    return b"".join((*lines, _write_line("END", "VCALENDAR")))


def _write_event(entry: CalendarEntry, *, is_cancelled: bool) -> Iterator[bytes]:
    yield _write_line("BEGIN", "VEVENT")
    yield _write_line("SUMMARY", one_line(entry.summary))
    yield _write_line("DTSTART", _second(entry.starts_at), vDatetime)
    yield _write_line("DTEND", _second(entry.ends_at), vDatetime)
    yield _write_line("DTSTAMP", _second(entry.updated_at), vDatetime)
    yield _write_line("UID", entry.uid)
    yield _write_line("SEQUENCE", entry.sequence, vInt)
    for attendee in entry.attendees:
        yield _write_address("ATTENDEE", entry, attendee.address, _describe_attendee(attendee))
    yield _write_line("CREATED", _second(entry.created_at), vDatetime)
    if description := paragraph(entry.description, max_=entry.longest_description):
        yield _write_line("DESCRIPTION", description)
    yield _write_line("LAST-MODIFIED", _second(entry.updated_at), vDatetime)
    if location := one_line(entry.location, max_=500):
        yield _write_line("LOCATION", location)
    yield _write_address("ORGANIZER", entry, entry.organizer, ())
    yield _write_line("STATUS", "CANCELLED" if is_cancelled else "CONFIRMED")
    yield _write_line("TRANSP", "OPAQUE")
    if entry.url:
        yield _write_line("URL", entry.url, vUri)
    yield _write_line("END", "VEVENT")


Parameters = tuple[tuple[str, str], ...]


def _write_address(name: str, entry: CalendarEntry, address: MailAddress, parameters: Parameters) -> bytes:
    called = one_line(address.name)
    if entry.is_kept_by_server:
        parameters = (*parameters, ("SCHEDULE-AGENT", "CLIENT"))
    else:
        # It is mailed in our name, so an invitee's name must not become a link.
        called = defuse(called)
    if called:
        parameters = (*parameters, ("CN", called))
    return _write_line(name, f"mailto:{one_line(address.email, max_=254)}", vCalAddress, parameters)


def _describe_attendee(attendee: Attendee) -> Parameters:
    return (
        ("CUTYPE", "INDIVIDUAL"),
        ("ROLE", "CHAIR" if attendee.is_chair else "REQ-PARTICIPANT"),
        ("PARTSTAT", "NEEDS-ACTION" if attendee.is_asked else "ACCEPTED"),
        ("RSVP", "TRUE" if attendee.is_asked else "FALSE"),
    )


# A shorter line needs no folding, and the library looks at each of its characters.
SHORT_LINE = 70


# Most lines are the same in the entries of all who take part, and those of the host in all of the host's entries.
# benchmarks/caches.py: write 20 calendar entries, 15 times
@lru_cache(maxsize=1024)
def _write_line(
    name: str, value: str | int | datetime, kind: Callable[..., Any] = vText, parameters: Parameters = ()
) -> bytes:
    """Write a line of a calendar, with its end."""
    written = {key: vText(text) for key, text in parameters}
    line = Contentline.from_parts(name, icalendar.Parameters(written), kind(value))
    folded: bytes = line.encode() if line.isascii() and len(line) <= SHORT_LINE else line.to_ical()
    return folded + b"\r\n"


def _second(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)


GOOGLE = "https://calendar.google.com/calendar/render"
OUTLOOK = "https://outlook.live.com/calendar/0/deeplink/compose"
# Longer links are cut off by some mail programs.
LONGEST_DETAILS = 500


def google_url(entry: CalendarEntry) -> str:
    return _url(
        GOOGLE,
        {
            "action": "TEMPLATE",
            "text": entry.summary,
            "dates": f"{_compact(entry.starts_at)}/{_compact(entry.ends_at)}",
            "details": entry.description[:LONGEST_DETAILS],
            "location": entry.location[:LONGEST_DETAILS],
        },
    )


def outlook_url(entry: CalendarEntry) -> str:
    return _url(
        OUTLOOK,
        {
            "path": "/calendar/action/compose",
            "rru": "addevent",
            "subject": entry.summary,
            "startdt": entry.starts_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "enddt": entry.ends_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "body": entry.description[:LONGEST_DETAILS],
            "location": entry.location[:LONGEST_DETAILS],
        },
    )


def _url(base: str, values: dict[str, str]) -> str:
    return f"{base}?{urlencode({name: value for name, value in values.items() if value}, quote_via=quote)}"


def _compact(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
