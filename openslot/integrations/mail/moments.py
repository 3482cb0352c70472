"""When a meeting is, as its reader would say it: their day, their hours, their zone."""

from datetime import datetime

from babel.dates import format_date, format_skeleton, format_time, get_timezone_gmt, get_timezone_location

from openslot.core.zones import get_zone
from openslot.i18n import Text
from openslot.i18n.languages import Locale

DASH = "\u2013"
# Zones that are named by their offset, in every spelling.
UNIVERSAL = {
    **dict.fromkeys(("UTC", "UCT", "Universal", "Zulu"), "UTC"),
    **dict.fromkeys(("GMT", "GMT0", "GMT+0", "GMT-0", "Greenwich"), "GMT"),
}


def say_day(moment: datetime, zone: str, locale: Locale) -> str:
    """Say `Friday 20 March 2026`."""
    return format_date(moment.astimezone(get_zone(zone)).date(), "full", locale=locale.formats)


def say_hours(starts_at: datetime, ends_at: datetime, zone: str, locale: Locale) -> str:
    """Say from when to when, with 12 or 24 hours as the place counts them, and the day where it ends on another."""
    start, end = starts_at.astimezone(get_zone(zone)), ends_at.astimezone(get_zone(zone))
    ending = say_time(ends_at, zone, locale)
    if start.date() != end.date():
        ending = f"{format_skeleton('MMMEd', end, locale=locale.formats)}, {ending}"
    return f"{say_time(starts_at, zone, locale)} {DASH} {ending}"


def say_time(moment: datetime, zone: str, locale: Locale) -> str:
    """Say `09:00` or `9:00 AM`."""
    return format_time(moment.astimezone(get_zone(zone)).time(), "short", locale=locale.formats)


def say_short(moment: datetime, zone: str, locale: Locale) -> Text:
    """Say `Fri, 20 Mar, 09:00`, as a subject needs it."""
    local = moment.astimezone(get_zone(zone))
    day = format_skeleton("MMMEd", local, locale=locale.formats)
    return Text("%(day)s, %(time)s", day=day, time=say_time(moment, zone, locale))


def say_zone(moment: datetime, zone: str, locale: Locale) -> Text | str:
    """Say `Berlin time, GMT+01:00`, and `UTC` where the name is the offset."""
    named = UNIVERSAL.get(zone.removeprefix("Etc/"))
    if named:
        return named
    local = moment.astimezone(get_zone(zone))
    offset = get_timezone_gmt(local, locale=locale.formats)
    if zone.startswith("Etc/"):
        # Their names have the sign the other way round: Etc/GMT+5 is GMT-05:00.
        return offset
    if "/" not in zone:
        return Text("%(zone)s, %(offset)s", zone=zone, offset=offset)
    city = get_timezone_location(zone, locale=locale.formats, return_city=True)
    return Text("%(zone)s time, %(offset)s", zone=city, offset=offset)
