"""Pages: the first steps of a new user: time zone, hours, calendar, and the link to share."""

from typing import Annotated, Any

from msgspec import Struct

from openslot.domains.accounts.models import User, UserSettings
from openslot.domains.accounts.operations import change_user_settings, finish_first_steps, set_first_step
from openslot.domains.calendars.operations import list_calendar_connections
from openslot.domains.event_types.operations import list_event_types
from openslot.domains.oauth.models import list_clients
from openslot.domains.schedules.operations import change_schedule_details, change_schedule_hours, list_schedules
from openslot.domains.schedules.rules import version_of
from openslot.doors.web.dashboard.availability import range_fields
from openslot.doors.web.dashboard.availability.schedules import summarize_week
from openslot.doors.web.dashboard.calendars import connections
from openslot.doors.web.dashboard.calendars.connections import TRIES
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.zone_search import TypedZone
from openslot.platform.core.errors import Conflict, Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, WhenEmpty, get, post

DAYS = range(7)
USUAL = ("09:00", "17:00")
NO_DAY = Text("Choose at least one day")
STEPS = {
    "zone": Text("Time zone"),
    "hours": Text("Hours"),
    "calendar": Text("Calendar"),
    "link": Text("Your link"),
    "try": Text("Try it"),
}
# The last step that is stored: processes of the last release know no further one. What follows can be opened with it.
LAST_STORED = 4


def step_page(user: User, number: int, form: Form[Any] = Form(), **values: Any) -> Response:
    return page(
        f"dashboard/onboarding/{[*STEPS][number - 1]}.html",
        user,
        here="/welcome",
        steps=STEPS,
        number=number,
        reached=_count_reached(user),
        form=form,
        **values,
    )


def _count_reached(user: User) -> int:
    """Return the last step that can be opened, or the one after the last if all were taken."""
    if user.welcome_step is None:
        return len(STEPS) + 1
    return user.welcome_step if user.welcome_step < LAST_STORED else len(STEPS)


class WelcomeZoneForm(Struct, frozen=True, kw_only=True):
    timezone: Annotated[TypedZone, WhenEmpty(Text("Choose your time zone"))]


@get("/welcome")
async def show_welcome(user: User) -> Response:
    """Lead to the step that comes next."""
    return redirect(f"/welcome/{[*STEPS][(user.welcome_step or 1) - 1]}")


@get("/welcome/zone")
async def show_welcome_zone(user: User, form: Form[WelcomeZoneForm] = Form()) -> Response:
    """Show the time zone; if none was chosen yet, the browser proposes its own."""
    guesses = user.welcome_step == 1 and user.zone == "UTC" and not form.faults
    return step_page(user, 1, form.begin({"timezone": user.zone}), guesses=guesses)


@post("/welcome/zone", shows=show_welcome_zone)
async def choose_zone(work: Work, user: User, form: Form[WelcomeZoneForm]) -> Response:
    """Keep the time zone, also for schedules that had the same one as the user."""
    zone = form.get().timezone
    for schedule in await list_schedules(work, user):
        if schedule.zone == user.zone != zone:
            version = version_of((schedule.name, schedule.zone))
            await change_schedule_details(work, user, schedule.id, name=schedule.name, zone=zone, version=version)
    await change_user_settings(work, user, UserSettings(zone=zone))
    await set_first_step(work, user, 2)
    return redirect("/welcome/hours")


@post("/welcome/finish")
async def finish_welcome(work: Work, user: User) -> Response:
    """Finish or skip the first steps; the first screen does not mention them any more."""
    await finish_first_steps(work, user)
    return redirect("/")


class WelcomeHoursForm(Struct, frozen=True, kw_only=True):
    """Whether to keep the hours; the hours themselves are read by their fields' names."""

    act: str = "save"
    version: str = ""


def _read_week(form: Form[WelcomeHoursForm]) -> tuple[range_fields.DayFields, ...]:
    typed = [
        range_fields.read_typed(form.values, f"d{day}")[:1] if f"works.{day}" in form.values else [] for day in DAYS
    ]
    return range_fields.fill_week(typed, may_be_empty=False)


@get("/welcome/hours")
async def show_welcome_hours(work: Work, user: User, form: Form[WelcomeHoursForm] = Form()) -> Response:
    """Show the hours of the default schedule."""
    schedule, *_ = await list_schedules(work, user)
    saved = range_fields.fill_week([range_fields.write_hours(hours)[:1] for hours in schedule.weekly_hours])
    return step_page(
        user,
        2,
        form,
        schedule=schedule,
        is_simple=all(len(hours) <= 1 for hours in schedule.weekly_hours),
        lines=summarize_week(schedule),
        version=version_of(schedule.weekly_hours),
        days=[(day, day.ranges[0] if day.ranges else None) for day in (_read_week(form) if form.kind else saved)],
        usual=USUAL,
    )


@post("/welcome/hours", shows=show_welcome_hours, at={Conflict: "form"}, own_status=True)
async def choose_hours(work: Work, user: User, form: Form[WelcomeHoursForm]) -> Response:
    if form["act"] != "keep":
        week = _read_week(form)
        if faults := range_fields.find_faults(week) or ({} if any(day.ranges for day in week) else {"form": NO_DAY}):
            raise Invalid(details=faults)
        schedule, *_ = await list_schedules(work, user)
        await change_schedule_hours(work, user, schedule.id, range_fields.week_of(week), version=form["version"])
    await set_first_step(work, user, 3)
    return redirect("/welcome/calendar")


@get("/welcome/calendar")
async def show_welcome_calendar(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    """Show the ways to connect a calendar, or which ones are connected."""
    providers = tuple(connections.PROVIDERS.values())
    found = await list_calendar_connections(work, user)
    vendors = list_clients(work.runtime.settings)
    return step_page(user, 3, form, connections=found, providers=providers, vendors=vendors)


@post("/welcome/calendar", transaction="none", limit=TRIES, shows=show_welcome_calendar, at={Conflict: "server"})
async def connect_first_account(work: Work, user: User, form: Form[connections.CalendarAccountForm]) -> Response:
    await connections.try_account(work, user, form)
    async with work.transaction():
        return await skip_calendar(work, user)


@post("/welcome/calendar/feed", transaction="none", limit=TRIES, shows=show_welcome_calendar, at={Conflict: "url"})
async def connect_first_feed(work: Work, user: User, form: Form[connections.CalendarFeedForm]) -> Response:
    await connections.try_feed(work, user, form)
    async with work.transaction():
        return await skip_calendar(work, user)


@post("/welcome/calendar/skip")
async def skip_calendar(work: Work, user: User) -> Response:
    await set_first_step(work, user, 4)
    return redirect("/welcome/link")


@get("/welcome/link")
async def show_welcome_link(work: Work, user: User) -> Response:
    """Show the link to the host's page and to the first event type."""
    offered, _ = await list_event_types(work, user, only_active=True)
    public = [each for each in offered if not each.is_private]
    return step_page(
        user,
        4,
        link=f"{work.runtime.settings.public_url}/{user.username}",
        first=public[0] if public else None,
    )
