"""Pages: the first steps of a new user: time zone, hours, calendar, and the link to share."""

from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict

from openslot.accounts import operations as accounts
from openslot.accounts.models import User, UserSettings
from openslot.core.errors import Conflict, Invalid, Refusal
from openslot.core.outbound import OutboundRefused
from openslot.core.text import LINE
from openslot.core.times import Zone
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.i18n import Text
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.errors import CalendarFault, CalendarSignInFailed, CalendarUnreachable
from openslot.integrations.calendars.models import CalDavWanted
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.schedules import operations as schedules
from openslot.schedules.rules import version_of
from openslot.web.dashboard.availability import range_fields
from openslot.web.dashboard.availability.schedules import summarize_week
from openslot.web.dashboard.calendars.connections import TRIES
from openslot.web.pages import page, redirect

DAYS = range(7)
USUAL = ("09:00", "17:00")
NO_DAY = Text("Choose at least one day")
ShortLine = Annotated[str, Meta(pattern=LINE, max_length=500)]


STEPS = {
    "zone": Text("Time zone"),
    "hours": Text("Hours"),
    "calendar": Text("Calendar"),
    "link": Text("Your link"),
}


def step_page(user: User, number: int, form: Form[Any] = Form(), **values: Any) -> Response:
    return page(
        f"dashboard/onboarding/{[*STEPS][number - 1]}.html",
        user,
        here="/welcome",
        steps=STEPS,
        number=number,
        reached=user.welcome_step or len(STEPS) + 1,
        form=form,
        **values,
    )


class WelcomeZoneForm(Struct, frozen=True, kw_only=True):
    timezone: Annotated[Zone, WhenEmpty(Text("Choose your time zone"))]


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
    for schedule in await schedules.list_schedules(work, user):
        if schedule.zone == user.zone != zone:
            version = version_of((schedule.name, schedule.zone))
            await schedules.change_details(work, user, schedule.id, name=schedule.name, zone=zone, version=version)
    await accounts.change_settings(work, user, UserSettings(zone=zone))
    await accounts.set_welcome_step(work, user, 2)
    return redirect("/welcome/hours")


@post("/welcome/finish")
async def finish_welcome(work: Work, user: User) -> Response:
    """Finish or skip the first steps; the first screen does not mention them any more."""
    await accounts.finish_welcome(work, user)
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
    schedule, *_ = await schedules.list_schedules(work, user)
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
        schedule, *_ = await schedules.list_schedules(work, user)
        await schedules.change_hours(work, user, schedule.id, range_fields.week_of(week), version=form["version"])
    await accounts.set_welcome_step(work, user, 3)
    return redirect("/welcome/calendar")


class WelcomeCalendarForm(Struct, frozen=True, kw_only=True):
    address: Annotated[ShortLine, WhenEmpty(Text("Enter the server address"))]
    username: Annotated[ShortLine, WhenEmpty(Text("Enter your user name"))]
    password: Annotated[ShortLine, WhenEmpty(Text("Enter your password"))]


@get("/welcome/calendar")
async def show_welcome_calendar(work: Work, user: User, form: Form[WelcomeCalendarForm] = Form()) -> Response:
    """Show the form for a calendar, or which ones are connected."""
    return step_page(user, 3, form, connections=await calendars.list_connections(work, user))


@post("/welcome/calendar", transaction="none", limit=TRIES, shows=show_welcome_calendar)
async def connect_calendar(work: Work, user: User, form: Form[WelcomeCalendarForm]) -> Response:
    """Connect a calendar after trying it; no connection of ours is held while its server answers."""
    try:
        await calendars.connect(work, user, CalDavWanted(**asdict(form.get())))
    except (CalendarFault, Invalid, Conflict, OutboundRefused) as refusal:
        raise Invalid(details=_faults(refusal)) from None
    async with work.transaction():
        await accounts.set_welcome_step(work, user, 4)
    return redirect("/welcome/link")


@post("/welcome/calendar/skip")
async def skip_calendar(work: Work, user: User) -> Response:
    await accounts.set_welcome_step(work, user, 4)
    return redirect("/welcome/link")


def _faults(refusal: Refusal) -> dict[str, str]:
    """Put what the server or our own rules refuse at the field that it is about."""
    if isinstance(refusal, CalendarSignInFailed):
        return {"password": Text("The server refuses the user name or the password")}
    if isinstance(refusal, CalendarUnreachable | OutboundRefused):
        return {"address": Text("The server can't be reached. Check the address")}
    if isinstance(refusal, Conflict):
        return {"address": refusal.sentence}
    known = {name: fault for name, fault in refusal.faults.items() if name in {"username", "password"}}
    return known or {"address": Text("No calendar was found at this address")}


@get("/welcome/link")
async def show_welcome_link(work: Work, user: User) -> Response:
    """Show the link to the host's page and to the first event type."""
    offered, _ = await event_types.list_event_types(work, user, only_active=True)
    public = [each for each in offered if not each.is_private]
    return step_page(
        user,
        4,
        link=f"{work.runtime.settings.public_url}/{user.username}",
        first=public[0] if public else None,
    )
