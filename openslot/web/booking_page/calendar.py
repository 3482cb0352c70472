"""A month as a page shows it: weeks of days, and the times of each day."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from datetime import date

from markupsafe import Markup
from msgspec import Struct

from openslot.availability.models import MonthOfSlots
from openslot.availability.months import begin_month, end_month
from openslot.core.zones import DAY, date_of, day_number, get_offsets, offset_at
from openslot.i18n.languages import Locale
from openslot.web.booking_page.clock import Hours, list_weekdays, say_month
from openslot.web.booking_page.month_html import Run, SeatsLeft, write_cell, write_times, write_weekdays

WEEKS = 6


class ShownMonth(Struct, frozen=True, kw_only=True):
    """A month with all its open times."""

    title: str
    weekdays: Markup
    """The cells of the calendar's head."""
    grid: Markup
    """The rows of the calendar's table."""
    times: Markup
    """The times of each day; empty where there are none."""
    earlier: str
    later: str
    """The months before and after, such as `2026-04`; empty where there is nothing to see."""
    later_title: str
    chosen: str
    """The day whose times are shown; the first of the month where there are none."""


def show_month(found: MonthOfSlots, *, locale: Locale, hours: Hours, on: date | None) -> ShownMonth:
    """Lay a month out for a reader; the chosen day is the one asked for, or the first open one from there."""
    runs = _by_day(found)
    chosen = _choose(list(runs), on)
    seats = _count_seats(found)
    following = begin_month(found.month, later=1)
    times = [write_times(day, each, locale, hours, seats=seats, is_chosen=day == chosen) for day, each in runs.items()]
    return ShownMonth(
        title=say_month(found.month, locale.formats),
        weekdays=write_weekdays(locale.formats),
        grid=_lay_grid(found, runs, chosen, locale),
        times=Markup("".join(times)),  # noqa: S704 - written with every value escaped
        earlier=f"{begin_month(found.month, later=-1):%Y-%m}" if found.has_earlier else "",
        later=f"{following:%Y-%m}" if found.has_later else "",
        later_title=say_month(following, locale.formats),
        chosen=str(chosen or found.month),
    )


def _by_day(found: MonthOfSlots) -> dict[date, list[Run]]:
    """Group the starts by the reader's day."""
    offsets = get_offsets(found.zone, found.month, end_month(found.month))
    starts = found.slots.starts
    days: dict[date, list[Run]] = {}
    first = 0
    while first < len(starts):
        start, offset = starts[first], offset_at(offsets, starts[first])
        day = (start + offset) // DAY
        changes = offsets.starts[bisect_right(offsets.starts, start) :]
        until = min((day + 1) * DAY - offset, (start // DAY + 1) * DAY, *changes[:1])
        last = bisect_left(starts, until, lo=first)
        days.setdefault(date_of(day), []).append(Run(starts[first:last], offset))
        first = last
    return days


def _choose(days: list[date], on: date | None) -> date | None:
    if not days:
        return None
    place = bisect_left(days, on) if on is not None else 0
    return days[place] if place < len(days) else days[0]


def _count_seats(found: MonthOfSlots) -> SeatsLeft | None:
    """Count the seats left in sessions; None where a meeting is for one."""
    inputs = found.found.inputs
    if inputs.event_type.seats == 1:
        return None
    sessions = [claim for claim in inputs.taken.claims if claim.session_start is not None]
    return {None: inputs.event_type.seats} | {claim.session_start: claim.seats_left for claim in sessions}


def _lay_grid(found: MonthOfSlots, runs: Mapping[date, list[Run]], chosen: date | None, locale: Locale) -> Markup:
    """Lay out six weeks in every month, so that nothing below them moves."""
    first_weekday = list_weekdays(locale.formats)[0][0]
    before = (found.month.weekday() - first_weekday) % 7
    first, last = day_number(found.month), day_number(end_month(found.month))
    days = [date_of(day) for day in range(first, last + 1)]
    counts = {day: sum(len(run.starts) for run in each) for day, each in runs.items()}
    cells = [write_cell(day, counts.get(day, 0), locale, day == found.today, day == chosen) for day in days]
    cells = [*before * ["<td></td>"], *cells, *(WEEKS * 7 - before - len(cells)) * ["<td></td>"]]
    rows = ("".join(cells[week : week + 7]) for week in range(0, WEEKS * 7, 7))
    return Markup("<tr>{}</tr>".format("</tr>\n<tr>".join(rows)))  # noqa: S704 - written with every value escaped
