"""Pages: ask for the link to a new password, and choose it."""

from typing import Annotated

from msgspec import Struct

from openslot.access import resets
from openslot.access.errors import ResetLinkInvalid
from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.text import EmailAddress
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.account import NewPassword
from openslot.web.pages import page, redirect
from openslot.web.sign_up.limiting import TRAP, TRAPPED, count_form, keep_address_private


class ForgotForm(Struct, frozen=True, kw_only=True):
    """Whose password is forgotten."""

    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your email address"))]


class ResetForm(Struct, frozen=True, kw_only=True):
    """The new password."""

    password: Annotated[NewPassword, WhenEmpty(Text("Choose a password"))]


@get("/password/forgot")
async def show_forgot(request: Request) -> Response:
    """Ask for the email address, or say that a mail is on its way."""
    return page("sign_up/forgot.html", None, form=Form(), is_sent=request.query.get("done") == "sent")


@post("/password/forgot", transaction="none")
async def ask_for_reset(request: Request, work: Work, form: Form[ForgotForm]) -> Response:
    """Plan the mail; the answer and the steps are the same for every address."""
    if form[TRAP]:
        form = form.with_faults(TRAPPED)
    if form.faults:
        return page("sign_up/forgot.html", None, status=400, form=form, is_sent=False)
    await count_form(work, request)
    async with work.transaction():
        await resets.request_reset(work, form.get().email)
    return redirect("/password/forgot?done=sent")


@get("/password/reset/{token}")
async def show_reset(work: Work, token: str) -> Response:
    """Ask for the new password; looking at the page changes nothing, because programs follow links too."""
    try:
        return _show(await resets.get_reset_user(work, token), Form(), token=token)
    except ResetLinkInvalid:
        return _explain()


@post("/password/reset/{token}", transaction="none")
async def reset_password(request: Request, work: Work, token: str, form: Form[ResetForm]) -> Response:
    """Replace the password and sign out everywhere; the user signs in with the new one."""
    await count_form(work, request)
    try:
        if form.faults:
            return _show(await resets.get_reset_user(work, token), form, token=token)
        await resets.reset_password(work, token, new=form.get().password)
    except ResetLinkInvalid:
        return _explain()
    except Invalid as refusal:
        return _show(await resets.get_reset_user(work, token), form.with_faults(refusal.faults), token=token)
    return redirect("/login?done=password")


def _show(user: User, form: Form[ResetForm], *, token: str) -> Response:
    status = 400 if form.faults else 200
    return keep_address_private(
        page("sign_up/reset.html", None, status=status, form=form, email=user.email, token=token)
    )


def _explain() -> Response:
    return keep_address_private(page("sign_up/reset_invalid.html", None, status=403))
