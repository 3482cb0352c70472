"""Bookings as calendars keep them: one event each, written so that no server sends invitations for it."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from icalendar import Calendar, Event, vCalAddress, vText, vUri
from icalendar.parser import Contentline, Contentlines

from openslot.bookings.models import Booking, BookingDetails, Status
from openslot.core.text import without_turns
from openslot.event_types.models import EventType

PRODUCT = "-//Openslot//Openslot//EN"
FEED_NAME = "Openslot"


def write_event(details: BookingDetails, *, host_name: str, host_email: str, booking_url: str) -> str:
    """Write a booking as the event that its host's calendar keeps, for all who may read that calendar."""
    calendar = _begin()
    calendar.add_component(
        _write(details.booking, details.event_type, host=(host_name, host_email), booking_url=booking_url)
    )
    return _to_bytes(calendar).decode()


def write_feed(bookings: Iterable[tuple[BookingDetails, str]], *, host_name: str, host_email: str) -> bytes:
    """Write some bookings, each with the address of its page, as a feed."""
    calendar = _begin()
    calendar.add("x-wr-calname", FEED_NAME)
    calendar.add("x-published-ttl", "PT15M")
    for details, booking_url in bookings:
        calendar.add_component(
            _write(details.booking, details.event_type, host=(host_name, host_email), booking_url=booking_url)
        )
    return _to_bytes(calendar)


def change_lines(text: str, change: Callable[[str], str]) -> str:
    """Change the lines of a calendar, each unfolded; a text in which no line changes stays as it is."""
    lines = [str(line) for line in Contentlines.from_ical(text)]  # type: ignore[no-untyped-call]
    changed = [change(line) for line in lines]
    if changed == lines:
        return text
    folded = Contentlines(Contentline(line) for line in changed)  # type: ignore[no-untyped-call]
    written: bytes = folded.to_ical()  # type: ignore[no-untyped-call]
    return written.decode()


def _to_bytes(calendar: Calendar) -> bytes:
    written: bytes = calendar.to_ical()
    return written


def _begin() -> Calendar:
    calendar = Calendar()
    calendar.add("prodid", PRODUCT)
    calendar.add("version", "2.0")
    calendar.add("calscale", "GREGORIAN")
    return calendar


def _write(booking: Booking, event_type: EventType, *, host: tuple[str, str], booking_url: str) -> Event:
    event = Event()
    event.add("uid", booking.uid)
    event.add("sequence", booking.sequence)
    event.add("dtstamp", _second(booking.updated_at))
    event.add("created", _second(booking.created_at))
    event.add("last-modified", _second(booking.updated_at))
    event.add("dtstart", _second(booking.starts_at))
    event.add("dtend", _second(booking.ends_at))
    event.add("summary", without_turns(f"{event_type.name}: {booking.invitee_name}"))
    event.add("status", "CANCELLED" if booking.status is Status.CANCELLED else "CONFIRMED")
    event.add("transp", "OPAQUE")
    event.add("description", _describe(booking, event_type, booking_url))
    if booking.location.value:
        event.add("location", booking.location.value)
    if booking_url:
        event.add("url", vUri(booking_url))
    event.add("organizer", _write_person(*host), encode=False)
    event.add("attendee", _write_person(booking.invitee_name, booking.invitee_email, status="ACCEPTED"), encode=False)
    for guest in booking.guests:
        event.add("attendee", _write_person("", guest, status="ACCEPTED"), encode=False)
    return event


def _describe(booking: Booking, event_type: EventType, booking_url: str) -> str:
    labels = {question.key: question.label for question in event_type.questions}
    answers = [f"{labels.get(key, key)}: {_say(value)}" for key, value in booking.answers.items()]
    parts = [f"{booking.invitee_name} <{booking.invitee_email}>", booking.notes, *answers, booking_url]
    return "\n".join(part for part in parts if part)


def _say(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def _write_person(name: str, email: str, *, status: str | None = None) -> vCalAddress:
    person = vCalAddress(f"mailto:{email}")
    # Openslot sends the mails, so the calendar's server must not send any.
    person.params["SCHEDULE-AGENT"] = vText("CLIENT")
    # A parameter's value can't contain a quotation mark.
    if shown := without_turns(name).replace('"', "'"):
        person.params["CN"] = vText(shown)
    if status is not None:
        person.params["PARTSTAT"] = vText(status)
    return person


def _second(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)
