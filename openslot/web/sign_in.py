"""Pages: sign in and sign out."""

import re
from typing import Annotated

from msgspec import Meta, Struct

from openslot.access import operations as access
from openslot.access.errors import WrongSignIn
from openslot.accounts.models import User
from openslot.accounts.sign_ups import is_open
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.cookies import browser_of, device_of, no_session_cookie
from openslot.web.pages import page, redirect
from openslot.web.sign_in_response import respond_signed_in

HOME = "/"
NOTICES = {"password": Text("Your password was changed. Sign in with the new one.")}
# A path of ours in visible ASCII: `//` and `/\` would lead a browser to another host.
LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,1000}")


class SignInForm(Struct, frozen=True, kw_only=True):
    """The credentials, and the page to open next."""

    email: Annotated[str, Meta(pattern=LINE, max_length=254), WhenEmpty(Text("Enter your email address"))]
    password: Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your password"))]
    next: str = ""


@get("/login")
async def show_login(request: Request, work: Work, user: User | None) -> Response:
    """Show the sign-in form."""
    wanted = request.query.get("next", "")
    notice = NOTICES.get(request.query.get("done", ""))
    return redirect(local_path(wanted)) if user else _show(work, Form(), wanted=wanted, notice=notice)


@post("/login", transaction="none")
async def log_in(request: Request, work: Work, user: User | None, form: Form[SignInForm]) -> Response:
    """Let the user in if the password is right; no connection is held while it is checked."""
    if user is not None:
        return redirect(local_path(form["next"]))
    if form.faults:
        return _show(work, form, wanted=form["next"], status=400)
    sent = form.get()
    try:
        result = await access.sign_in(
            work,
            email=sent.email,
            password=sent.password,
            device=device_of(request, work),
            address=request.address,
            user_agent=browser_of(request),
        )
    except WrongSignIn as refusal:
        return _show(work, form.with_faults({"form": refusal.sentence}), wanted=sent.next, status=401)
    return respond_signed_in(work, result, local_path(sent.next))


@post("/logout")
async def log_out(work: Work, user: User) -> Response:
    """End the session."""
    await access.sign_out(work)
    return redirect("/login", no_session_cookie(work))


def local_path(wanted: str) -> str:
    """Return the path if it is one of ours, and the home page otherwise."""
    return wanted if LOCAL_PATH.fullmatch(wanted) else HOME


def _show(
    work: Work, form: Form[SignInForm], *, wanted: str, status: int = 200, notice: Text | None = None
) -> Response:
    settings = work.runtime.settings
    return page(
        "login.html",
        None,
        status=status,
        form=form,
        wanted=local_path(wanted),
        notice=notice,
        may_sign_up=is_open(settings),
        provider=settings.oidc_name if settings.oidc_issuer else None,
    )
