"""Meetings as iCalendar: the one writer, for mail, the host's calendar, feeds and exports; and links for the web."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote, urlencode

from icalendar import Calendar, Event, vCalAddress, vText, vUri
from msgspec import Struct

from openslot.core.text import defuse
from openslot.integrations.mail.message import one_line, paragraph
from openslot.integrations.mail.models import MailAddress, Method

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
    """Whether a calendar server keeps it, which must not send invitations: Openslot sends the mails."""
    longest_description: int = 5000


# Guests get the same file, one after the other.
@lru_cache(maxsize=64)
def write_calendar(entry: CalendarEntry, method: Method | None = None) -> bytes:
    """Write an entry as a calendar; without a method it is a file that anyone may keep."""
    return write_entries((entry,), method=method)


def write_entries(
    entries: Iterable[CalendarEntry], *, method: Method | None = None, properties: Mapping[str, str] | None = None
) -> bytes:
    """Write entries as one calendar.

    Times are in UTC: a single meeting needs no rules of a zone, and every client shows it in its owner's own.
    """
    calendar = Calendar()
    calendar.add("prodid", PRODUCT)
    calendar.add("version", "2.0")
    calendar.add("calscale", "GREGORIAN")
    if method is not None:
        calendar.add("method", method.value)
    for name, value in (properties or {}).items():
        calendar.add(name, value)
    for entry in entries:
        calendar.add_component(_write_event(entry, is_cancelled=entry.is_cancelled or method is Method.CANCEL))
    return bytes(calendar.to_ical())


def _write_event(entry: CalendarEntry, *, is_cancelled: bool) -> Event:
    event = Event()
    event.add("uid", entry.uid)
    event.add("sequence", entry.sequence)
    event.add("dtstamp", _second(entry.updated_at))
    event.add("created", _second(entry.created_at))
    event.add("last-modified", _second(entry.updated_at))
    event.add("dtstart", _second(entry.starts_at))
    event.add("dtend", _second(entry.ends_at))
    event.add("summary", one_line(entry.summary))
    event.add("status", "CANCELLED" if is_cancelled else "CONFIRMED")
    event.add("transp", "OPAQUE")
    if description := paragraph(entry.description, max_=entry.longest_description):
        event.add("description", description)
    if location := one_line(entry.location, max_=500):
        event.add("location", location)
    if entry.url:
        event.add("url", vUri(entry.url))
    event.add("organizer", _write_address(entry, entry.organizer))
    for attendee in entry.attendees:
        event.add("attendee", _write_attendee(entry, attendee), encode=False)
    return event


def _write_address(entry: CalendarEntry, address: MailAddress) -> vCalAddress:
    written = vCalAddress(f"mailto:{one_line(address.email, max_=254)}")
    name = one_line(address.name)
    if entry.is_kept_by_server:
        written.params["SCHEDULE-AGENT"] = vText("CLIENT")
    else:
        # It is mailed in our name, so an invitee's name must not become a link.
        name = defuse(name)
    if name:
        written.params["CN"] = vText(name)
    return written


def _write_attendee(entry: CalendarEntry, attendee: Attendee) -> vCalAddress:
    written = _write_address(entry, attendee.address)
    written.params["CUTYPE"] = vText("INDIVIDUAL")
    written.params["ROLE"] = vText("CHAIR" if attendee.is_chair else "REQ-PARTICIPANT")
    written.params["PARTSTAT"] = vText("NEEDS-ACTION" if attendee.is_asked else "ACCEPTED")
    written.params["RSVP"] = vText("TRUE" if attendee.is_asked else "FALSE")
    return written


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
