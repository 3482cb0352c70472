"""What messages about a booking say, and why a message was not sent."""

from collections.abc import Mapping

from msgspec import Struct

from openslot.domains.bookings.models import Booking
from openslot.domains.bookings.words import format_short, format_told_location, format_zone_name
from openslot.domains.conversations.models import MessageTemplate
from openslot.domains.event_types.models import EventType
from openslot.domains.messaging import sending
from openslot.domains.messaging.models import LONGEST_BODY, DropReason, RefusalReason
from openslot.domains.reminders.models import ReminderEntry
from openslot.domains.reminders.placeholders import Placeholder, describe_booking, fill, list_links
from openslot.platform.core.text import find_name, one_line
from openslot.platform.i18n import CodedReason, Text
from openslot.platform.i18n.languages import Locale, choose_locale
from openslot.platform.i18n.localization import localize

REFUSALS: dict[str, Text] = {
    RefusalReason.OPTED_OUT: Text("this person has replied STOP"),
    RefusalReason.INVALID_NUMBER: Text("the number can't get messages"),
    RefusalReason.NOT_ALLOWED: Text("the provider does not allow it"),
    RefusalReason.OTHER: Text("the provider refuses it"),
    sending.UNAVAILABLE: Text("the provider could not be reached"),
    sending.HOST_LEFT: Text("the host's account is disabled, or the host has left the organization"),
    RefusalReason.OUTSIDE_WINDOW: Text("WhatsApp allows a reply only within 24 hours"),
    DropReason.CANCELLED: Text("the booking is cancelled"),
    DropReason.MOVED: Text("the booking was rescheduled"),
    DropReason.NOT_AGREED: Text("the invitee does not agree to messages, or no longer"),
    DropReason.TOO_LATE: Text("it would have arrived too late"),
    DropReason.NO_SHOW: Text("the invitee did not come"),
    DropReason.NOT_WANTED: Text("you have switched these messages off"),
    DropReason.LATER_DUE: Text("a later reminder was due already"),
    DropReason.NOT_CONNECTED: Text("the number was disconnected"),
    DropReason.NO_TEMPLATE: Text(
        "WhatsApp takes it only as a template, as this person has not written for 24 hours, and there is none"
    ),
    DropReason.COUNTRY: Text("the number sends no messages to this country"),
    DropReason.LIMIT: Text("the limit of messages in 24 hours was reached"),
}
# What an effect keeps of a message that it does not send.
DROPPED = {each: CodedReason(f"messages.{each}", REFUSALS[each].msgid) for each in DropReason if each in REFUSALS}
DROPPED[DropReason.OPTED_OUT] = CodedReason("messages.opted_out", REFUSALS[RefusalReason.OPTED_OUT].msgid)
# One character beyond these makes an SMS more than twice as long.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u202f\u2009", " "),
        **dict.fromkeys("\u2018\u2019\u201a", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014", "-"),
        "\u2026": "...",
        **dict.fromkeys("\u200e\u200f\u2060"),
    }
)


class MeetingWords(Struct, frozen=True, kw_only=True):
    """A meeting in the invitee's language and zone, as short messages say it."""

    event: str
    host: str
    when: str
    place: str
    locale: Locale
    values: Mapping[str, Placeholder]
    """The values of placeholders in texts that the host has written."""


def describe_meeting(
    booking: Booking, event_type: EventType, *, host_name: str, url: str, locale: Locale
) -> MeetingWords:
    """Describe a meeting whose page has this address; that of the host, as messages are kept."""
    zone, host = booking.invitee_zone, one_line(host_name, max_=60)
    when = format_short(booking.starts_at, zone, locale)
    return MeetingWords(
        event=_say(one_line(event_type.name, max_=60), locale),
        host=_say(host, locale),
        when=_say(Text("%(when)s (%(zone)s)", when=when, zone=format_zone_name(zone, locale)), locale),
        place=_say(format_told_location(booking.location, host) or "", locale),
        locale=locale,
        values=describe_booking(
            booking,
            event_type,
            # Empty if it looks like an advertisement.
            invitee=find_name(booking.invitee_name) or "",
            host=host,
            place=format_told_location(booking.location, host),
            links=list_links(url, event_type),
            zone=zone,
            locale=locale,
        ),
    )


def _say(value: object, locale: Locale) -> str:
    return str(localize(value, locale)).translate(_PLAIN)


def write_reminder(meeting: MeetingWords, text: str, *, can_cancel: bool) -> str:
    """Write a reminder: what the host has written, or ours, and how to end messages.

    Nothing of ours is what the invitee has typed, so that nobody can send it to strangers.
    """
    told = {"meeting": meeting.event, "host": meeting.host, "when": meeting.when}
    first = _say(Text("Reminder: %(meeting)s with %(host)s, %(when)s", **told), meeting.locale)
    stop = Text("Reply C to cancel, STOP to get no messages.") if can_cancel else Text("Reply STOP to get no messages.")
    lines = (_fill_in(text, meeting),) if text else (first, meeting.place)
    return "\n".join(filter(None, (*lines, _say(stop, meeting.locale))))[:LONGEST_BODY]


def write_follow_up(meeting: MeetingWords, text: str) -> str:
    """Write a follow-up: what the host has written, or ours."""
    thanks = Text("%(host)s thanks you for the meeting: %(meeting)s", host=meeting.host, meeting=meeting.event)
    stop = Text("Reply STOP to get no messages.")
    ours = (_say(thanks, meeting.locale), _say(stop, meeting.locale))
    return (_fill_in(text, meeting) if text else "\n".join(ours))[:LONGEST_BODY]


def _fill_in(text: str, meeting: MeetingWords) -> str:
    return fill(text, meeting.values).strip().translate(_PLAIN)


def preview_message(booking: Booking, event_type: EventType, entry: ReminderEntry, *, host_name: str, url: str) -> str:
    """Write a message about a booking as its invitee would get it."""
    locale = choose_locale(booking.invitee_locale)
    meeting = describe_meeting(booking, event_type, host_name=host_name, url=url, locale=locale)
    if entry.is_reminder:
        return write_reminder(meeting, entry.text, can_cancel=False)
    return write_follow_up(meeting, entry.text)


def fill_template(template_id: str, meeting: MeetingWords) -> MessageTemplate:
    """Fill in the host's template for reminders: the event type, the host, the time and the place."""
    values = (meeting.event, meeting.host, meeting.when, one_line(meeting.place) or "-")
    return MessageTemplate(id=template_id, variables={str(number): value for number, value in enumerate(values, 1)})
