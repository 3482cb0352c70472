"""Pages: all schedules of a host and a new one; one schedule with its name, zone and holidays, and its deletion."""

from datetime import date, timedelta
from functools import lru_cache
from typing import Annotated, Any
from uuid import UUID

import babel
from msgspec import Struct

from openslot.accounts.models import User
from openslot.availability.reasons import DayInWords, HoursInWords, LengthOfTime, WeekdayName
from openslot.bookings import operations as agenda
from openslot.core.errors import Conflict, Invalid
from openslot.core.text import Name
from openslot.core.times import Zone
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.schedules import operations as changes
from openslot.schedules import operations as schedules
from openslot.schedules.errors import ScheduleNotFound
from openslot.schedules.models import HolidayCalendar, Schedule, ScheduleOverview
from openslot.schedules.rules import (
    ClockChange,
    find_clock_changes,
    find_override,
    holidays_of,
    list_holiday_countries,
    list_holiday_regions,
    version_of,
)
from openslot.web import words
from openslot.web.dashboard.availability.range_fields import DayFields, fill_week, write_hours
from openslot.web.list_queries import read_day
from openslot.web.pages import locale_of, page, redirect
from openslot.web.words import Weekday

LIST_NOTICES = {"deleted": Text("The schedule was deleted.")}
ENTER_NAME, CHOOSE_ZONE = Text("Enter a name"), Text("Choose a time zone")
MAX_SHOWN = 12
NOTICES = {
    "added": Text("The schedule was added. Set its hours below."),
    "duplicated": Text("This is the copy. The original is unchanged."),
    "hours": Text("The hours were saved. Existing bookings are not affected."),
    "details": Text("The schedule was saved."),
    "default": Text("New event types use this schedule."),
    "holidays": Text("The holidays were saved."),
    "days": Text("The dates were saved."),
    "removed": Text("The date uses the weekly hours again."),
}
AHEAD = timedelta(days=365)


class ScheduleForm(Struct, frozen=True, kw_only=True):
    name: Annotated[Name, WhenEmpty(ENTER_NAME)]
    timezone: Annotated[Zone, WhenEmpty(CHOOSE_ZONE)]
    version: str = ""


class DayLine(Struct, frozen=True):
    first: WeekdayName
    last: WeekdayName
    hours: HoursInWords | None


@get("/availability")
async def show_schedules(request: Request, work: Work, user: User) -> Response:
    form: Form[ScheduleForm] = Form(values={"timezone": user.zone})
    return await _show_schedules(work, user, form, notice=LIST_NOTICES.get(request.query.get("done", "")))


@post("/availability")
async def add_schedule(work: Work, user: User, form: Form[ScheduleForm]) -> Response:
    """Add a schedule with office hours, and show it."""
    if form.faults:
        return await _show_schedules(work, user, form)
    sent = form.get()
    try:
        made = await schedules.add_schedule(work, user, name=sent.name, zone=sent.timezone)
    except Invalid as refusal:
        return await _show_schedules(work, user, form.with_faults(refusal.faults))
    except Conflict as refusal:
        return await _show_schedules(work, user, form.with_faults({"name": refusal.sentence}))
    return redirect(f"/availability/{made.id}?done=added")


def summarize_week(schedule: Schedule) -> list[DayLine]:
    """Write the hours of a week shortly: days in a row with the same hours become one line."""
    lines: list[tuple[int, int]] = []
    for day, hours in enumerate(schedule.weekly_hours):
        if lines and schedule.weekly_hours[lines[-1][0]] == hours:
            lines[-1] = lines[-1][0], day
        else:
            lines.append((day, day))
    return [
        DayLine(
            WeekdayName(first),
            WeekdayName(last),
            HoursInWords(schedule.weekly_hours[first]) if schedule.weekly_hours[first] else None,
        )
        for first, last in lines
    ]


async def _show_schedules(work: Work, user: User, form: Form[ScheduleForm], *, notice: Text | None = None) -> Response:
    found = await schedules.list_overviews(work, user)
    return page(
        "dashboard/availability/schedules.html",
        user,
        here="/availability",
        tab="/availability",
        status=400 if form.faults else 200,
        notice=notice,
        form=form,
        overviews=[(each, summarize_week(each.schedule)) for each in found],
    )


class NextHoliday(Struct, frozen=True):
    on: date
    day: Weekday
    name: str
    is_worked: bool
    """Whether hours of its own open it."""


@lru_cache(maxsize=16)
def list_countries(locale: Locale) -> tuple[tuple[str, str], ...]:
    """List the countries by their names in the reader's language."""
    names = babel.Locale.parse(locale.formats).territories
    return tuple(sorted(((code, names.get(code, code)) for code in list_holiday_countries()), key=lambda each: each[1]))


