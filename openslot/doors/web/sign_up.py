"""Pages on which people get an account: sign up, set up the service, accept an invitation."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from openslot.domains.access.errors import InvalidPassword
from openslot.domains.access.operations import check_setup_link, let_in
from openslot.domains.access.passwords import STRANGERS, check_password, hash_password
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.errors import EmailAlreadyExists, InvalidSignUpLink
from openslot.domains.accounts.invitations.operations import get_invitation
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.sign_ups import LASTS as SIGN_UP_LASTS
from openslot.domains.analytics.funnel import count_visit
from openslot.domains.people.operations import (
    begin_sign_up,
    is_same_browser,
    set_up_installation,
    use_accepted_invitation,
    verify_sign_up,
)
from openslot.doors.web.account import NewPassword, check_trap, count_form, keep_address_private
from openslot.doors.web.shared.cookies import SIGN_UP_COOKIE, browser_of, delete_cookie, read_cookie, write_cookie
from openslot.doors.web.shared.options import is_visit, list_own_hosts
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.doors.web.shared.sign_in import HOME
from openslot.doors.web.shared.zone_search import TypedZone
from openslot.doors.web.sign_in import respond_signed_in
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_token
from openslot.platform.core.text import LINE, EmailAddress, Name
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

FIRST_PAGE = "/welcome"

CHOOSE = Text("Choose a password")


class SetupForm(Struct, frozen=True, kw_only=True):
    name: Annotated[Name, WhenEmpty(Text("Enter your name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your email address"))]
    password: Annotated[NewPassword, WhenEmpty(Text("Choose a password"))]
    timezone: Annotated[TypedZone, WhenEmpty(Text("Choose your time zone"))]


class SignUpForm(SetupForm, frozen=True, kw_only=True):
    language: Literal["en", "de", "fr", "es", "pt", "ja", "ar"] = "en"


class VerifyForm(Struct, frozen=True, kw_only=True):
    """The password, if the form was sent by another browser."""

    password: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""


@get("/signup")
async def show_sign_up(request: Request, work: Work, user: User | None, form: Form[SignUpForm] = Form()) -> Response:
    """Show the form, or say that a mail is on its way."""
    if user is not None:
        return redirect(HOME)
    sign_ups.check_open(work)
    is_sent = request.query.get("done") == "sent"
    if not is_sent and is_visit(request, list_own_hosts(work, request)):
        count_visit(work.runtime, work.now.date())
    form = form.begin({"language": locale_of(request).language.tag})
    return page("sign_up/signup.html", None, form=form, is_sent=is_sent)


@post("/signup", transaction="none", shows=show_sign_up)
async def sign_up(request: Request, work: Work, user: User | None, form: Form[SignUpForm]) -> Response:
    """Send the mail; the answer and the steps are the same whether or not the address has an account."""
    if user is not None:
        return redirect(HOME)
    sign_ups.check_open(work)
    check_trap(form)
    await count_form(work, request)
    sent, browser = form.get(), new_token()
    wanted = UserWanted(email=sent.email, name=sent.name, zone=sent.timezone, locale=sent.language)
    await begin_sign_up(work, wanted, password=sent.password, browser=browser)
    return redirect("/signup?done=sent", write_cookie(work, SIGN_UP_COOKIE, browser, lasts=SIGN_UP_LASTS))


@get("/verify/{token}")
async def show_verify(request: Request, work: Work, token: str, form: Form[VerifyForm] = Form()) -> Response:
    """Ask to open the account; looking at the page changes nothing, because programs follow links too."""
    try:
        found = await sign_ups.get_sign_up(work, token)
    except InvalidSignUpLink:
        return _explain()
    needs_password = not is_same_browser(found, read_cookie(request, work.runtime.settings, SIGN_UP_COOKIE))
    return keep_address_private(
        page("sign_up/verify.html", None, form=form, sign_up=found, token=token, needs_password=needs_password)
    )


@post("/verify/{token}", transaction="none", shows=show_verify)
async def verify(request: Request, work: Work, token: str, form: Form[VerifyForm]) -> Response:
    """Open the account, sign its owner in, and show the first page."""
    await count_form(work, request)
    try:
        result = await verify_sign_up(
            work,
            token,
            browser=read_cookie(request, work.runtime.settings, SIGN_UP_COOKIE),
            password=form.get().password,
            address=request.address,
            user_agent=browser_of(request),
        )
    except InvalidSignUpLink:
        return _explain()
    except EmailAlreadyExists:
        return _explain(is_taken=True)
    except InvalidPassword:
        raise Invalid(details={"password": Text("Enter the password that you chose when you signed up")}) from None
    return respond_signed_in(work, result, FIRST_PAGE, delete_cookie(work, SIGN_UP_COOKIE))


def _explain(*, is_taken: bool = False) -> Response:
    return keep_address_private(page("sign_up/verify_invalid.html", None, status=403, is_taken=is_taken))


@get("/setup")
async def show_setup(request: Request, work: Work, form: Form[SetupForm] = Form()) -> Response:
    """Show the form for the first account to a visitor with the link."""
    token = request.query.get("token", "")
    await check_setup_link(work, token)
    return page("setup.html", None, form=form, token=token)


@post("/setup", transaction="none", shows=show_setup)
async def set_up(request: Request, work: Work, form: Form[SetupForm]) -> Response:
    """Create the first account and sign its owner in; no connection is held while the password is hashed."""
    token = request.query.get("token", "")
    await check_setup_link(work, token)
    sent = form.get()
    wanted = UserWanted(email=sent.email, name=sent.name, zone=sent.timezone, locale=locale_of(request).language.tag)
    result = await set_up_installation(work, token, wanted, password=sent.password, user_agent=browser_of(request))
    return respond_signed_in(work, result, FIRST_PAGE)


class InvitationForm(Struct, frozen=True, kw_only=True):
    """The first password of an account that has none."""

    password: Annotated[NewPassword | None, WhenEmpty(CHOOSE)] = None


@get("/invite/{token}")
async def show_invitation(work: Work, token: str, form: Form[InvitationForm] = Form()) -> Response:
    return page("invite.html", None, invitation=await get_invitation(work, token), form=form, token=token)


@post("/invite/{token}", transaction="none", shows=show_invitation)
async def accept_invitation(request: Request, work: Work, token: str, form: Form[InvitationForm]) -> Response:
    """Accept an invitation; users who set a first password are signed in, others sign in with their own."""
    invitation = await get_invitation(work, token)
    if invitation.has_password:
        async with work.transaction():
            await use_accepted_invitation(work, invitation, password_hash=None)
        return redirect("/login")
    password = form["password"]
    if not password:
        raise Invalid(details={"password": CHOOSE})
    check_password(password)
    password_hash = await hash_password(password, STRANGERS)
    async with work.transaction():
        await use_accepted_invitation(work, invitation, password_hash=password_hash)
        result = await let_in(work, invitation.user, password_hash=password_hash, user_agent=browser_of(request))
    return respond_signed_in(work, result, HOME)
