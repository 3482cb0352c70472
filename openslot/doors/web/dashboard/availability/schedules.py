"""Pages: all schedules of a host and a new one; one schedule with its name and zone, and its deletion."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.availability.reasons import DayInWords, HoursInWords, LengthOfTime, WeekdayName
from openslot.domains.bookings.operations import count_bookings_between
from openslot.domains.schedules import rules
from openslot.domains.schedules.errors import ScheduleNotFound
from openslot.domains.schedules.models import Schedule
from openslot.domains.schedules.operations import (
    add_schedule,
    change_schedule_details,
    delete_schedule,
    duplicate_schedule,
    get_schedule,
    list_schedule_overviews,
    make_schedule_default,
)
from openslot.doors.web.dashboard.availability.holidays import name_place, next_holidays
from openslot.doors.web.dashboard.availability.range_fields import DayFields, fill_week, read_typed, write_hours
from openslot.doors.web.shared import words
from openslot.doors.web.shared.list_queries import read_day
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.doors.web.shared.words import Weekday
from openslot.doors.web.shared.zone_search import TypedZone
from openslot.platform.core.errors import Conflict
from openslot.platform.core.text import Name
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

LIST_NOTICES = {"deleted": Text("The schedule was deleted.")}
ENTER_NAME, CHOOSE_ZONE = Text("Enter a name"), Text("Choose a time zone")
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
    timezone: Annotated[TypedZone, WhenEmpty(CHOOSE_ZONE)]
    version: str = ""


class WeeklyHoursForm(Struct, frozen=True, kw_only=True):
    """What to do, and which version of the hours was shown; the hours themselves are read by their fields' names."""

    act: str = "save"
    version: str = ""
    copy_from: str = ""


class DayLine(Struct, frozen=True):
    first: WeekdayName
    last: WeekdayName
    hours: HoursInWords | None


@get("/availability")
async def show_schedules(work: Work, user: User, form: Form[ScheduleForm] = Form()) -> Response:
    found = await list_schedule_overviews(work, user)
    return page(
        "dashboard/availability/schedules.html",
        user,
        here="/availability",
        tab="/availability",
        notices=LIST_NOTICES,
        form=form.begin({"timezone": user.zone}),
        overviews=[(each, summarize_week(each.schedule)) for each in found],
    )


@post("/availability", shows=show_schedules, at={Conflict: "name"})
async def save_new_schedule(work: Work, user: User, form: Form[ScheduleForm]) -> Response:
    """Add a schedule with office hours, and show it."""
    made = await add_schedule(work, user, name=form.get().name, zone=form.get().timezone)
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


def read_week(form: Form[WeeklyHoursForm]) -> tuple[DayFields, ...]:
    """Check what was typed for a week; pairs that are empty are shown again only until the hours are saved."""
    typed = [read_typed(form.values, f"d{day}") for day in range(7)]
    is_saving = form["act"] in {"", "save"}
    return fill_week([[pair for pair in pairs if any(pair) or not is_saving] for pairs in typed])


@get("/availability/{schedule_id}")
async def show_schedule(
    request: Request, work: Work, user: User, schedule_id: UUID, form: Form[Any] = Form()
) -> Response:
    return await schedule_page(request, work, user, schedule_id, form)


@post("/availability/{schedule_id}/details", shows=show_schedule, at={Conflict: "name"}, own_status=True)
async def save_schedule_details(work: Work, user: User, schedule_id: UUID, form: Form[ScheduleForm]) -> Response:
    """Rename a schedule, or let another zone's clock count."""
    sent = form.get()
    await change_schedule_details(work, user, schedule_id, name=sent.name, zone=sent.timezone, version=sent.version)
    return redirect(f"/availability/{schedule_id}?done=details")


@post("/availability/{schedule_id}/default")
async def make_default(work: Work, user: User, schedule_id: UUID) -> Response:
    """Let new event types start from a schedule."""
    await make_schedule_default(work, user, schedule_id)
    return redirect(f"/availability/{schedule_id}?done=default")


@post("/availability/{schedule_id}/duplicate", shows=show_schedule, at={Conflict: "form"}, own_status=True)
async def copy_schedule(request: Request, work: Work, user: User, schedule_id: UUID) -> Response:
    """Add a schedule with the same hours, overrides and holidays."""
    source = await get_schedule(work, user, schedule_id)
    name = str(localize(Text("Copy of %(name)s", name=source.name), locale_of(request)))[:200]
    made = await duplicate_schedule(work, user, schedule_id, name=name)
    return redirect(f"/availability/{made.id}?done=duplicated")


