"""Choosing a time: a month with its open times, or one time that was chosen, for a new booking or one that moves."""

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from openslot.availability import operations as availability
from openslot.availability.models import Drafted, EventTypeRef, SlotContext
from openslot.core.instants import iso
from openslot.core.work import Work
from openslot.core.zones import at_second, floor_second, get_zone
from openslot.i18n.languages import Locale
from openslot.web.booking_page.calendar import ShownMonth, show_month
from openslot.web.booking_page.clock import Hours, say_day, say_minute
from openslot.web.booking_page.options import Options
from openslot.web.booking_page.view import hours_of


class ShownStart(Struct, frozen=True, kw_only=True):
    """One time, as a button or a sentence shows it."""

    start: str
    day: str
    time: str


class Picked(Struct, frozen=True, kw_only=True):
    """What there is to choose from, or what was chosen."""

    found: SlotContext
    zone: ZoneInfo
    month: ShownMonth | None = None
    chosen: ShownStart | None = None
    nearest: Sequence[ShownStart] = ()
    is_open: bool = True


async def pick_month(
    work: Work,
    which: EventTypeRef | Drafted,
    options: Options,
    *,
    zone: ZoneInfo | None = None,
    without: UUID | None = None,
    apart_from: datetime | None = None,
) -> Picked:
    """Read the month that a page shows; a booking that moves is not offered its own time."""
    month = options.month or (options.on and options.on.replace(day=1))
    read = await availability.list_month(work, which, zone=options.zone or zone, month=month, without=without)
    if apart_from is not None:
        others = [start for start in read.slots.starts if start != floor_second(apart_from)]
        read = replace(read, slots=replace(read.slots, starts=others))
    shown = show_month(read, locale=options.locale, hours=hours_of(options), on=options.on)
    return Picked(found=read.found, zone=read.zone, month=shown)


async def pick_start(
    work: Work,
    which: EventTypeRef,
    options: Options,
    start: datetime,
    *,
    zone: ZoneInfo | None = None,
    without: UUID | None = None,
) -> Picked:
    """Read whether a chosen time is open, and the times nearest to it."""
    read = await availability.list_nearest(work, which, start, without=without)
    zone = options.zone or zone or get_zone(read.found.host_zone)
    locale, hours = options.locale, hours_of(options)
    return Picked(
        found=read.found,
        zone=zone,
        chosen=show_start(start, zone, locale, hours),
        nearest=[show_start(at_second(each), zone, locale, hours) for each in read.starts],
        is_open=read.is_open,
    )


def show_start(start: datetime, zone: ZoneInfo, locale: Locale, hours: Hours) -> ShownStart:
    """Show one time by a zone's calendar and clock."""
    local = start.astimezone(zone)
    on = date(local.year, local.month, local.day)
    minute = say_minute(local.hour * 60 + local.minute, locale.formats, hours)
    return ShownStart(start=iso(start), day=say_day(on, locale.formats), time=minute)
