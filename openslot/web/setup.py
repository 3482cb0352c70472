"""Pages: the first account of an empty installation."""

from typing import Annotated

from msgspec import Struct

from openslot.access import operations as access
from openslot.accounts.models import UserWanted
from openslot.core.errors import Invalid
from openslot.core.text import EmailAddress, Name
from openslot.core.work import Work
from openslot.core.zones import Zone
from openslot.i18n import Text
from openslot.people import operations as people
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.account import NewPassword
from openslot.web.pages import locale_of, page, redirect
from openslot.web.sign_in import HOME, browser_of, session_cookie


class SetupForm(Struct, frozen=True, kw_only=True):
    """Whose the first account is."""

    name: Annotated[Name, WhenEmpty(Text("Enter your name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your e-mail address"))]
    password: Annotated[NewPassword, WhenEmpty(Text("Choose a password"))]
    timezone: Annotated[Zone, WhenEmpty(Text("Choose your time zone"))]


@get("/setup")
async def show_setup(request: Request, work: Work) -> Response:
    """Show the form for the first account to the one who has the link."""
    token = request.query.get("token", "")
    await access.check_setup_link(work, token)
    return _show(Form(), token=token)


@post("/setup")
async def set_up(request: Request, work: Work, form: Form[SetupForm]) -> Response:
    """Create the first account and sign its owner in."""
    token = request.query.get("token", "")
    await access.check_setup_link(work, token)
    if form.faults:
        return _show(form, token=token, status=400)
    sent = form.get()
    wanted = UserWanted(email=sent.email, name=sent.name, zone=sent.timezone, locale=locale_of(request).language.tag)
    try:
        user = await people.set_up(work, token, wanted, password=sent.password)
    except Invalid as refusal:
        return _show(form.with_faults(refusal.faults), token=token, status=400)
    session = await access.begin_session(work, user, user_agent=browser_of(request))
    return redirect(HOME, session_cookie(work, session))


def _show(form: Form[SetupForm], *, token: str, status: int = 200) -> Response:
    return page("setup.html", None, status=status, form=form, token=token)
