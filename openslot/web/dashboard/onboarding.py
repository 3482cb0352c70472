"""Pages: the first steps of a new user: time zone, hours, calendar, and the link to share."""

from typing import Annotated, Any

from msgspec import Meta, Struct

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
from openslot.schedules import operations as changes
from openslot.schedules import operations as schedules
from openslot.schedules.models import Schedule
from openslot.schedules.rules import version_of
from openslot.web.dashboard.availability.range_fields import DayFields, fill_week, read_typed, week_of, write_hours
from openslot.web.dashboard.availability.schedules import summarize_week
from openslot.web.dashboard.calendars.connections import TRIES
from openslot.web.pages import page, redirect

DAYS = range(7)
USUAL = ("09:00", "17:00")
NO_DAY = Text("Choose at least one day")
WRONG_SIGN_IN = Text("The server refuses the user name or the password")
NOT_REACHED = Text("The server can't be reached. Check the address")
NO_CALENDAR = Text("No calendar was found at this address")
ShortLine = Annotated[str, Meta(pattern=LINE, max_length=500)]


class WelcomeStep(Struct, frozen=True, kw_only=True):
    number: int
    path: str
    name: Text


STEPS = (
    WelcomeStep(number=1, path="/welcome/zone", name=Text("Time zone")),
    WelcomeStep(number=2, path="/welcome/hours", name=Text("Hours")),
    WelcomeStep(number=3, path="/welcome/calendar", name=Text("Calendar")),
    WelcomeStep(number=4, path="/welcome/link", name=Text("Your link")),
)


def step_page(user: User, number: int, *, form: Form[Any] | None = None, status: int = 200, **values: Any) -> Response:
    """Show one step, with how far the user has come."""
    return page(
        f"dashboard/onboarding/{STEPS[number - 1].path.rpartition('/')[2]}.html",
        user,
        here="/welcome",
        status=status,
        steps=STEPS,
        number=number,
        reached=user.welcome_step or len(STEPS) + 1,
        form=form or Form(),
        **values,
    )


class WelcomeZoneForm(Struct, frozen=True, kw_only=True):
    timezone: Annotated[Zone, WhenEmpty(Text("Choose your time zone"))]


@get("/welcome")
async def show_welcome(user: User) -> Response:
    """Lead to the step that comes next."""
    return redirect(STEPS[(user.welcome_step or 1) - 1].path)


@get("/welcome/zone")
async def show_welcome_zone(user: User) -> Response:
    """Show the time zone; where none was chosen yet, the browser proposes its own."""
    guesses = user.welcome_step == 1 and user.zone == "UTC"
    return step_page(user, 1, form=Form(values={"timezone": user.zone}), guesses=guesses)


@post("/welcome/zone")
async def choose_zone(work: Work, user: User, form: Form[WelcomeZoneForm]) -> Response:
    """Keep the time zone, also for schedules that had the same one as the user."""
    if form.faults:
        return step_page(user, 1, form=form, status=400, guesses=False)
    zone = form.get().timezone
    for schedule in await schedules.list_schedules(work, user):
        if schedule.zone == user.zone != zone:
            version = version_of((schedule.name, schedule.zone))
            await changes.change_details(work, user, schedule.id, name=schedule.name, zone=zone, version=version)
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


@get("/welcome/hours")
async def show_welcome_hours(work: Work, user: User) -> Response:
    """Show the hours of the default schedule."""
    return await _show_hours(work, user)


@post("/welcome/hours")
async def choose_hours(work: Work, user: User, form: Form[WelcomeHoursForm]) -> Response:
    if form["act"] != "keep":
        typed = [read_typed(form.values, f"d{day}")[:1] if f"works.{day}" in form.values else [] for day in DAYS]
        week = fill_week(typed, may_be_empty=False)
        faults = {"form": NO_DAY} if not any(typed) else {}
        if faults or any(day.has_faults for day in week):
            return await _show_hours(work, user, week=week, form=form.with_faults(faults), status=400)
        schedule, *_ = await schedules.list_schedules(work, user)
        try:
            await changes.change_hours(work, user, schedule.id, week_of(week), version=form["version"])
        except Conflict as refusal:
            return await _show_hours(
                work, user, week=week, form=form.with_faults({"form": refusal.sentence}), status=409
            )
    await accounts.set_welcome_step(work, user, 3)
    return redirect("/welcome/calendar")


async def _show_hours(
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


class WelcomeCalendarForm(Struct, frozen=True, kw_only=True):
    address: Annotated[ShortLine, WhenEmpty(Text("Enter the server address"))]
    username: Annotated[ShortLine, WhenEmpty(Text("Enter your user name"))]
    password: Annotated[ShortLine, WhenEmpty(Text("Enter your password"))]


@get("/welcome/calendar")
async def show_welcome_calendar(work: Work, user: User) -> Response:
    """Show the form for a calendar, or which ones are connected."""
    return await _show_calendar(work, user, Form())


@post("/welcome/calendar", transaction="none", limit=TRIES)
async def connect_calendar(work: Work, user: User, form: Form[WelcomeCalendarForm]) -> Response:
    """Connect a calendar after trying it; no connection of ours is held while its server answers."""
    if form.faults:
        return await _show_calendar(work, user, form)
    sent = form.get()
    wanted = CalDavWanted(address=sent.address, username=sent.username, password=sent.password)
    try:
        await calendars.connect(work, user, wanted)
    except (CalendarFault, Invalid, Conflict, OutboundRefused) as refusal:
        return await _show_calendar(work, user, form.with_faults(_faults(refusal)))
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
        return {"password": WRONG_SIGN_IN}
    if isinstance(refusal, CalendarUnreachable | OutboundRefused):
        return {"address": NOT_REACHED}
    if isinstance(refusal, Conflict):
        return {"address": refusal.sentence}
    known = {name: fault for name, fault in refusal.faults.items() if name in {"username", "password"}}
    return known or {"address": NO_CALENDAR}


async def _show_calendar(work: Work, user: User, form: Form[WelcomeCalendarForm]) -> Response:
    connections = await calendars.list_connections(work, user)
    return step_page(user, 3, form=form, status=400 if form.faults else 200, connections=connections)


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
