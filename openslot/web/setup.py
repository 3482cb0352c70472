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
from openslot.web.cookies import browser_of
from openslot.web.pages import locale_of, page
from openslot.web.sign_in import HOME
from openslot.web.sign_in_response import respond_signed_in


class SetupForm(Struct, frozen=True, kw_only=True):
    """The owner of the first account."""

    name: Annotated[Name, WhenEmpty(Text("Enter your name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your email address"))]
    password: Annotated[NewPassword, WhenEmpty(Text("Choose a password"))]
    timezone: Annotated[Zone, WhenEmpty(Text("Choose your time zone"))]


@get("/setup")
async def show_setup(request: Request, work: Work) -> Response:
    """Show the form for the first account to a visitor with the link."""
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
    wanted = UserWanted(email=sent.email, name=sent.name, zone=sent.timezone, locale=locale_of(request).language.tag)
    try:
        result = await people.set_up(work, token, wanted, password=sent.password, user_agent=browser_of(request))
    except Invalid as refusal:
        return _show(form.with_faults(refusal.faults), token=token, status=400)
    return respond_signed_in(work, result, HOME)


def _show(form: Form[SetupForm], *, token: str, status: int = 200) -> Response:
    return page("setup.html", None, status=status, form=form, token=token)