def list_regions(country: str) -> tuple[tuple[str, str], ...]:
    """List the regions of a country that have holidays of their own, by name."""
    return tuple(sorted(list_holiday_regions(country).items(), key=lambda each: each[1]))


def next_holidays(schedule: Schedule, *, today: date) -> list[NextHoliday]:
    if schedule.holidays is None:
        return []
    years = (today.year, today.year + 1)
    found = sorted((on, name) for year in years for on, name in holidays_of(schedule.holidays, year).items())
    return [
        NextHoliday(on, Weekday(on, today), name, bool((own := find_override(schedule, on)) and own.hours))
        for on, name in found
        if on >= today
    ][:MAX_SHOWN]


@get("/availability/{schedule_id}")
async def show_schedule(request: Request, work: Work, user: User, schedule_id: UUID) -> Response:
    notice = NOTICES.get(request.query.get("done", ""))
    warning = await _warn_of_bookings(request, work, user)
    return await schedule_page(work, user, schedule_id, notice=notice, warning=warning)


@post("/availability/{schedule_id}/details")
async def change_schedule_details(work: Work, user: User, schedule_id: UUID, form: Form[ScheduleForm]) -> Response:
    """Rename a schedule, or let another zone's clock count."""
    if form.faults:
        return await schedule_page(work, user, schedule_id, details=form, status=400)
    sent = form.get()
    try:
        await changes.change_details(work, user, schedule_id, name=sent.name, zone=sent.timezone, version=sent.version)
    except Invalid as refusal:
        return await schedule_page(work, user, schedule_id, details=form.with_faults(refusal.faults), status=400)
    except Conflict as refusal:
        changed = form.with_faults({"name": refusal.sentence})
        return await schedule_page(work, user, schedule_id, details=changed, status=409)
    return redirect(f"/availability/{schedule_id}?done=details")


@post("/availability/{schedule_id}/default")
async def make_default(work: Work, user: User, schedule_id: UUID) -> Response:
    """Let new event types start from a schedule."""
    await schedules.make_default(work, user, schedule_id)
    return redirect(f"/availability/{schedule_id}?done=default")


@post("/availability/{schedule_id}/duplicate")
async def duplicate_schedule(request: Request, work: Work, user: User, schedule_id: UUID) -> Response:
    """Add a schedule with the same hours, overrides and holidays."""
    source = await schedules.get_schedule(work, user, schedule_id)
    name = str(localize(Text("Copy of %(name)s", name=source.name), locale_of(request)))[:200]
    try:
        made = await schedules.duplicate_schedule(work, user, schedule_id, name=name)
    except Conflict as refusal:
        return await schedule_page(work, user, schedule_id, refusal=refusal.sentence, status=409)
    return redirect(f"/availability/{made.id}?done=duplicated")


async def get_overview(work: Work, user: User, schedule_id: UUID) -> ScheduleOverview:
    """Read one of a host's schedules with all that its page shows."""
    found = await schedules.list_overviews(work, user)
    overview = next((each for each in found if each.schedule.id == schedule_id), None)
    if overview is None:
        raise ScheduleNotFound
    return overview


async def schedule_page(
    work: Work,
    user: User,
    schedule_id: UUID,
    *,
    status: int = 200,
    notice: Text | None = None,
    warning: tuple[Text, str] | None = None,
    refusal: str | None = None,
    details: Form[ScheduleForm] | None = None,
    week: tuple[DayFields, ...] | None = None,
    unsaved: str | None = None,
    holiday_form: Form[Any] | None = None,
) -> Response:
    """Show a schedule, with what was typed into one of its forms."""
    overview = await get_overview(work, user, schedule_id)
    schedule = overview.schedule
    today = words.day(work.now, schedule.zone)
    coming = find_clock_changes(schedule, first=today, last=today + AHEAD)
    return page(
        "dashboard/availability/schedule.html",
        user,
        here="/availability",
        status=status,
        notice=notice,
        warning=warning,
        refusal=refusal,
        overview=overview,
        schedule=schedule,
        details=details or Form(values={"name": schedule.name, "timezone": schedule.zone}),
        week=week or fill_week([write_hours(hours) for hours in schedule.weekly_hours]),
        unsaved=unsaved,
        saved_week=summarize_week(schedule),
        hours_version=version_of(schedule.weekly_hours),
        details_version=version_of((schedule.name, schedule.zone)),
        holidays_version=version_of(schedule.holidays),
        clock_changes=[sentence for each in coming for sentence in _tell_clock_change(each)],
        overrides=[
            (each.on, Weekday(each.on, today), HoursInWords(each.hours) if each.hours else None)
            for each in schedule.overrides
            if each.on >= today
        ],
        holiday_form=holiday_form or _holiday_form(schedule),
        list_countries=list_countries,
        regions=list_regions(schedule.holidays.country) if schedule.holidays else (),
        next_holidays=next_holidays(schedule, today=today),
    )


