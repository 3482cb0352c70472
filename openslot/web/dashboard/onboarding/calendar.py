"""The third step: a calendar to read busy times from and to write bookings into, or none for now."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid, Refusal
from openslot.core.outbound import OutboundRefused
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.errors import CalendarFault, CalendarSignInFailed, CalendarUnreachable
from openslot.integrations.calendars.models import CalDavWanted
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web.dashboard.calendars.providers import TRIES
from openslot.web.dashboard.onboarding.steps import step_page
from openslot.web.pages import redirect

WRONG_SIGN_IN = Text("The server refuses the user name or the password")
NOT_REACHED = Text("The server can't be reached. Check the address")
NO_CALENDAR = Text("No calendar was found at this address")

ShortLine = Annotated[str, Meta(pattern=LINE, max_length=500)]


class WelcomeCalendarForm(Struct, frozen=True, kw_only=True):
    """How a calendar is reached."""

    address: Annotated[ShortLine, WhenEmpty(Text("Enter the server address"))]
    username: Annotated[ShortLine, WhenEmpty(Text("Enter your user name"))]
    password: Annotated[ShortLine, WhenEmpty(Text("Enter your password"))]


@get("/welcome/calendar")
async def show_welcome_calendar(work: Work, user: User) -> Response:
    """Show the form for a calendar, or which ones are connected."""
    return await _show(work, user, Form())


@post("/welcome/calendar", transaction="none", limit=TRIES)
async def connect_calendar(work: Work, user: User, form: Form[WelcomeCalendarForm]) -> Response:
    """Connect a calendar after trying it; no connection of ours is held while its server answers."""
    if form.faults:
        return await _show(work, user, form)
    sent = form.get()
    wanted = CalDavWanted(address=sent.address, username=sent.username, password=sent.password)
    try:
        await calendars.connect(work, user, wanted)
    except (CalendarFault, Invalid, Conflict, OutboundRefused) as refusal:
        return await _show(work, user, form.with_faults(_faults(refusal)))
    async with work.transaction():
        await accounts.set_welcome_step(work, user, 4)
    return redirect("/welcome/link")


@post("/welcome/calendar/skip")
async def skip_calendar(work: Work, user: User) -> Response:
    """Go on without a calendar."""
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


async def _show(work: Work, user: User, form: Form[WelcomeCalendarForm]) -> Response:
    connections = await calendars.list_connections(work, user)
    return step_page(user, 3, form=form, status=400 if form.faults else 200, connections=connections)
