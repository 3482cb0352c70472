"""A month as a page shows it: weeks of days, and the times of each day."""

from bisect import bisect_left
from datetime import date, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape
from msgspec import Struct

from openslot.availability.models import MonthOfSlots
from openslot.availability.months import begin_month, end_month
from openslot.core.zones import DAY, date_of, day_number, get_offsets, offset_at
from openslot.i18n import PluralText, Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.web.booking_page.clock import Hours, list_weekdays, say_day, say_minute, say_month

WEEKS = 6


class ShownDay(Struct, frozen=True, kw_only=True):
    """One day of the grid."""

    on: date
    label: str
    is_open: bool
    is_today: bool
    is_chosen: bool


class ShownTimes(Struct, frozen=True, kw_only=True):
    """The open times of one day."""

    on: date
    heading: str
    buttons: Markup
    is_chosen: bool


class ShownMonth(Struct, frozen=True, kw_only=True):
    """A month with all its open times."""

    title: str
    weekdays: tuple[tuple[int, str, str], ...]
    weeks: list[list[ShownDay | None]]
    days: list[ShownTimes]
    earlier: date | None
    later: date | None
    later_title: str
    chosen: date
    """The day whose times are shown; the first of the month where there are none."""


def show_month(found: MonthOfSlots, *, locale: Locale, hours: Hours, on: date | None) -> ShownMonth:
    """Lay a month out for a reader; the chosen day is the one asked for, or the first open one from there."""
    by_day = _by_day(found, found.zone)
    chosen = _choose(list(by_day), on)
    seats = _count_seats(found)
    following = begin_month(found.month, later=1)
    return ShownMonth(
        title=say_month(found.month, locale.formats),
        weekdays=list_weekdays(locale.formats),
        weeks=_lay_weeks(found, {day: len(starts) for day, starts in by_day.items()}, chosen, locale),
        days=[
            ShownTimes(
                on=day,
                heading=say_day(day, locale.formats),
                buttons=_write_buttons(starts, locale, hours, seats),
                is_chosen=day == chosen,
            )
            for day, starts in by_day.items()
        ],
        earlier=begin_month(found.month, later=-1) if found.has_earlier else None,
        later=following if found.has_later else None,
        later_title=say_month(following, locale.formats),
        chosen=chosen or found.month,
    )


def say_seats(count: int) -> Text:
    """Say how many seats of a session are left."""
    return PluralText("%(count)s seat left", "%(count)s seats left", count=count)


def _by_day(found: MonthOfSlots, zone: ZoneInfo) -> dict[date, list[tuple[int, int]]]:
    """Group the starts by the reader's day, each with the minute of that day."""
    grouped: dict[int, list[tuple[int, int]]] = {}
    offsets = get_offsets(zone, found.month, end_month(found.month))
    for start in found.slots.starts:
        local = start + offset_at(offsets, start)
        grouped.setdefault(local // DAY, []).append((start, local % DAY // 60))
    return {date_of(day): starts for day, starts in grouped.items()}


def _choose(days: list[date], on: date | None) -> date | None:
    if not days:
        return None
    place = bisect_left(days, on) if on is not None else 0
    return days[place] if place < len(days) else days[0]


def _count_seats(found: MonthOfSlots) -> dict[int | None, int] | None:
    """Count the seats left in sessions by their start; None where a meeting is for one."""
    setting = found.found.setting
    if setting.event_type.seats == 1:
        return None
    sessions = [claim for claim in setting.taken.claims if claim.session_start is not None]
    return {None: setting.event_type.seats} | {claim.session_start: claim.seats_left for claim in sessions}


def _lay_weeks(
    found: MonthOfSlots, counts: dict[date, int], chosen: date | None, locale: Locale
) -> list[list[ShownDay | None]]:
    """Lay out six weeks in every month, so that nothing below them moves."""
    month = found.month
    first_weekday = list_weekdays(locale.formats)[0][0]
    begin = month - timedelta(days=(month.weekday() - first_weekday) % 7)
    last = end_month(month)
    days = (date_of(day_number(begin) + place) for place in range(WEEKS * 7))
    cells = [
        ShownDay(
            on=on,
            label=_label(on, counts.get(on, 0), locale),
            is_open=on in counts,
            is_today=on == found.today,
            is_chosen=on == chosen,
        )
        if month <= on <= last
        else None
        for on in days
    ]
    return [cells[week * 7 : week * 7 + 7] for week in range(WEEKS)]


def _label(on: date, count: int, locale: Locale) -> str:
    day = say_day(on, locale.formats)
    if not count:
        return str(localize(Text("%(day)s, no times", day=day), locale))
    said = PluralText("%(day)s, %(count)s time", "%(day)s, %(count)s times", count=count, day=day)
    return str(localize(said, locale))


def _write_buttons(
    starts: list[tuple[int, int]], locale: Locale, hours: Hours, seats: dict[int | None, int] | None
) -> Markup:
    """Write the buttons of a day; a template would take longer for them than for all the rest of the page."""
    formats = locale.formats
    return Markup(  # noqa: S704 - every part is escaped or a number
        "".join(
            f'<button name="start" value="{_write_date(start // DAY)}{_write_clock(start % DAY)}">'
            f"{_write_minute(minute, formats, hours)}{_write_seats(start, seats, locale) if seats else ''}</button>"
            for start, minute in starts
        )
    )


def _write_seats(start: int, seats: dict[int | None, int], locale: Locale) -> Markup:
    left = str(localize(say_seats(seats.get(start, seats[None])), locale))
    return Markup(" <small>%s</small>") % left


@lru_cache(maxsize=1024)
def _write_date(day: int) -> str:
    return date_of(day).isoformat()


@lru_cache(maxsize=4096)
def _write_clock(second: int) -> str:
    return f"T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"


@lru_cache(maxsize=8192)
def _write_minute(minute: int, formats: str, hours: Hours) -> Markup:
    return escape(say_minute(minute, formats, hours))
