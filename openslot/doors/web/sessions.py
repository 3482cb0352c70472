"""Pages: where a user is signed in, and a new password for who has forgotten theirs."""

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from openslot.domains.access import sessions
from openslot.domains.access.errors import InvalidResetLink
from openslot.domains.access.models import Session
from openslot.domains.access.resets.operations import get_reset_user, request_reset, reset_password
from openslot.domains.access.sessions import find_browser, find_system
from openslot.domains.accounts.models import User
from openslot.doors.web.account import NewPassword, check_trap, count_form, keep_address_private
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.text import EmailAddress
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

PATH, ACCESS = "/settings/sessions", "/settings/access"
NOTICES = {"one": Text("The session was signed out."), "others": Text("All other sessions were signed out.")}
HOUR = timedelta(hours=1)


@get("/settings/sessions")
async def show_sessions(work: Work, user: User) -> Response:
    """Show each browser in which the user is signed in, this one first."""
    found = await sessions.list_sessions(work, user)
    return page(
        "sign_up/sessions.html",
        user,
        here=PATH,
        notices=NOTICES,
        sessions=[(each, name_browser(each.user_agent), _find_last_seen(each, now=work.now)) for each in found],
        this=work.actor.credential_id,
    )


@post("/settings/sessions/end-others")
async def end_other_sessions(work: Work, user: User) -> Response:
    await sessions.end_other_sessions(work, user)
    return redirect(f"{PATH}?done=others")


@post("/settings/sessions/{session_id}/end")
async def end_session(work: Work, user: User, session_id: UUID) -> Response:
    """Sign out in one browser; in this one, that leads to the sign-in."""
    await sessions.end_session(work, user, session_id)
    return redirect(f"{PATH}?done=one")


def name_browser(user_agent: str) -> Text | str:
    """Write `Firefox on Windows`, or what is known of it."""
    browser, system = find_browser(user_agent), find_system(user_agent)
    if browser and system:
        return Text("%(browser)s on %(system)s", browser=browser, system=system)
    if system:
        return Text("Unknown browser on %(system)s", system=system)
    return browser or Text("Unknown browser")


def _find_last_seen(session: Session, *, now: datetime) -> datetime | None:
    """Return when a session was last used, to the hour, as it is known; None is within the last one."""
    seen = session.last_seen_at or session.created_at
    return None if now - seen < HOUR else seen.replace(minute=0, second=0, microsecond=0)


class ForgotForm(Struct, frozen=True, kw_only=True):
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your email address"))]


class ResetForm(Struct, frozen=True, kw_only=True):
    password: Annotated[NewPassword, WhenEmpty(Text("Choose a password"))]


@get("/password/forgot")
async def show_forgot(request: Request, form: Form[ForgotForm] = Form()) -> Response:
    """Ask for the email address, or say that a mail is on its way."""
    return page("sign_up/forgot.html", None, form=form, is_sent=request.query.get("done") == "sent")


@post("/password/forgot", transaction="none", shows=show_forgot)
async def ask_for_reset(request: Request, work: Work, form: Form[ForgotForm]) -> Response:
    """Plan the mail; the answer and the steps are the same for every address."""
    check_trap(form)
    await count_form(work, request)
    async with work.transaction():
        await request_reset(work, form.get().email)
    return redirect("/password/forgot?done=sent")


@get("/password/reset/{token}")
async def show_reset(work: Work, token: str, form: Form[ResetForm] = Form()) -> Response:
    """Ask for the new password; looking at the page changes nothing, because programs follow links too."""
    try:
        user = await get_reset_user(work, token)
    except InvalidResetLink:
        return _explain()
    return keep_address_private(page("sign_up/reset.html", None, form=form, email=user.email, token=token))


@post("/password/reset/{token}", transaction="none", shows=show_reset)
async def save_new_password(request: Request, work: Work, token: str, form: Form[ResetForm]) -> Response:
    """Replace the password and sign out everywhere; the user signs in with the new one."""
    await count_form(work, request)
    try:
        await reset_password(work, token, new=form.get().password)
    except InvalidResetLink:
        return _explain()
    return redirect(f"/login?done=password&next={ACCESS}")


def _explain() -> Response:
    return keep_address_private(page("sign_up/reset_invalid.html", None, status=403))
