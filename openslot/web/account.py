"""Pages: one's own account, and its password."""

from litestar import Response, get, post
from litestar.di import NamedDependency

from openslot.access import operations as access
from openslot.access.door import counting_wrong_passwords
from openslot.access.keys import CredentialKind
from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.accounts.plans import PLANS_WITH_API
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.http.doors import visit_of
from openslot.web import words
from openslot.web.forms import EMPTY, Field, Form, read_form
from openslot.web.key_rows import EXPIRIES, key_row
from openslot.web.pages import PageRequest, page, query_of, redirect

PASSWORD_FIELDS = (
    Field("current", 200, "Enter your present password"),
    Field("password", 200, "Choose a new password"),
)
NOTICES = {
    "password": "Your password is changed. Every other device is signed out.",
    "revoked": "The key is revoked. Requests with it are refused from now on.",
}
FAULTS = {
    "password": "Use 10 to 200 characters",
    "current": "This is not your present password",
}


@get("/account")
async def show_account(request: PageRequest, work: NamedDependency[Work], user: NamedDependency[User]) -> Response[str]:
    """Show the account and its keys."""
    return await account_page(request, work, user, notice=NOTICES.get(query_of(request).get("done", "")))


@post("/account/password", status_code=303)
async def change_password(
    request: PageRequest, work: NamedDependency[Work], user: NamedDependency[User]
) -> Response[str]:
    """Replace the password; every other device is signed out."""
    form = read_form(request, *PASSWORD_FIELDS)
    if form.faults:
        return await account_page(request, work, user, password_form=form, status=400)
    try:
        async with counting_wrong_passwords(work, email=user.email, address=visit_of(request.scope).address):
            await access.change_password(work, user, current=form["current"], new=form["password"])
    except Invalid as refusal:
        found = {name: FAULTS[name] for name in refusal.details or {}}
        return await account_page(request, work, user, password_form=form.with_faults(found), status=400)
    return redirect("/account?done=password")


async def account_page(
    request: PageRequest,
    work: Work,
    user: User,
    *,
    status: int = 200,
    notice: str | None = None,
    key_form: Form = EMPTY,
    password_form: Form = EMPTY,
    new_key: tuple[str, str] | None = None,
) -> Response[str]:
    """Show the account, with a form's faults or a key that was just made."""
    keys = await access.list_credentials(work, CredentialKind.API_KEY, user.id)
    return page(
        request,
        "account.html",
        status=status,
        here="/account",
        notice=notice,
        plan=words.plan(await accounts.list_plan_grants(work, user), zone=user.zone, now=work.now),
        may_use_api=user.effective_plan in PLANS_WITH_API,
        keys=[key_row(key, user, now=work.now) for key in keys],
        expiries=EXPIRIES,
        key_form=key_form,
        password_form=password_form,
        new_key=new_key,
    )
