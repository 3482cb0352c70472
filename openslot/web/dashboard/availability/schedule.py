"""Pages: one schedule, with its name and zone; the default, and a copy of it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from openslot.accounts.models import User
from openslot.availability.wording import DayInWords, HoursInWords, LengthOfTime
from openslot.bookings import agenda
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.i18n.localization import localize
from openslot.routing import Form, Request, Response, get, post
from openslot.schedules import changes
from openslot.schedules import operations as schedules
from openslot.schedules.clock_changes import ClockChange, find_clock_changes
from openslot.schedules.errors import ScheduleNotFound
from openslot.schedules.models import Schedule, ScheduleOverview
from openslot.schedules.rules import version_of
from openslot.web import words
from openslot.web.dashboard import phrases
from openslot.web.dashboard.availability.holiday_lists import list_countries, list_regions, next_holidays
from openslot.web.dashboard.availability.range_fields import DayFields, fill_week, write_hours
from openslot.web.dashboard.availability.schedules import ScheduleForm, summarize_week
from openslot.web.dates import Weekday
from openslot.web.list_addresses import read_day
from openslot.web.pages import locale_of, page, redirect

NOTICES = {
    "added": Text("The schedule was added. Set its hours below."),
    "duplicated": Text("This is the copy. The original is unchanged."),
    "hours": Text("The hours were saved. Bookings that exist stay."),
    "details": Text("The schedule was saved."),
    "default": Text("New event types use this schedule."),
    "holidays": Text("The holidays were saved."),
    "days": Text("The dates were saved."),
    "removed": Text("The date has the hours of its weekday again."),
}
AHEAD = timedelta(days=365)


@get("/availability/{schedule_id}")
async def show_schedule(request: Request, work: Work, user: User, schedule_id: UUID) -> Response:
    """Show a schedule."""
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
        since=phrases.begin_day(first, user.zone),
        until=phrases.begin_day(last + timedelta(days=1), user.zone),
    )
    return (tell_bookings(count), f"/bookings?from={first}&to={last}") if count else None


def tell_bookings(count: int) -> Text:
    """Say how many bookings are in a time that is closed now."""
    return PluralText(
        "%(count)s booking is in this time. It stays, until you move or cancel it.",
        "%(count)s bookings are in this time. They stay, until you move or cancel them.",
        count=count,
    )
