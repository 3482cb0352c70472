"""The calendar entry that goes with a mail: iCalendar as Outlook, Gmail and Apple read it, and links for the web."""

from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from icalendar import Calendar, Event, vCalAddress, vText, vUri
from msgspec import Struct

from openslot.bookings.models import Booking
from openslot.core.text import defuse
from openslot.integrations.mail.message import one_line, paragraph
from openslot.integrations.mail.models import MailAddress, Method

PRODUCT = "-//Openslot//Openslot//EN"
STATUS = {Method.REQUEST: "CONFIRMED", Method.CANCEL: "CANCELLED"}


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


def write_calendar(entry: CalendarEntry, method: Method | None) -> bytes:
    """Write an entry as a calendar; without a method it is a file that anyone may keep.

    Times are in UTC: a single meeting needs no rules of a zone, and every client shows it in its owner's own.
    """
    calendar = begin_calendar()
    if method is not None:
        calendar.add("method", method.value)
    event = begin_event(entry, summary=one_line(entry.summary), status=STATUS[method or Method.REQUEST])
    if description := paragraph(entry.description):
        event.add("description", description)
    if location := one_line(entry.location, max_=500):
        event.add("location", location)
    if entry.url:
        event.add("url", vUri(entry.url))
    event.add("organizer", _write_address(entry.organizer))
    for attendee in entry.attendees:
        event.add("attendee", _write_attendee(attendee), encode=False)
    calendar.add_component(event)
    return bytes(calendar.to_ical())


def begin_calendar() -> Calendar:
    calendar = Calendar()
    calendar.add("prodid", PRODUCT)
    calendar.add("version", "2.0")
    calendar.add("calscale", "GREGORIAN")
    return calendar


def begin_event(of: CalendarEntry | Booking, *, summary: str, status: str) -> Event:
    """Write what every calendar is told of a meeting: which one it is, and when."""
    event = Event()
    event.add("uid", of.uid)
    event.add("sequence", of.sequence)
    event.add("dtstamp", _second(of.updated_at))
    event.add("created", _second(of.created_at))
    event.add("last-modified", _second(of.updated_at))
    event.add("dtstart", _second(of.starts_at))
    event.add("dtend", _second(of.ends_at))
    event.add("summary", summary)
    event.add("status", status)
    event.add("transp", "OPAQUE")
    return event


def _write_address(address: MailAddress) -> vCalAddress:
    written = vCalAddress(f"mailto:{one_line(address.email, max_=254)}")
    if name := defuse(one_line(address.name)):
        written.params["CN"] = vText(name)
    return written


def _write_attendee(attendee: Attendee) -> vCalAddress:
    written = _write_address(attendee.address)
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
