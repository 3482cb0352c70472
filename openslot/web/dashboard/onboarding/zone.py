"""The first step: the time zone; and the way to the step that comes next."""

from typing import Annotated

from msgspec import Struct

from openslot.accounts import operations as accounts
from openslot.accounts.models import User, UserSettings
from openslot.core.work import Work
from openslot.core.zones import Zone
from openslot.i18n import Text
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.schedules import changes
from openslot.schedules import operations as schedules
from openslot.schedules.rules import version_of
from openslot.web.dashboard.onboarding.steps import STEPS, step_page
from openslot.web.pages import redirect


class WelcomeZoneForm(Struct, frozen=True, kw_only=True):
    """The time zone."""

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
