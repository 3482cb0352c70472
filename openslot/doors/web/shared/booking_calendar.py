"""A month as a page shows it: weeks of days, the times of each day, and how clocks write them."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache

from babel.dates import format_skeleton
from markupsafe import Markup, escape
from msgspec import Struct

from openslot.domains.availability.models import Days
from openslot.domains.availability.months import MonthOfSlots, begin_month, end_month
from openslot.domains.availability.slots import list_taken
from openslot.domains.event_types.rules import is_offered
from openslot.domains.wait_list.rules import list_full_sessions
from openslot.doors.web.shared.words import format_day
from openslot.platform.core.times import DAY, at_second, date_of, day_number, get_offsets, get_zone, iso, offset_at
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import Hours, Locale, parse_formats
from openslot.platform.i18n.localization import format_minute, localize

SeatsLeft = Mapping[int | None, int]
"""How many seats of a session are left, by its start; None stands for every start without a session."""
WEEKS = 6
JOIN = Text("Join the wait list")


# benchmarks/caches.py: write a month, twice in every booking page, 24 times
@lru_cache(maxsize=1024)
def format_month(month: date, formats: str) -> str:
    """Write `March 2027`, as a heading begins."""
    text = format_skeleton("yMMMM", month, locale=parse_formats(formats))
    return text[:1].upper() + text[1:]


def list_weekdays(formats: str) -> tuple[tuple[int, str, str], ...]:
    """List the weekdays in the place's order, from Monday as 0, each with its short and its full name."""
    locale = parse_formats(formats)
    short, full = locale.days["stand-alone"]["short"], locale.days["stand-alone"]["wide"]
    order = [(locale.first_week_day + index) % 7 for index in range(7)]
    return tuple((day, short[day].rstrip("."), full[day]) for day in order)


def format_now(zone: str, formats: str, hours: Hours, *, now: datetime) -> str:
    local = now.astimezone(get_zone(zone))
    return format_minute(local.hour * 60 + local.minute, formats, hours)


class Full(Struct, frozen=True, kw_only=True):
    """The parts of a month that have a wait list: days without a free time, and sessions without a free seat."""

    days: frozenset[date] = frozenset()
    sessions: Mapping[date, Sequence[datetime]] = {}
    """The starts of full sessions by day, where they are shown."""
    url: str = ""
    """Where people join the wait list, up to the date."""


NOTHING_FULL = Full()


class Run(Struct, frozen=True):
    """Open times that follow each other on one date, both in UTC and where they are shown."""

    starts: Sequence[int]
    offset: int


# benchmarks/caches.py: write the weekdays, in every booking page, 73 times
@lru_cache(maxsize=64)
def write_weekdays(formats: str) -> Markup:
    cells = (f'<th scope="col" abbr="{escape(full)}">{escape(short)}</th>' for _, short, full in list_weekdays(formats))
    return Markup("".join(cells))  # noqa: S704 - escaped


# benchmarks/caches.py: lay the grid of a month, 3.9 times
@lru_cache(maxsize=4096)
def write_cell(on: date, count: int | None, locale: Locale, is_today: bool, is_chosen: bool) -> str:
    """Write one day of the grid: a button if it has open times, or is full and can be waited for (None)."""
    day = format_day(on, locale.formats)
    mark = ' class="today"' if is_today else ""
    if count == 0:
        label = localize(Text("%(day)s, no times", day=day), locale)
        return f'<td aria-label="{escape(label)}"><span{mark}>{on.day}</span></td>'
    words = (
        Text("%(day)s, full, with a wait list", day=day)
        if count is None
        else PluralText("%(day)s, %(count)s time", "%(day)s, %(count)s times", count=count, day=day)
    )
    number = f"<s>{on.day}</s>" if count is None else on.day
    return (
        f'<td><button name="date" value="{on}" aria-label="{escape(localize(words, locale))}"'
        f' aria-pressed="{"true" if is_chosen else "false"}"{mark}>{number}</button></td>'
    )


def write_times(
    on: date,
    runs: Sequence[Run],
    locale: Locale,
    hours: Hours,
    *,
    seats: SeatsLeft | None,
    is_chosen: bool,
    full: Full = NOTHING_FULL,
) -> str:
    """Write the times of one day; all but the chosen day's are hidden."""
    hidden = "" if is_chosen else " hidden"
    buttons = "".join(_write_run(run, locale, hours, seats) for run in runs)
    return (
        f'<div class="day" data-day="{on}"{hidden}><h3>{_write_heading(on, locale.formats)}</h3>'
        f'<div class="starts">{buttons}{_write_full_sessions(on, full, locale, hours)}</div>'
        f"{_write_full_day(on, full, locale)}</div>\n"
    )


def _write_full_sessions(on: date, full: Full, locale: Locale, hours: Hours) -> str:
    link = Markup('<a class="button" href="{}{}&amp;start={}"><s>{}</s> <small>{}</small></a>')
    return "".join(
        link.format(
            full.url,
            on,
            iso(start),
            format_minute(start.hour * 60 + start.minute, locale.formats, hours),
            localize(JOIN, locale),
        )
        for start in full.sessions.get(on, ())
    )


def _write_full_day(on: date, full: Full, locale: Locale) -> str:
    if on not in full.days:
        return ""
    words = localize(Text("All times of this day are taken."), locale)
    link = Markup('<div class="no-times"><p>{}</p><a class="button" href="{}{}">{}</a></div>')
    return link.format(words, full.url, on, localize(JOIN, locale))


