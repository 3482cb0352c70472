"""What a page tells of an event type: how long it is, where, for how many and for how much."""

from babel.numbers import format_currency, get_currency_precision
from msgspec import Struct

from openslot.event_types.models import EventType, LocationKind, Money
from openslot.event_types.rules import is_told_when_booked
from openslot.i18n import PluralText, Text
from openslot.i18n.languages import Locale
from openslot.integrations.mail.meetings import say_place

TOLD_LATER = {
    LocationKind.VIDEO_LINK: Text("Video call, link by email"),
    LocationKind.PHONE: Text("Phone call, number by email"),
    LocationKind.IN_PERSON: Text("Place by email"),
    LocationKind.TEXT: Text("Details by email"),
}
ICONS = {
    LocationKind.VIDEO_LINK: "video",
    LocationKind.PHONE: "phone",
    LocationKind.IN_PERSON: "pin",
    LocationKind.TEXT: "pin",
}


class ShownFact(Struct, frozen=True):
    """One line with its icon."""

    icon: str
    text: str


def list_facts(event_type: EventType, host_name: str, locale: Locale) -> list[ShownFact]:
    """Say what those who book should know, in the order of its weight."""
    facts = [ShownFact("clock", say_duration(event_type.duration_minutes))]
    location = event_type.location
    told_later = is_told_when_booked(location)
    place = TOLD_LATER[location.kind] if told_later else say_place(location, host_name)
    if place:
        facts.append(ShownFact(ICONS[location.kind], place))
    if event_type.seats > 1:
        facts.append(ShownFact("people", Text("Up to %(count)s people", count=event_type.seats)))
    if event_type.price is not None:
        facts.append(ShownFact("card", say_price(event_type.price, locale)))
    else:
        facts.append(ShownFact("calendar", Text("Reschedule or cancel at any time")))
    return facts


def say_duration(minutes: int) -> Text:
    """Say how long a meeting is."""
    if minutes % 60 or minutes == 60:
        return PluralText("%(count)s minute", "%(count)s minutes", count=minutes)
    return PluralText("%(count)s hour", "%(count)s hours", count=minutes // 60)


def say_price(price: Money, locale: Locale) -> str:
    """Write an amount as the place writes it."""
    amount = price.amount / 10 ** get_currency_precision(price.currency)
    return str(format_currency(amount, price.currency, locale=locale.formats))
