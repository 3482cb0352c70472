"""Pages: a host's own figures as charts with their numbers, also as a CSV file."""

from collections.abc import Sequence
from datetime import date, time, timedelta
from typing import Any

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.analytics.models import HostFigures, HostPeriod
from openslot.domains.analytics.operations import read_figures
from openslot.domains.availability.reasons import WeekdayName
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import list_event_types
from openslot.doors.web.shared import words
from openslot.doors.web.shared.charts import Chart, Series, draw_chart, draw_funnel, draw_spark, level_of, share_of
from openslot.doors.web.shared.downloads import send_csv, write_csv
from openslot.doors.web.shared.figures import SOURCES, Delta, Percent, ShortDay, ShortWeekday, ShownNumber, compare
from openslot.doors.web.shared.list_queries import ListQuery, read_day, read_list_query
from openslot.doors.web.shared.pages import locale_of, page
from openslot.doors.web.shared.words import MonthDay, Weekday
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Form, Request, Response, get

PERIODS = {"7": Text("7 days"), "30": Text("30 days"), "90": Text("90 days"), "365": Text("Year")}
USUAL, MAX_DAYS, MAX_DAILY, MAX_SOURCES = "30", 366, 31, 10
HOURS_SHOWN = (8, 18)
HOUR, DAY = 3600, 86400
NONE = "\u2013"
NAMES = {**SOURCES, "internal": Text("Your other pages")}
COLUMNS = {
    "made": Text("Bookings"),
    "kept": Text("Meetings"),
    "cancelled": Text("Cancelled"),
    "visits": Text("Visits"),
}


class Wanted(Struct, frozen=True, kw_only=True):
    """What an address asks for."""

    query: ListQuery
    form: Form[Any]
    period: HostPeriod
    event_type: EventType | None
    offered: Sequence[EventType]


class Figure(Struct, frozen=True, kw_only=True):
    name: Text
    value: object
    delta: Delta | None
    spark: str | None


@get("/analytics")
async def show_host_analytics(request: Request, work: Work, user: User) -> Response:
    """Show what became of a host's pages, bookings and meetings over some days."""
    wanted, figures = await _read(request, work, user)
    period, today = wanted.period, words.day(work.now, user.zone)
    return page(
        "dashboard/analytics.html",
        user,
        here="/analytics",
        form=wanted.form,
        periods=_list_periods(wanted),
        event_types=[(each.slug, each.name) for each in wanted.offered],
        days=Text("%(start)s \u2013 %(end)s", start=MonthDay(period.first), end=MonthDay(period.last)),
        figures=_list_figures(figures, period),
        meetings=_draw_meetings(figures, period, today=today),
        stages=_draw_stages(figures, period),
        hours=range(*_span_hours(figures)),
        heat=_list_heat(figures, first=user.first_weekday or 0),
        busiest=_name_busiest(figures),
        sources=_list_sources(figures),
        sources_since=_name_beginning(figures.sources_since),
        rows=_list_event_types(figures, wanted.offered),
        export=wanted.query.link("/analytics/export.csv"),
    )


@get("/analytics/export.csv")
async def export_host_analytics(request: Request, work: Work, user: User) -> Response:
    """Send the figures of every day."""
    wanted, figures = await _read(request, work, user)
    period, locale = wanted.period, locale_of(request)
    columns = {**COLUMNS, "no_shows": Text("No-shows")}
    counted = [figures.list_days(kind, period) for kind in columns]
    rows = ([str(on), *map(str, numbers)] for on, *numbers in zip(period.days, *counted, strict=True))
    names = (str(localize(name, locale)) for name in (Text("Day"), *columns.values()))
    return send_csv(f"analytics-{period.first}-{period.last}.csv", write_csv(names, rows))


async def _read(request: Request, work: Work, user: User) -> tuple[Wanted, HostFigures]:
    offered, _ = await list_event_types(work, user)
    choices = {"days": set(PERIODS), "type": {each.slug for each in offered}}
    query = read_list_query(request, user, "/analytics", "days", "type", "from", "to", choices=choices)
    period, faults = read_period(query, today=words.day(work.now, user.zone))
    form = query.form.with_faults(faults) if faults else query.form
    chosen = next((each for each in offered if each.slug == query["type"]), None)
    wanted = Wanted(query=query, form=form, period=period, event_type=chosen, offered=offered)
    return wanted, await read_figures(work, user, period, event_type_id=chosen.id if chosen else None)


def read_period(query: ListQuery, *, today: date) -> tuple[HostPeriod, dict[str, Text]]:
    """Read the days that are asked for: some days up to today, or those from a first to a last one."""
    usual = int(query["days"] or USUAL)
    last = read_day(query["to"]) or today
    first = read_day(query["from"]) or last - timedelta(days=usual - 1)
    faults = dict[str, Text]()
    if last > today:
        faults["to"] = Text("must not be in the future")
    elif (last - first).days >= MAX_DAYS:
        faults["from"] = Text("must be at most %(count)s days before the last day", count=MAX_DAYS - 1)
    if faults or query.form.faults or first > last:
        first, last = today - timedelta(days=usual - 1), today
    return HostPeriod(first=first, last=last), faults


def _list_periods(wanted: Wanted) -> list[tuple[Text, str, bool]]:
    own = bool(wanted.query["from"] or wanted.query["to"])
    chosen = wanted.query["days"] or USUAL
    links = {days: wanted.query.link(days=days, **{"from": "", "to": ""}) for days in PERIODS}
    return [(name, links[days], days == chosen and not own) for days, name in PERIODS.items()]


