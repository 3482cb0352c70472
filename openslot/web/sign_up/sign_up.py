"""Pages: sign up, and open the account by the link in the mail."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from openslot.access.errors import WrongPassword
from openslot.accounts import sign_ups
from openslot.accounts.errors import EmailTaken, SignUpLinkInvalid
from openslot.accounts.models import SignUp, User, UserWanted
from openslot.analytics.funnel import count_visit
from openslot.core.errors import Invalid
from openslot.core.secrets import new_token
from openslot.core.text import LINE, EmailAddress, Name
from openslot.core.work import Work
from openslot.core.zones import Zone
from openslot.i18n import Text
from openslot.i18n.languages import LANGUAGES
from openslot.people import operations
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.account import NewPassword
from openslot.web.booking_page.options import is_visit, list_own_hosts
from openslot.web.cookies import browser_of, sign_up_cookie, sign_up_of
from openslot.web.pages import locale_of, page, redirect
from openslot.web.sign_in import HOME
from openslot.web.sign_in_response import respond_signed_in
from openslot.web.sign_up.limiting import TRAP, TRAPPED, count_form, keep_address_private

FIRST_PAGE = "/welcome"
"""What a new user sees first."""

OTHER_BROWSER = Text("Enter the password that you chose when you signed up")


class SignUpForm(Struct, frozen=True, kw_only=True):
    """Who wants an account."""

    name: Annotated[Name, WhenEmpty(Text("Enter your name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your email address"))]
    password: Annotated[NewPassword, WhenEmpty(Text("Choose a password"))]
    timezone: Annotated[Zone, WhenEmpty(Text("Choose your time zone"))]
    language: Literal["en", "de", "fr", "es", "pt", "ja", "ar"] = "en"


class VerifyForm(Struct, frozen=True, kw_only=True):
    """The password, where the form was sent by another browser."""

    password: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""


@get("/signup")
async def show_sign_up(request: Request, work: Work, user: User | None) -> Response:
    """Show the form, or say that a mail is on its way."""
    if user is not None:
        return redirect(HOME)
    sign_ups.check_open(work)
    is_sent = request.query.get("done") == "sent"
    if not is_sent and is_visit(request, list_own_hosts(work, request)):
        count_visit(work.runtime, work.now.date())
    return _show(Form(values={"language": locale_of(request).language.tag}), is_sent=is_sent)


@post("/signup", transaction="none")
async def sign_up(request: Request, work: Work, user: User | None, form: Form[SignUpForm]) -> Response:
    """Send the mail; the answer and the steps are the same whether or not the address has an account."""
    if user is not None:
        return redirect(HOME)
    sign_ups.check_open(work)
    if form[TRAP]:
        form = form.with_faults(TRAPPED)
    if form.faults:
        return _show(form, status=400)
    await count_form(work, request)
    sent, browser = form.get(), new_token()
    wanted = UserWanted(email=sent.email, name=sent.name, zone=sent.timezone, locale=sent.language)
    try:
        await operations.sign_up(work, wanted, password=sent.password, browser=browser)
    except Invalid as refusal:
        return _show(form.with_faults(refusal.faults), status=400)
    return redirect("/signup?done=sent", sign_up_cookie(work, browser))


@get("/verify/{token}")
async def show_verify(request: Request, work: Work, token: str) -> Response:
    """Ask to open the account; looking at the page changes nothing, because programs follow links too."""
    try:
        return _show_verify(request, work, await sign_ups.get_sign_up(work, token), Form(), token=token)
    except SignUpLinkInvalid:
        return _explain()


@post("/verify/{token}", transaction="none")
async def verify(request: Request, work: Work, token: str, form: Form[VerifyForm]) -> Response:
    """Open the account, sign its owner in, and show the first page."""
    await count_form(work, request)
    try:
        found = await sign_ups.get_sign_up(work, token)
        if form.faults:
            return _show_verify(request, work, found, form, token=token)
        result = await operations.verify(
            work,
            token,
            browser=sign_up_of(request, work),
            password=form.get().password,
            address=request.address,
            user_agent=browser_of(request),
        )
    except SignUpLinkInvalid:
        return _explain()
    except EmailTaken:
        return _explain(is_taken=True)
    except WrongPassword:
        return _show_verify(request, work, found, form.with_faults({"password": OTHER_BROWSER}), token=token)
    return respond_signed_in(work, result, FIRST_PAGE, sign_up_cookie(work, ""))


def _show(form: Form[SignUpForm], *, status: int = 200, is_sent: bool = False) -> Response:
    return page("sign_up/signup.html", None, status=status, form=form, is_sent=is_sent, languages=LANGUAGES.values())


def _show_verify(request: Request, work: Work, found: SignUp, form: Form[VerifyForm], *, token: str) -> Response:
    needs_password = not operations.is_same_browser(found, sign_up_of(request, work))
    status = 400 if form.faults else 200
    shown = page(
        "sign_up/verify.html",
        None,
        status=status,
        form=form,
        sign_up=found,
        token=token,
        needs_password=needs_password,
    )
    return keep_address_private(shown)


def _explain(*, is_taken: bool = False) -> Response:
    return keep_address_private(page("sign_up/verify_invalid.html", None, status=403, is_taken=is_taken))
