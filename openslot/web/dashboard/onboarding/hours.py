"""The second step: one range of hours for each day of the week."""

from msgspec import Struct

from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.core.errors import Conflict
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Response, get, post
from openslot.schedules import changes
from openslot.schedules import operations as schedules
from openslot.schedules.models import Schedule
from openslot.schedules.rules import version_of
from openslot.web.dashboard.availability.range_fields import DayFields, fill_week, read_typed, week_of, write_hours
from openslot.web.dashboard.availability.schedules import summarize_week
from openslot.web.dashboard.onboarding.steps import step_page
from openslot.web.pages import redirect

DAYS = range(7)
USUAL = ("09:00", "17:00")
NO_DAY = Text("Choose at least one day")


class WelcomeHoursForm(Struct, frozen=True, kw_only=True):
    """Whether to keep the hours; the hours themselves are read by their fields' names."""

    act: str = "save"
    version: str = ""


@get("/welcome/hours")
async def show_welcome_hours(work: Work, user: User) -> Response:
    """Show the hours of the default schedule."""
    return await _show(work, user)


@post("/welcome/hours")
async def choose_hours(work: Work, user: User, form: Form[WelcomeHoursForm]) -> Response:
    """Keep the hours."""
    if form["act"] != "keep":
        typed = [read_typed(form.values, f"d{day}")[:1] if f"works.{day}" in form.values else [] for day in DAYS]
        week = fill_week(typed, may_be_empty=False)
        faults = {"form": NO_DAY} if not any(typed) else {}
        if faults or any(day.has_faults for day in week):
            return await _show(work, user, week=week, form=form.with_faults(faults), status=400)
        schedule, *_ = await schedules.list_schedules(work, user)
        try:
            await changes.change_hours(work, user, schedule.id, week_of(week), version=form["version"])
        except Conflict as refusal:
            return await _show(work, user, week=week, form=form.with_faults({"form": refusal.sentence}), status=409)
    await accounts.set_welcome_step(work, user, 3)
    return redirect("/welcome/calendar")


async def _show(
    work: Work,
    user: User,
    *,
    week: tuple[DayFields, ...] | None = None,
    form: Form[WelcomeHoursForm] | None = None,
    status: int = 200,
) -> Response:
    schedule, *_ = await schedules.list_schedules(work, user)
    shown = week or fill_week([write_hours(hours)[:1] for hours in schedule.weekly_hours])
    return step_page(
        user,
        2,
        form=form,
        status=status,
        schedule=schedule,
        is_simple=_is_simple(schedule),
        lines=summarize_week(schedule),
        version=version_of(schedule.weekly_hours),
        days=[(day, day.ranges[0] if day.ranges else None) for day in shown],
        usual=USUAL,
    )


def _is_simple(schedule: Schedule) -> bool:
    """Return whether no day has more than the one range that this step shows."""
    return all(len(hours) <= 1 for hours in schedule.weekly_hours)
