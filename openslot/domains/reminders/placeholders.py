"""Placeholders in the words of a host, such as `{invitee_name}`: which there are, and how they are filled in.

They are filled in once: a value that looks like a placeholder stays as it is. No value becomes a link or markup,
except the links that are our own or the host's.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape

from msgspec import Struct

from openslot.domains.bookings.models import Booking
from openslot.domains.bookings.words import format_day, format_short, format_time_of_day, format_zone_name
from openslot.domains.event_types.models import EventType, LocationKind
from openslot.platform.core.text import defuse, one_line
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import localize

PLACEHOLDERS: dict[str, Text] = {
    "invitee_name": Text("Name of the invitee"),
    "host_name": Text("Your name"),
    "event_name": Text("Name of the event type"),
    "start": Text("Day and time of the beginning"),
    "date": Text("Day"),
    "time": Text("Time of the beginning"),
    "duration": Text("Duration"),
    "time_zone": Text("Time zone of the reader"),
    "location": Text("Place, phone number or link"),
    "manage_link": Text("Link to the booking"),
    "reschedule_link": Text("Link to reschedule"),
    "cancel_link": Text("Link to cancel"),
}
# What an invitee has typed, and links that change the booking: for the invitee and the host alone.
PERSONAL = frozenset({"invitee_name", "manage_link", "reschedule_link", "cancel_link"})

_BRACES = re.compile(r"\{([^{}]*)\}")
_URL = re.compile(r"https?://[^\s<>\"{}]+[^\s<>\"{}.,;:!?)\]'\u2019]")


class Placeholder(Struct, frozen=True):
    """What is filled in: a text, or a link."""

    text: str
    is_link: bool = False


Values = Mapping[str, Placeholder]


def find_unknown(text: str) -> str | None:
    """Return the first thing in braces that nothing is filled in for."""
    return next((each[0] for each in _BRACES.finditer(text) if each[1] not in PLACEHOLDERS), None)


def is_personal(text: str) -> bool:
    """Return whether a text must not be sent to guests."""
    return any(each[1] in PERSONAL for each in _BRACES.finditer(text))


def describe_booking(
    booking: Booking,
    event_type: EventType,
    *,
    invitee: str,
    host: str,
    place: str | None,
    links: Mapping[str, str],
    zone: str,
    locale: Locale,
) -> dict[str, Placeholder]:
    """Say all that can be filled in about a booking, in the reader's language and zone; `place` as they may read it."""
    host, starts_at = one_line(host), booking.starts_at
    minutes = PluralText("%(count)s minute", "%(count)s minutes", count=booking.minutes)
    said: dict[str, object] = {
        "invitee_name": one_line(invitee),
        "host_name": host,
        "event_name": one_line(event_type.name),
        "start": format_short(starts_at, zone, locale),
        "date": format_day(starts_at, zone, locale),
        "time": format_time_of_day(starts_at, zone, locale),
        "duration": minutes,
        "time_zone": format_zone_name(zone, locale),
        "location": place or "",
    }
    values = {name: Placeholder(defuse(str(localize(value, locale)))) for name, value in said.items()}
    # A link of the host's, or one that was made for the booking; what an invitee has typed is none.
    if booking.location.kind is LocationKind.VIDEO_LINK and place and place.startswith(("https://", "http://")):
        values["location"] = Placeholder(place, is_link=True)
    return values | {name: Placeholder(url, is_link=True) for name, url in links.items()}


def list_links(url: str, event_type: EventType) -> dict[str, str]:
    """List the links to a booking's page: an invitee's own, or its host's."""
    can_move = not event_type.requires_confirmation
    return {
        "manage_link": url,
        "reschedule_link": f"{url}/reschedule" if can_move else url,
        "cancel_link": f"{url}/cancel",
    }


def _fill(text: str, values: Values) -> Iterator[Placeholder | str]:
    """Read a text as what the host has typed (a plain string) and what is filled in."""
    end = 0
    for found in _BRACES.finditer(text):
        if (value := values.get(found[1])) is not None:
            yield text[end : found.start()]
            yield value
            end = found.end()
    yield text[end:]


def fill(text: str, values: Values) -> str:
    return "".join(each if isinstance(each, str) else each.text for each in _fill(text, values))


def fill_html(text: str, values: Values) -> str:
    """Write a text as paragraphs of safe HTML; links of the host, and ours, can be followed."""
    parts = []
    for each in _fill(text, values):
        if isinstance(each, str):
            parts.append(_link_urls(each))
        else:
            parts.append(_write_link(each.text) if each.is_link else f"<bdi>{escape(each.text)}</bdi>")
    blocks = re.split(r"\n{2,}", "".join(parts).strip())
    return "".join(f"<p>{block.replace(chr(10), '<br>')}</p>" for block in blocks)


def _link_urls(text: str) -> str:
    parts, end = [], 0
    for found in _URL.finditer(text):
        parts += [escape(text[end : found.start()]), _write_link(found[0])]
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def _write_link(url: str) -> str:
    return f'<a href="{escape(url)}">{escape(url)}</a>'
