"""Pages: the way in and the way out."""

import re
from typing import Annotated

from msgspec import Meta, Struct

from openslot.access import operations as access
from openslot.access.door import counting_wrong_passwords
from openslot.access.errors import WrongSignIn
from openslot.accounts.models import User
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Cookie, Form, Request, Response, WhenEmpty, get, post
from openslot.web.door import COOKIE
from openslot.web.pages import page, redirect

HOME = "/account"
# A path of ours, visible ASCII alone: `//` and `/\` would lead a browser to another host.
LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,1000}")


class SignInForm(Struct, frozen=True, kw_only=True):
    """Who one is, and where to go then."""

    email: Annotated[str, Meta(pattern=LINE, max_length=254), WhenEmpty(Text("Enter your e-mail address"))]
    password: Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your password"))]
    next: str = ""


@get("/")
async def start(user: User | None) -> Response:
    """Lead to where one can begin."""
    return redirect(HOME if user else "/login")


@get("/login")
async def show_login(request: Request, user: User | None) -> Response:
    """Show the sign-in form."""
    wanted = request.query.get("next", "")
    return redirect(local_path(wanted)) if user else _show(Form(), wanted=wanted)


@post("/login", transaction="none")
async def log_in(request: Request, work: Work, user: User | None, form: Form[SignInForm]) -> Response:
    """Begin a session for the one who knows the password; no connection is held while it is checked."""
    if user is not None:
        return redirect(local_path(form["next"]))
    if form.faults:
        return _show(form, wanted=form["next"], status=400)
    sent = form.get()
    try:
        async with counting_wrong_passwords(work, email=sent.email, address=request.address):
            found = await access.authenticate(work, email=sent.email, password=sent.password)
    except WrongSignIn as refusal:
        return _show(form.with_faults({"form": refusal.sentence}), wanted=sent.next, status=401)
    async with work.transaction():
        token = await access.begin_session(work, found, user_agent=browser_of(request))
    return redirect(local_path(sent.next), session_cookie(work, token))


@post("/logout")
async def log_out(work: Work) -> Response:
    """End the session."""
    await access.sign_out(work)
    return redirect("/login", _cookie(work, "", max_age=0))


def session_cookie(work: Work, token: str) -> Cookie:
    """Give the browser the session to keep."""
    return _cookie(work, token, max_age=int(access.SESSION_LASTS.total_seconds()))


def local_path(wanted: str) -> str:
    """Take a path of ours, and home for everything else."""
    return wanted if LOCAL_PATH.fullmatch(wanted) else HOME


def browser_of(request: Request) -> str:
    """Name the browser as it names itself."""
    return "".join(sign for sign in request.headers.get("user-agent", "") if sign.isprintable())


def _show(form: Form[SignInForm], *, wanted: str, status: int = 200) -> Response:
    return page("login.html", None, status=status, form=form, wanted=local_path(wanted))


def _cookie(work: Work, token: str, *, max_age: int) -> Cookie:
    secure = work.runtime.settings.public_url.startswith("https://")
    return Cookie(name=COOKIE, value=token, max_age=max_age, secure=secure)
