"""Pages: the user's own account and its password."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from openslot.access import operations as access
from openslot.access import two_factor
from openslot.access.errors import PasswordChanged
from openslot.access.keys import CredentialKind
from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.accounts.plans import PLANS_WITH_API
from openslot.core.errors import Invalid
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.http.errors import status_of
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.cookies import browser_of, cookies_for
from openslot.web.dashboard.curl import curl
from openslot.web.key_rows import EXPIRIES, key_row
from openslot.web.pages import page, redirect

NOTICES = {
    "password": Text("Your password was changed. All other devices were signed out."),
    "email": Text("Your email address was changed. All other devices were signed out."),
    "revoked": Text("The key was revoked. Requests that use it are refused."),
}
NewPassword = Annotated[str, Meta(pattern=LINE, min_length=10, max_length=200)]


class PasswordForm(Struct, frozen=True, kw_only=True):
    """The current password and the new one, and a code if two-factor authentication is on."""

    current: Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your current password"))]
    password: Annotated[NewPassword, WhenEmpty(Text("Enter a new password"))]
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


@get("/account")
async def show_account(request: Request, work: Work, user: User) -> Response:
    """Show the account and its keys."""
    return await account_page(work, user, notice=NOTICES.get(request.query.get("done", "")))


@post("/account/password", transaction="none")
async def change_password(request: Request, work: Work, user: User, form: Form[PasswordForm]) -> Response:
    """Replace the password; every other device is signed out."""
    if form.faults:
        return await account_page(work, user, password_form=form, status=400)
    sent = form.get()
    try:
        signed_in = await access.change_password(
            work, user, current=sent.current, new=sent.password, code=sent.code, user_agent=browser_of(request)
        )
    except (Invalid, PasswordChanged) as refusal:
        wrong = form.with_faults(refusal.faults)
        return await account_page(work, user, password_form=wrong, status=status_of(refusal))
    return redirect("/account?done=password", *cookies_for(work, signed_in))


async def account_page(
    work: Work,
    user: User,
    *,
    status: int = 200,
    notice: Text | None = None,
    key_form: Form[Any] | None = None,
    password_form: Form[PasswordForm] | None = None,
    new_key: tuple[str, str] | None = None,
) -> Response:
    """Show the account, with a form's faults or a key that was just created."""
    keys = await access.list_credentials(work, CredentialKind.API_KEY, user.id)
    return page(
        "account.html",
        user,
        status=status,
        here="/account",
        notice=notice,
        plan=words.plan(await accounts.list_plan_grants(work, user), zone=user.zone, now=work.now),
        may_use_api=user.effective_plan in PLANS_WITH_API,
        keys=[key_row(key, user, now=work.now) for key in keys],
        expiries=EXPIRIES,
        key_form=key_form or Form(),
        password_form=password_form or Form(),
        needs_code=await two_factor.is_on(work, user),
        new_key=new_key,
        first_request=curl(work, user, "/me", key=new_key[1]) if new_key else None,
    )
