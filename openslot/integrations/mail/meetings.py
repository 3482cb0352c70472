"""A meeting as mail describes it: the same facts for every kind of letter, and when it is for its reader."""

from datetime import datetime
from functools import cache, lru_cache

import babel
from babel.dates import format_date, format_skeleton, format_time, get_timezone_gmt, get_timezone_location
from msgspec import Struct

from openslot.accounts.models import BrandedHost
from openslot.bookings.models import Booking
from openslot.core.times import get_zone
from openslot.event_types.models import EventType, Location, LocationKind
from openslot.i18n import Text
from openslot.i18n.languages import Locale
from openslot.integrations.mail.message import find_name, one_line
from openslot.integrations.mail.models import (
    DEFAULT_TOPICS,
    TOPICS_OF_MEETINGS,
    MailKind,
    MailTopic,
    Recipient,
    RecipientRole,
)
from openslot.payments.models import StoredPayment


class MailHost(BrandedHost, frozen=True, kw_only=True):
    """A host, and which mails they want."""

    topics: frozenset[MailTopic] = DEFAULT_TOPICS


class MailedMeeting(Struct, frozen=True, kw_only=True):
    """A booking with all that its mails tell, as it was when something happened to it."""

    booking: Booking
    event_type: EventType
    host: MailHost
    manage_url: str
    calendar_url: str
    booking_url: str
    """The booking's page in the dashboard, for the host alone."""

    previous_starts_at: datetime | None = None
    previous_ends_at: datetime | None = None
    reason: str | None = None
    is_reason_of_host: bool = False
    payment: StoredPayment | None = None
    """What was paid for it; None: nothing."""

    @property
    def invitee_name(self) -> str:
        """The invitee's name, or the address if the name is none."""
        return find_name(self.booking.invitee_name) or self.booking.invitee_email


def list_recipients(booking: Booking, host: MailHost) -> tuple[Recipient, ...]:
    """Name everyone who is told of a booking, each once: the invitee, the guests, the host."""
    locale = booking.invitee_locale or host.locale
    invitee = Recipient(
        role=RecipientRole.INVITEE,
        email=booking.invitee_email,
        name=find_name(booking.invitee_name),
        zone=booking.invitee_zone,
        locale=locale,
    )
    guests = [
        Recipient(role=RecipientRole.GUEST, email=guest, name=None, zone=booking.invitee_zone, locale=locale)
        for guest in booking.guests
    ]
    as_host = Recipient(role=RecipientRole.HOST, email=host.email, name=host.name, zone=host.zone, locale=host.locale)
    by_address = {each.email.casefold(): each for each in reversed((invitee, as_host, *guests))}
    return tuple(each for each in (invitee, *guests, as_host) if by_address[each.email.casefold()] is each)


def is_wanted(host: MailHost, recipient: Recipient, kind: MailKind) -> bool:
    """Return whether a mail about a meeting is sent: always to invitees and guests, to the host by their choice."""
    return recipient.role is not RecipientRole.HOST or TOPICS_OF_MEETINGS[kind] in host.topics


def format_place(location: Location, host_name: str) -> str | None:
    if location.kind is LocationKind.PHONE and not location.value:
        return Text("%(name)s will call you", name=host_name)
    return one_line(location.value, max_=500) or None


DASH = "\u2013"
# Zones that are named by their offset, in every spelling.
UNIVERSAL = {
    **dict.fromkeys(("UTC", "UCT", "Universal", "Zulu"), "UTC"),
    **dict.fromkeys(("GMT", "GMT0", "GMT+0", "GMT-0", "Greenwich"), "GMT"),
}


# Babel parses the name of a locale, and looks a zone's country up, each time.
_parse = cache(babel.Locale.parse)


@lru_cache(maxsize=1024)
def _name_city(zone: str, formats: str) -> str:
    return get_timezone_location(zone, locale=_parse(formats), return_city=True)


def format_day(moment: datetime, zone: str, locale: Locale) -> str:
    """Say `Friday 20 March 2026`."""
    return format_date(moment.astimezone(get_zone(zone)).date(), "full", locale=_parse(locale.formats))


def format_hours(starts_at: datetime, ends_at: datetime, zone: str, locale: Locale) -> str:
    """Say from when to when, with 12 or 24 hours as the place counts them, and the day where it ends on another."""
    start, end = starts_at.astimezone(get_zone(zone)), ends_at.astimezone(get_zone(zone))
    ending = format_time_of_day(ends_at, zone, locale)
    if start.date() != end.date():
        ending = f"{format_skeleton('MMMEd', end, locale=_parse(locale.formats))}, {ending}"
    return f"{format_time_of_day(starts_at, zone, locale)} {DASH} {ending}"


def format_time_of_day(moment: datetime, zone: str, locale: Locale) -> str:
    """Say `09:00` or `9:00 AM`."""
    return format_time(moment.astimezone(get_zone(zone)).time(), "short", locale=_parse(locale.formats))


def format_short(moment: datetime, zone: str, locale: Locale) -> Text:
    """Say `Fri, 20 Mar, 09:00`, as a subject needs it."""
    local = moment.astimezone(get_zone(zone))
    day = format_skeleton("MMMEd", local, locale=_parse(locale.formats))
    return Text("%(day)s, %(time)s", day=day, time=format_time_of_day(moment, zone, locale))


def format_zone(moment: datetime, zone: str, locale: Locale) -> Text | str:
    """Say `Berlin time, GMT+01:00`, and `UTC` where the name is the offset."""
    named = UNIVERSAL.get(zone.removeprefix("Etc/"))
    if named:
        return named
    local = moment.astimezone(get_zone(zone))
    offset = get_timezone_gmt(local, locale=_parse(locale.formats))
    if zone.startswith("Etc/"):
        # Their names have the sign the other way round: Etc/GMT+5 is GMT-05:00.
        return offset
    if "/" not in zone:
        return Text("%(zone)s, %(offset)s", zone=zone, offset=offset)
    return Text("%(zone)s time, %(offset)s", zone=_name_city(zone, locale.formats), offset=offset)
