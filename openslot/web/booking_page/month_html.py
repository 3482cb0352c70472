"""The days and times of a month as HTML: a template would take longer for them than for all the rest of the page."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache

from markupsafe import Markup, escape
from msgspec import Struct

from openslot.core.zones import DAY, date_of
from openslot.i18n import PluralText, Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.web.booking_page.clock import Hours, list_weekdays, say_day, say_minute

SeatsLeft = Mapping[int | None, int]
"""How many seats of a session are left, by its start; None stands for every start without a session."""


class Run(Struct, frozen=True):
    """Open times that follow each other on one date, both in UTC and where they are shown."""

    starts: Sequence[int]
    offset: int


@lru_cache(maxsize=64)
def write_weekdays(formats: str) -> Markup:
    """Write the head of the grid."""
    cell = Markup('<th scope="col" abbr="{}">{}</th>')
    return Markup().join(cell.format(full, short) for _, short, full in list_weekdays(formats))


@lru_cache(maxsize=4096)
def write_cell(on: date, count: int, locale: Locale, is_today: bool, is_chosen: bool) -> str:
    """Write one day of the grid: a button if it has open times."""
    day = say_day(on, locale.formats)
    mark = ' class="today"' if is_today else ""
    if not count:
        label = localize(Text("%(day)s, no times", day=day), locale)
        return f'<td aria-label="{escape(label)}"><span{mark}>{on.day}</span></td>'
    label = localize(PluralText("%(day)s, %(count)s time", "%(day)s, %(count)s times", count=count, day=day), locale)
    return (
        f'<td><button name="date" value="{on}" aria-label="{escape(label)}"'
        f' aria-pressed="{"true" if is_chosen else "false"}"{mark}>{on.day}</button></td>'
    )


def write_times(
    on: date, runs: Sequence[Run], locale: Locale, hours: Hours, *, seats: SeatsLeft | None, is_chosen: bool
) -> str:
    """Write the times of one day; all but the chosen day's are hidden."""
    hidden = "" if is_chosen else " hidden"
    buttons = "".join(_write_run(run, locale, hours, seats) for run in runs)
    return (
        f'<div class="day" data-day="{on}"{hidden}><h3>{_write_heading(on, locale.formats)}</h3>'
        f'<div class="starts">{buttons}</div></div>\n'
    )


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


@lru_cache(maxsize=1024)
def _begin_button(utc_day: int) -> str:
    return f'<button name="start" value="{date_of(utc_day)}'


class _EndsOfButtons(dict[int, str]):
    """The time of a button and its label, by the second of the day in UTC."""

    def __init__(self, offset: int, formats: str, hours: Hours) -> None:
        super().__init__()
        self._offset, self._formats, self._hours = offset, formats, hours

    def __missing__(self, second: int) -> str:
        clock = f"T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
        label = say_minute((second + self._offset) % DAY // 60, self._formats, self._hours)
        return self.setdefault(second, f'{clock}">{escape(label)}')


_ends_of_buttons = lru_cache(maxsize=128)(_EndsOfButtons)


@lru_cache(maxsize=4096)
def _write_heading(on: date, formats: str) -> str:
    return str(escape(say_day(on, formats)))


@lru_cache(maxsize=1024)
def _write_seats(count: int, locale: Locale) -> str:
    left = localize(PluralText("%(count)s seat left", "%(count)s seats left", count=count), locale)
    return str(escape(left))