def _write_run(run: Run, locale: Locale, hours: Hours, seats: SeatsLeft | None) -> str:
    begin = _begin_button(run.starts[0] // DAY)
    ends = _ends_of_buttons(run.offset, locale.formats, hours)
    if seats is None:
        return begin + f"</button>{begin}".join([ends[start % DAY] for start in run.starts]) + "</button>"
    left = (seats.get(start, seats[None]) for start in run.starts)
    return "".join(
        f"{begin}{ends[start % DAY]} <small>{_write_seats(count, locale)}</small></button>"
        for start, count in zip(run.starts, left, strict=True)
    )


def _begin_button(utc_day: int) -> str:
    return f'<button name="start" value="{date_of(utc_day)}'


# A month with a start every quarter of an hour: 0.2 ms to read its buttons from here, 3.3 ms to write them again.
class _EndsOfButtons(dict[int, str]):
    """The time of a button and its label, by the second of the day in UTC."""

    def __init__(self, offset: int, formats: str, hours: Hours) -> None:
        super().__init__()
        self._offset, self._formats, self._hours = offset, formats, hours

    def __missing__(self, second: int) -> str:
        clock = f"T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
        label = format_minute((second + self._offset) % DAY // 60, self._formats, self._hours)
        return self.setdefault(second, f'{clock}">{escape(label)}')


# benchmarks/caches.py: write the times of a day, 4.6 times
_ends_of_buttons = lru_cache(maxsize=128)(_EndsOfButtons)


def _write_heading(on: date, formats: str) -> str:
    return str(escape(format_day(on, formats)))


def _write_seats(count: int, locale: Locale) -> str:
    left = localize(PluralText("%(count)s seat left", "%(count)s seats left", count=count), locale)
    return str(escape(left))


class ShownMonth(Struct, frozen=True, kw_only=True):
    title: str
    weekdays: Markup
    grid: Markup
    times: Markup
    """The times of each day; empty if there are none."""
    earlier: str
    later: str
    """The months before and after, such as `2026-04`; empty if there is nothing to see."""
    later_title: str
    chosen: str
    """The day whose times are shown; the first of the month if there are none."""


def show_month(
    found: MonthOfSlots, *, locale: Locale, hours: Hours, on: date | None, full: Full = NOTHING_FULL
) -> ShownMonth:
    """Lay a month out for a reader; the chosen day is the one asked for, or the first open one from there."""
    runs = _by_day(found)
    chosen = on if on in full.days else _choose(list(runs) or sorted(full.days), on)
    seats = _count_seats(found)
    following = begin_month(found.month, later=1)
    shown = runs if full is NOTHING_FULL else {day: runs.get(day, []) for day in sorted({*runs, *full.days})}
    times = [
        write_times(day, each, locale, hours, seats=seats, is_chosen=day == chosen, full=full)
        for day, each in shown.items()
    ]
    return ShownMonth(
        title=format_month(found.month, locale.formats),
        weekdays=write_weekdays(locale.formats),
        grid=_lay_grid(found, runs, chosen, locale, full),
        times=Markup("".join(times)),  # noqa: S704 - written with every value escaped
        earlier=f"{begin_month(found.month, later=-1):%Y-%m}" if found.has_earlier else "",
        later=f"{following:%Y-%m}" if found.has_later else "",
        later_title=format_month(following, locale.formats),
        chosen=str(chosen or found.month),
    )


def _by_day(found: MonthOfSlots) -> dict[date, list[Run]]:
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
    index = bisect_left(days, on) if on is not None else 0
    return days[index] if index < len(days) else days[0]


def _count_seats(found: MonthOfSlots) -> SeatsLeft | None:
    """Count the seats left in sessions; None if a meeting is for one."""
    inputs = found.found.inputs
    if inputs.event_type.seats == 1:
        return None
    left = {start: each.seats_left for start, each in inputs.sessions.items()}
    return {None: inputs.event_type.seats} | left


def find_full(found: MonthOfSlots, url: str) -> Full:
    """Find what of a month is full and can be waited for: nothing without a wait list, or by a link."""
    inputs = found.found.inputs
    days = Days(max(found.month, found.today), end_month(found.month))
    has_list = inputs.event_type.wait_list_minutes is not None and found.found.link is None
    if not has_list or not is_offered(inputs.event_type) or days.first > days.last:
        return NOTHING_FULL
    taken = list_taken(inputs, days, viewer=found.zone)
    free = {_local(start, found).date() for start in found.slots.starts}
    sessions: dict[date, list[datetime]] = {}
    for start in list_full_sessions(inputs, taken):
        sessions.setdefault(_local(start, found).date(), []).append(_local(start, found))
    full = frozenset(_local(start, found).date() for start in taken) - free
    return Full(days=full, sessions=sessions, url=url)


def _local(start: int, found: MonthOfSlots) -> datetime:
    return at_second(start).astimezone(found.zone)


def _lay_grid(
    found: MonthOfSlots, runs: Mapping[date, list[Run]], chosen: date | None, locale: Locale, full: Full
) -> Markup:
    """Lay out six weeks in every month, so that nothing below them moves."""
    first_weekday = parse_formats(locale.formats).first_week_day
    before = (found.month.weekday() - first_weekday) % 7
    first, last = day_number(found.month), day_number(end_month(found.month))
    days = [date_of(day) for day in range(first, last + 1)]
    counts: dict[date, int | None] = {day: sum(len(run.starts) for run in each) for day, each in runs.items()}
    counts |= dict.fromkeys(full.days)
    cells = [write_cell(day, counts.get(day, 0), locale, day == found.today, day == chosen) for day in days]
    cells = [*before * ["<td></td>"], *cells, *(WEEKS * 7 - before - len(cells)) * ["<td></td>"]]
    rows = ("".join(cells[week : week + 7]) for week in range(0, WEEKS * 7, 7))
    return Markup("<tr>{}</tr>".format("</tr>\n<tr>".join(rows)))  # noqa: S704 - written with every value escaped