def _list_figures(figures: HostFigures, period: HostPeriod) -> list[Figure]:
    return [
        _show_count(Text("Bookings"), "made", figures, period, better="more"),
        _show_count(Text("Visits"), "visits", figures, period, better="more"),
        _show_count(Text("Meetings"), "kept", figures, period, better="more"),
        _show_count(Text("Cancelled"), "cancelled", figures, period, better="fewer"),
        _show_count(Text("No-shows"), "no_shows", figures, period, better="fewer"),
        _show_ahead(figures.ahead),
    ]


def _show_count(name: Text, kind: str, figures: HostFigures, period: HostPeriod, *, better: Any) -> Figure:
    days, before = figures.list_days(kind, period), figures.total(kind, period.before)
    now, spark = sum(days), draw_spark(_sum(days, _step(period)))
    return Figure(name=name, value=ShownNumber(now), delta=compare(now, before, better=better), spark=spark)


def _show_ahead(ahead: dict[str, int]) -> Figure:
    now, before = ahead.get("ahead"), ahead.get("ahead_before")
    delta = None
    if now is not None and before is not None and _write_ahead(now) == _write_ahead(before):
        delta = Delta(words=Text("as before"))
    elif before is not None:
        delta = Delta(words=Text("before: %(time)s", time=_write_ahead(before)))
    return Figure(name=Text("Booked ahead"), value=NONE if now is None else _write_ahead(now), delta=delta, spark=None)


def _write_ahead(seconds: int) -> Text:
    if seconds >= 2 * DAY:
        return PluralText("%(count)s day", "%(count)s days", count=round(seconds / DAY))
    return PluralText("%(count)s hour", "%(count)s hours", count=round(seconds / HOUR))


def _step(period: HostPeriod) -> int:
    return 1 if period.length <= MAX_DAILY else 7


def _sum(values: Sequence[int], step: int) -> list[int]:
    return [sum(values[index : index + step]) for index in range(0, len(values), step)]


def _draw_meetings(figures: HostFigures, period: HostPeriod, *, today: date) -> Chart:
    step, days = _step(period), period.days
    names = [_name_column(days[index : index + step], today) for index in range(0, period.length, step)]
    before = Series(name=Text("Meetings before"), values=_sum(figures.list_days("kept", period.before), step))
    series = [
        Series(name=Text("Meetings"), values=_sum(figures.list_days("kept", period), step)),
        Series(name=Text("Cancelled"), values=_sum(figures.list_days("cancelled", period), step), tone="bad"),
    ]
    title = Text("Meetings a day") if step == 1 else Text("Meetings a week")
    return draw_chart("meetings", title, names, series, before=before if any(before.values) else None)


def _name_column(days: Sequence[date], today: date) -> tuple[object, object]:
    if len(days) == 1:
        return Weekday(days[0], today), ShortDay(days[0])
    return Text("%(start)s \u2013 %(end)s", start=ShortDay(days[0]), end=ShortDay(days[-1])), ShortDay(days[0])


def _draw_stages(figures: HostFigures, period: HostPeriod) -> object:
    stages = ((Text("Visits"), "visits"), (Text("Bookings"), "made"))
    if not figures.total("visits", period):
        return ()
    return draw_funnel([(name, figures.total(kind, period)) for name, kind in stages])


def _span_hours(figures: HostFigures) -> tuple[int, int]:
    hours = [hour for _, hour in figures.hours]
    first, last = HOURS_SHOWN
    return min([first, *hours]), max([last, *hours]) + 1


def _list_heat(figures: HostFigures, *, first: int) -> list[tuple[ShortWeekday, list[tuple[int, int]]]]:
    """List each weekday's hours as the number of meetings and how dark it is shown."""
    most, hours = max(figures.hours.values(), default=0), range(*_span_hours(figures))
    rows = []
    for weekday in ((first + index) % 7 for index in range(7)):
        counts = [figures.hours.get((weekday, hour), 0) for hour in hours]
        rows.append((ShortWeekday(weekday), [(count, level_of(count, most)) for count in counts]))
    return rows


def _name_busiest(figures: HostFigures) -> Text:
    if not figures.hours:
        return Text("Nothing in this period.")
    (weekday, hour), count = max(figures.hours.items(), key=lambda each: (each[1], -each[0][0], -each[0][1]))
    return PluralText(
        "Most often %(day)s, %(time)s: %(count)s meeting.",
        "Most often %(day)s, %(time)s: %(count)s meetings.",
        day=WeekdayName(weekday),
        time=time(hour),
        count=count,
    )


class SourceRow(Struct, frozen=True, kw_only=True):
    """Where visitors come from, and how many of them book."""

    name: str
    visits: int
    bookings: int
    length: float
    """The length of the bar, in per cent."""

    @property
    def share(self) -> Percent | str:
        return Percent(self.bookings / self.visits) if self.visits else NONE


def _list_sources(figures: HostFigures) -> list[SourceRow]:
    visits, booked = figures.sources, figures.booked
    names = sorted({*visits, *booked}, key=lambda name: (-visits.get(name, 0), -booked.get(name, 0), name))
    most = max(visits.values(), default=0)
    return [
        SourceRow(
            name=NAMES.get(name, name),
            visits=visits.get(name, 0),
            bookings=booked.get(name, 0),
            length=share_of(visits.get(name, 0), most),
        )
        for name in names[:MAX_SOURCES]
    ]


def _name_beginning(since: date | None) -> Text:
    if since is None:
        return Text("Bookings are counted by source as soon as someone books on your pages.")
    return Text("Bookings on your pages are counted by source since %(day)s.", day=since)


def _list_event_types(figures: HostFigures, offered: Sequence[EventType]) -> list[tuple[str, list[int]]]:
    """List the event types that have anything to show, with their counts in the order of the columns."""
    counted = figures.event_types
    return [(each.name, [counted[each.id].get(kind, 0) for kind in COLUMNS]) for each in offered if each.id in counted]
