"""When and where a meeting is, as its readers see it: in their language, their zone, and with their hours."""

from datetime import datetime

from babel.dates import format_date, format_skeleton, format_time, get_timezone_gmt, get_timezone_location
from babel.lists import format_list
from msgspec.structs import replace

from openslot.domains.bookings.models import AnswerValue, Booking
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.platform.core.text import one_line
from openslot.platform.core.times import get_zone, iso
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, parse_formats
from openslot.platform.i18n.localization import Localizable, localize

# In a mail, and on a page that will show it.
LINK_FOLLOWS = Text("Video call. The link follows by email.")
LINK_SHOWN_HERE = Text("Video call. The link will be shown here.")


PHONE_CALL = Text("Phone call")
YOU_NAME_LOCATION = Text("You choose the place")
NAMED_LOCATION = Text("The place that was named in the booking")


def format_location(location: Location, host_name: str) -> str | None:
    """Say where a meeting takes place, as its invitee reads it."""
    if location.asks is LocationAsks.PHONE:
        if location.value:
            return Text("%(name)s will call you at %(phone)s", name=host_name, phone=location.value)
        return Text("%(name)s will call you", name=host_name)
    if location.kind is LocationKind.PHONE and not location.value:
        # Neither a number to call nor a question for one: who calls whom was agreed on elsewhere.
        return PHONE_CALL
    if location.awaits_link:
        return LINK_FOLLOWS
    if location.asks and not location.value:
        return YOU_NAME_LOCATION
    return one_line(location.value, max_=500) or None


def format_told_location(location: Location, host_name: str) -> str | None:
    """Say where a meeting takes place in what is sent to invitees: nothing that somebody has typed there."""
    return NAMED_LOCATION if location.asks is LocationAsks.PLACE else format_location(location, host_name)


def without_typed(location: Location) -> Location:
    """Return a location as guests may know it: without the invitee's number, and without what they have typed."""
    return replace(location, value="") if location.asks else location


def list_answers(booking: Booking, event_type: EventType) -> list[tuple[str, AnswerValue]]:
    """List an invitee's answers in the order of the questions, each under its label."""
    labels = {question.key: question.label for question in event_type.questions}
    asked = [(label, booking.answers[key]) for key, label in labels.items() if key in booking.answers]
    return [*asked, *((key, answer) for key, answer in booking.answers.items() if key not in labels)]


def write_answer(answer: AnswerValue) -> str:
    """Write an answer for another system, as a calendar or a CRM, in English."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return answer if isinstance(answer, str) else ", ".join(answer)


DASH = "\u2013"
# Zones that are named by their offset, in every spelling.
UNIVERSAL = {
    **dict.fromkeys(("UTC", "UCT", "Universal", "Zulu"), "UTC"),
    **dict.fromkeys(("GMT", "GMT0", "GMT+0", "GMT-0", "Greenwich"), "GMT"),
}


def _name_city(zone: str, formats: str) -> str:
    return get_timezone_location(zone, locale=parse_formats(formats), return_city=True)


def format_day(moment: datetime, zone: str, locale: Locale) -> str:
    """Say `Friday 20 March 2026`."""
    return format_date(moment.astimezone(get_zone(zone)).date(), "full", locale=parse_formats(locale.formats))


def format_hours(starts_at: datetime, ends_at: datetime, zone: str, locale: Locale) -> str:
    """Say from when to when, with 12 or 24 hours as the place counts them, and the day where it ends on another."""
    start, end = starts_at.astimezone(get_zone(zone)), ends_at.astimezone(get_zone(zone))
    ending = format_time_of_day(ends_at, zone, locale)
    if start.date() != end.date():
        ending = f"{format_skeleton('MMMEd', end, locale=parse_formats(locale.formats))}, {ending}"
    return f"{format_time_of_day(starts_at, zone, locale)} {DASH} {ending}"


def format_time_of_day(moment: datetime, zone: str, locale: Locale) -> str:
    """Say `09:00` or `9:00 AM`."""
    return format_time(moment.astimezone(get_zone(zone)).time(), "short", locale=parse_formats(locale.formats))


def format_short(moment: datetime, zone: str, locale: Locale) -> Text:
    """Say `Fri, 20 Mar, 09:00`, as a subject needs it."""
    local = moment.astimezone(get_zone(zone))
    day = format_skeleton("MMMEd", local, locale=parse_formats(locale.formats))
    return Text("%(day)s, %(time)s", day=day, time=format_time_of_day(moment, zone, locale))


class ListOfDates(Localizable, frozen=True):
    """Several starts, as the clock of a zone shows them; programs get them in UTC."""

    starts: tuple[datetime, ...]
    zone: str

    def localize(self, locale: Locale) -> str:
        return "; ".join(str(localize(format_short(each, self.zone, locale), locale)) for each in self.starts)

    def __str__(self) -> str:
        return ", ".join(iso(each) for each in self.starts)


class ListOfNames(Localizable, frozen=True):
    """Several people, as a reader's language joins them: `Ana and Jim`."""

    names: tuple[str, ...]

    def localize(self, locale: Locale) -> str:
        return format_list(self.names, locale=parse_formats(locale.formats))

    def __str__(self) -> str:
        return ", ".join(self.names)


def format_zone_name(zone: str, locale: Locale) -> Text | str:
    """Say `Berlin time`, and `UTC` where the name is the offset."""
    named = UNIVERSAL.get(zone.removeprefix("Etc/"))
    if named or "/" not in zone or zone.startswith("Etc/"):
        return named or zone
    return Text("%(zone)s time", zone=_name_city(zone, locale.formats))


def format_zone(moment: datetime, zone: str, locale: Locale) -> Text | str:
    """Say `Berlin time, GMT+01:00`, and `UTC` where the name is the offset."""
    named = UNIVERSAL.get(zone.removeprefix("Etc/"))
    if named:
        return named
    local = moment.astimezone(get_zone(zone))
    offset = get_timezone_gmt(local, locale=parse_formats(locale.formats))
    if zone.startswith("Etc/"):
        # Their names have the sign the other way round: Etc/GMT+5 is GMT-05:00.
        return offset
    if "/" not in zone:
        return Text("%(zone)s, %(offset)s", zone=zone, offset=offset)
    return Text("%(zone)s time, %(offset)s", zone=_name_city(zone, locale.formats), offset=offset)
