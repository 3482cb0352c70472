"""Pages: the first account of an empty installation."""

from functools import cache
from itertools import groupby
from typing import Annotated
from zoneinfo import available_timezones

from msgspec import Struct

from openslot.access import operations as access
from openslot.accounts.models import UserWanted
from openslot.core.errors import Invalid
from openslot.core.text import EmailAddress, Name
from openslot.core.work import Work
from openslot.core.zones import Zone
from openslot.people import operations as people
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.account import NewPassword
from openslot.web.cookies import browser_of, cookies_for
from openslot.web.pages import page, redirect
from openslot.web.sign_in import HOME
from openslot.web.words import zone_name

REGIONS = {"Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"}


class SetupForm(Struct, frozen=True, kw_only=True):
    """Whose the first account is."""

    name: Annotated[Name, WhenEmpty("Enter your name")]
    email: Annotated[EmailAddress, WhenEmpty("Enter your e-mail address")]
    password: Annotated[NewPassword, WhenEmpty("Choose a password")]
    timezone: Annotated[Zone, WhenEmpty("Choose your time zone")]


@get("/setup")
async def show_setup(request: Request, work: Work) -> Response:
    """Show the form for the first account to the one who has the link."""
    token = request.query.get("token", "")
    await access.check_setup_link(work, token)
    return _show(Form(), token=token)


@post("/setup", transaction="none")
async def set_up(request: Request, work: Work, form: Form[SetupForm]) -> Response:
    """Create the first account and sign its owner in; no connection is held while the password is hashed."""
    token = request.query.get("token", "")
    await access.check_setup_link(work, token)
    if form.faults:
        return _show(form, token=token, status=400)
    sent = form.get()
    wanted = UserWanted(email=sent.email, name=sent.name, zone=sent.timezone)
    try:
        signed_in = await people.set_up(work, token, wanted, password=sent.password, user_agent=browser_of(request))
    except Invalid as refusal:
        return _show(form.with_faults(refusal.details or {}), token=token, status=400)
    return redirect(HOME, *cookies_for(work, signed_in))


@cache
def zones_by_region() -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """List every zone of the world that a person would name, by region."""
    names = sorted(name for name in available_timezones() if name.partition("/")[0] in REGIONS)
    return tuple(
        (region, tuple((name, zone_name(name.partition("/")[2]).replace("/", ", ")) for name in group))
        for region, group in groupby(names, key=lambda name: name.partition("/")[0])
    )


def _show(form: Form[SetupForm], *, token: str, status: int = 200) -> Response:
    return page("setup.html", None, status=status, form=form, token=token, regions=zones_by_region())