def _holiday_form(schedule: Schedule) -> Form[Any]:
    holidays = schedule.holidays
    return Form(values={"country": holidays.country, "region": holidays.region or ""} if holidays else {})


def _tell_clock_change(change: ClockChange) -> list[Text]:
    values = {"day": DayInWords(change.on), "from": change.from_time.time(), "to": change.to_time.time()}
    return [
        Text(
            "On %(day)s, clocks go forward from %(from)s to %(to)s: %(hours)s lasts %(length)s.",
            hours=HoursInWords((each.hours,)),
            length=LengthOfTime(each.minutes),
            **values,
        )
        if change.is_forward
        else Text(
            "On %(day)s, clocks go back from %(from)s to %(to)s: %(hours)s lasts %(length)s.",
            hours=HoursInWords((each.hours,)),
            length=LengthOfTime(each.minutes),
            **values,
        )
        for each in change.ranges
    ]


async def _warn_of_bookings(request: Request, work: Work, user: User) -> tuple[Text, str] | None:
    """Return how many bookings are on dates that were just changed, as the address names them."""
    first, last = (read_day(request.query.get(name, "")) for name in ("from", "to"))
    if first is None or last is None or last < first:
        return None
    count = await agenda.count_between(
        work,
        user,
        since=words.begin_day(first, user.zone),
        until=words.begin_day(last + timedelta(days=1), user.zone),
    )
    return (tell_bookings(count), f"/bookings?from={first}&to={last}") if count else None


def tell_bookings(count: int) -> Text:
    """Say how many bookings are in a time that is closed now."""
    return PluralText(
        "%(count)s booking falls in this period and is kept unless you reschedule or cancel it.",
        "%(count)s bookings fall in this period and are kept unless you reschedule or cancel them.",
        count=count,
    )


class HolidaysForm(Struct, frozen=True, kw_only=True):
    """A country and a region of it."""

    country: str = ""
    region: str = ""
    shown_country: str = ""
    """The country whose regions were shown."""
    version: str = ""


@post("/availability/{schedule_id}/holidays")
async def change_holidays(work: Work, user: User, schedule_id: UUID, form: Form[HolidaysForm]) -> Response:
    """Save whose public holidays are free."""
    country, region = form["country"], form["region"]
    # The regions on the page are those of the country before.
    if country != form["shown_country"]:
        region = ""
    calendar = HolidayCalendar(country, region or None) if country else None
    try:
        await changes.change_holidays(work, user, schedule_id, calendar, version=form["version"])
    except Invalid as refusal:
        faults = {field.rpartition(".")[2]: fault for field, fault in refusal.faults.items()}
        return await schedule_page(work, user, schedule_id, holiday_form=form.with_faults(faults), status=400)
    except Conflict as refusal:
        changed = form.with_faults({"country": refusal.sentence})
        return await schedule_page(work, user, schedule_id, holiday_form=changed, status=409)
    return redirect(f"/availability/{schedule_id}?done=holidays#holidays")


@get("/availability/{schedule_id}/delete")
async def ask_to_delete_schedule(work: Work, user: User, schedule_id: UUID) -> Response:
    return _ask_to_delete(user, await schedules.get_schedule(work, user, schedule_id), Form())


@post("/availability/{schedule_id}/delete")
async def delete_schedule(work: Work, user: User, schedule_id: UUID) -> Response:
    schedule = await schedules.get_schedule(work, user, schedule_id)
    try:
        async with work.attempt():
            await schedules.delete_schedule(work, schedule)
    except Conflict as refusal:
        return _ask_to_delete(user, schedule, Form(faults={"form": refusal.sentence}))
    return redirect("/availability?done=deleted")


def _ask_to_delete(user: User, schedule: Schedule, form: Form[Any]) -> Response:
    return page(
        "confirm.html",
        user,
        here="/availability",
        status=409 if form.faults else 200,
        form=form,
        title=Text("Delete “%(name)s”?", name=schedule.name),
        explanation=Text("Its hours, dates and holidays are deleted. This can't be undone."),
        yes=Text("Delete schedule"),
        back=f"/availability/{schedule.id}",
    )
