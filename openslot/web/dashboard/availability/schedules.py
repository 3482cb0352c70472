"""Pages: all schedules of a host, and a new one."""

from typing import Annotated

from msgspec import Struct

from openslot.accounts.models import User
from openslot.availability.wording import HoursInWords, WeekdayName
from openslot.core.errors import Conflict, Invalid
from openslot.core.text import Name
from openslot.core.work import Work
from openslot.core.zones import Zone
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.schedules import operations as schedules
from openslot.schedules.models import Schedule
from openslot.web.pages import page, redirect

NOTICES = {"deleted": Text("The schedule was deleted.")}
ENTER_NAME, CHOOSE_ZONE = Text("Enter a name"), Text("Choose a time zone")


class ScheduleForm(Struct, frozen=True, kw_only=True):
    """A name and a time zone."""

    name: Annotated[Name, WhenEmpty(ENTER_NAME)]
    timezone: Annotated[Zone, WhenEmpty(CHOOSE_ZONE)]
    version: str = ""


class DayLine(Struct, frozen=True):
    """Days that have the same hours."""

    first: WeekdayName
    last: WeekdayName
    hours: HoursInWords | None


@get("/availability")
async def show_schedules(request: Request, work: Work, user: User) -> Response:
    """Show all schedules."""
    form: Form[ScheduleForm] = Form(values={"timezone": user.zone})
    return await _show(work, user, form, notice=NOTICES.get(request.query.get("done", "")))


@post("/availability")
async def add_schedule(work: Work, user: User, form: Form[ScheduleForm]) -> Response:
    """Add a schedule with office hours, and show it."""
    if form.faults:
        return await _show(work, user, form)
    sent = form.get()
    try:
        made = await schedules.add_schedule(work, user, name=sent.name, zone=sent.timezone)
    except Invalid as refusal:
        return await _show(work, user, form.with_faults(refusal.faults))
    except Conflict as refusal:
        return await _show(work, user, form.with_faults({"name": refusal.sentence}))
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


async def _show(work: Work, user: User, form: Form[ScheduleForm], *, notice: Text | None = None) -> Response:
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
