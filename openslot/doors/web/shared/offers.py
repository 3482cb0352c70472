"""What an event type offers, in words."""

from babel.lists import format_list
from msgspec import Struct

from openslot.domains.bookings.words import format_location
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.domains.event_types.rules import is_offered, is_told_when_booked
from openslot.domains.payments.words import describe_policy, show_amount
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import Locale, parse_formats
from openslot.platform.i18n.localization import Localizable, localize

TOLD_LATER = {
    LocationKind.VIDEO_LINK: Text("Video call, link after booking"),
    LocationKind.PHONE: Text("Phone call, number after booking"),
    LocationKind.IN_PERSON: Text("Place after booking"),
    LocationKind.TEXT: Text("Details after booking"),
}
# Where the host has said nothing more about it.
LOCATION_KINDS = {
    LocationKind.VIDEO_LINK: Text("Video call"),
    LocationKind.PHONE: Text("Phone call"),
    LocationKind.IN_PERSON: Text("In person"),
    LocationKind.TEXT: Text("Other"),
}
NOT_OFFERED = Text("Can't be booked online yet")
ICONS = {
    LocationKind.VIDEO_LINK: "video",
    LocationKind.PHONE: "phone",
    LocationKind.IN_PERSON: "pin",
    LocationKind.TEXT: "pin",
}


class ShownFact(Struct, frozen=True):
    icon: str
    text: str | Localizable


def list_facts(event_type: EventType, host_name: str, locale: Locale) -> list[ShownFact]:
    """Say what those who book should know, in the order of its weight."""
    facts = [ShownFact("clock", format_durations(event_type))]
    facts += [
        ShownFact(ICONS[location.kind], words)
        for location in event_type.all_locations
        if (words := format_offered_location(location, host_name))
    ]
    if event_type.seats > 1:
        facts.append(ShownFact("people", Text("Up to %(count)s people", count=event_type.seats)))
    if event_type.price is not None:
        facts.append(ShownFact("card", show_amount(event_type.price).localize(locale)))
    if not is_offered(event_type):
        facts.append(ShownFact("gone", NOT_OFFERED))
    elif event_type.requires_confirmation:
        facts.append(ShownFact("done", Text("%(host)s confirms each request", host=host_name)))
        facts.append(ShownFact("calendar", Text("Cancel at any time")))
    else:
        facts.append(ShownFact("calendar", Text("Reschedule or cancel at any time")))
        if event_type.price is not None:
            facts.append(ShownFact("refund", describe_policy(event_type.refund_policy)))
    return facts


def format_offered_location(location: Location, host_name: str) -> str | None:
    """Say where a meeting would take place, to those who have not booked it."""
    return TOLD_LATER[location.kind] if is_told_when_booked(location) else format_location(location, host_name)


class ShownLocation(Struct, frozen=True, kw_only=True):
    """A location to choose, or one that asks for something."""

    id: str
    words: str
    asks: LocationAsks | None


def list_locations(event_type: EventType, host_name: str) -> tuple[ShownLocation, ...]:
    """List the locations that a form has fields for; none if there is nothing to choose or to tell."""
    if not event_type.locations and not event_type.location.asks:
        return ()
    return tuple(
        ShownLocation(
            id=each.id or "",
            words=format_offered_location(each, host_name) or LOCATION_KINDS[each.kind],
            asks=each.asks or None,
        )
        for each in event_type.all_locations
    )


def format_duration(minutes: int) -> Text:
    if minutes % 60 or minutes == 60:
        return PluralText("%(count)s minute", "%(count)s minutes", count=minutes)
    return PluralText("%(count)s hour", "%(count)s hours", count=minutes // 60)


class DurationList(Localizable, frozen=True):
    """Some durations to choose from, such as `15 minutes, 30 minutes or 2 hours`."""

    minutes: tuple[int, ...]

    def localize(self, locale: Locale) -> str:
        written = [str(localize(format_duration(each), locale)) for each in self.minutes]
        return format_list(written, style="or", locale=parse_formats(locale.formats))

    def __str__(self) -> str:
        return " or ".join(str(format_duration(each)) for each in self.minutes)


def format_durations(event_type: EventType) -> Text | DurationList:
    if event_type.durations:
        return DurationList(event_type.durations)
    return format_duration(event_type.duration_minutes)