async def schedule_page(
    request: Request, work: Work, user: User, schedule_id: UUID, form: Form[Any], *, unsaved: str | None = None
) -> Response:
    """Show a schedule, with what was typed into one of its forms."""
    found = await list_schedule_overviews(work, user)
    overview = next((each for each in found if each.schedule.id == schedule_id), None)
    if overview is None:
        raise ScheduleNotFound
    schedule, hours = overview.schedule, form.of(WeeklyHoursForm)
    today = words.day(work.now, schedule.zone)
    coming = rules.find_clock_changes(schedule, first=today, last=today + AHEAD)
    return page(
        "dashboard/availability/schedule.html",
        user,
        here="/availability",
        notices=NOTICES,
        warning=await _warn_of_bookings(request, work, user),
        form=form,
        refusal=next(iter(hours.faults.values()), form.faults.get("form")),
        is_outdated="version" in hours.faults,
        overview=overview,
        schedule=schedule,
        details=form.of(ScheduleForm).begin({"name": schedule.name, "timezone": schedule.zone}),
        week=read_week(hours) if hours.kind else fill_week([write_hours(each) for each in schedule.weekly_hours]),
        unsaved=unsaved,
        saved_week=summarize_week(schedule),
        hours_version=rules.version_of(schedule.weekly_hours),
        details_version=rules.version_of((schedule.name, schedule.zone)),
        clock_changes=[sentence for each in coming for sentence in _tell_clock_change(each)],
        overrides=[
            (each.on, Weekday(each.on, today), HoursInWords(each.hours) if each.hours else None)
            for each in schedule.overrides
            if each.on >= today
        ],
        holiday_place=name_place(schedule.holidays, locale_of(request)),
        next_holidays=next_holidays(schedule, today=today),
    )


def _tell_clock_change(change: rules.ClockChange) -> Iterator[Text]:
    clocks = {"day": DayInWords(change.on), "from": change.from_time.time(), "to": change.to_time.time()}
    for each in change.ranges:
        values = {**clocks, "hours": HoursInWords((each.hours,)), "length": LengthOfTime(each.minutes)}
        if change.is_forward:
            yield Text("On %(day)s, clocks go forward from %(from)s to %(to)s: %(hours)s lasts %(length)s.", **values)
        else:
            yield Text("On %(day)s, clocks go back from %(from)s to %(to)s: %(hours)s lasts %(length)s.", **values)


async def _warn_of_bookings(request: Request, work: Work, user: User) -> tuple[Text, str] | None:
    """Return how many bookings are on dates that were just changed, as the address names them."""
    first, last = (read_day(request.query.get(name, "")) for name in ("from", "to"))
    if first is None or last is None or last < first:
        return None
    count = await count_bookings_between(
        work,
        user,
        since=words.begin_day(first, user.zone),
        until=words.begin_day(last + timedelta(days=1), user.zone),
    )
    return (tell_bookings(count), f"/bookings?from={first}&to={last}") if count else None


def tell_bookings(count: int) -> Text:
    return PluralText(
        "%(count)s booking falls in this period and is kept unless you reschedule or cancel it.",
        "%(count)s bookings fall in this period and are kept unless you reschedule or cancel them.",
        count=count,
    )


@get("/availability/{schedule_id}/delete")
async def ask_to_delete_schedule(work: Work, user: User, schedule_id: UUID, form: Form[Any] = Form()) -> Response:
    schedule = await get_schedule(work, user, schedule_id)
    return page(
        "confirm.html",
        user,
        here="/availability",
        form=form,
        title=Text("Delete “%(name)s”?", name=schedule.name),
        explanation=Text("Its hours, dates and holidays are deleted. This can't be undone."),
        yes=Text("Delete schedule"),
        back=f"/availability/{schedule.id}",
    )


@post("/availability/{schedule_id}/delete", shows=ask_to_delete_schedule, at={Conflict: "form"}, own_status=True)
async def delete_chosen_schedule(work: Work, user: User, schedule_id: UUID) -> Response:
    await delete_schedule(work, await get_schedule(work, user, schedule_id))
    return redirect("/availability?done=deleted")
