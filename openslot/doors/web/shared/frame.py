"""What the frame around hosts' pages shows: the navigation, what waits, and the account menu with its preferences."""

from urllib.parse import urlencode

from openslot.domains.access.models import Entry
from openslot.domains.accounts.models import ColorTheme, User
from openslot.domains.availability.reasons import WeekdayName
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared.marks import read_event_colors
from openslot.doors.web.shared.words import City
from openslot.platform.core.times import get_zone
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Hours, Locale, first_weekday_of, usual_hours
from openslot.platform.i18n.localization import format_minute
from openslot.platform.routing import READS

OUTGOING: dict[str, Text] = {
    OutgoingChannel.SMS: Text("SMS"),
    OutgoingChannel.WHATSAPP: Text("WhatsApp"),
    OutgoingChannel.VOICE: Text("Voice calls"),
    OutgoingChannel.EMAIL: Text("Email"),
}
SYSTEM = "system"
THEMES = {SYSTEM: Text("System"), ColorTheme.LIGHT: Text("Light"), ColorTheme.DARK: Text("Dark")}
HOURS: tuple[Hours, ...] = (24, 12)
# A time that is written differently with 12 and 24 hours.
EXAMPLE = 14 * 60 + 30
# Monday, Sunday and Saturday: with one of these, weeks begin in nearly every country.
FIRST_WEEKDAYS = (0, 6, 5)
Choice = tuple[str, object, bool]


def show_frame(exchange: Exchange, user: User, locale: Locale) -> dict[str, object]:
    now = exchange.work.now if hasattr(exchange, "work") else exchange.runtime.clock()
    memberships = exchange.entry.memberships
    return {
        "event_colors": read_event_colors(exchange.entry.event_colors),
        "clock": Text("%(city)s, %(time)s", city=City(user.zone), time=now.astimezone(get_zone(user.zone)).time()),
        "organization_name": memberships[0].organization_name if len(memberships) == 1 else None,
        "preferences": list_preferences(user.theme, locale),
        "theme": user.theme,
        "this_address": _write_address(exchange),
        "waiting_approvals": exchange.entry.waiting_approvals,
        "unread_threads": exchange.entry.unread_threads,
        "waiting_requests": exchange.entry.waiting_requests,
        "stopped_channels": list_stopped(exchange.entry, user),
    }


def list_stopped(entry: Entry, user: User) -> tuple[Text, ...]:
    """Name the kinds of outgoing messages that are stopped and concern the reader."""
    concerns_all = user.is_admin or entry.has_number
    return tuple(OUTGOING[each] for each in entry.stopped_channels if concerns_all or each == OutgoingChannel.EMAIL)


def list_preferences(theme: ColorTheme | None, locale: Locale) -> tuple[tuple[str, Text, tuple[Choice, ...]], ...]:
    """List what can be chosen, each with its field, its name, and the choices with the one that counts now."""
    hours = locale.hours or usual_hours(locale.formats)
    first = first_weekday_of(locale)
    return (
        ("theme", Text("Theme"), tuple((name, label, name == (theme or SYSTEM)) for name, label in THEMES.items())),
        (
            "hours",
            Text("Time format"),
            tuple((str(each), format_minute(EXAMPLE, locale.formats, each), each == hours) for each in HOURS),
        ),
        (
            "first_weekday",
            Text("First day of the week"),
            tuple((str(day), WeekdayName(day), day == first) for day in FIRST_WEEKDAYS),
        ),
    )


def _write_address(exchange: Exchange) -> str:
    """Write the address of the page, to which a changed preference leads back; a page after a form has none."""
    if exchange.method not in READS:
        return "/"
    query = urlencode({name: value for name, value in exchange.query.items() if name != "done"})
    return f"{exchange.path}?{query}" if query else exchange.path
