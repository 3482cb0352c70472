"""Pages: change the email address of one's account, and confirm the new one by the link in the mail."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.access import address_changes, two_factor
from openslot.access.address_changes import PATH
from openslot.access.errors import AddressLinkInvalid
from openslot.accounts.addresses import check_own_address
from openslot.accounts.errors import AddressManaged, EmailTaken
from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.text import LINE, EmailAddress
from openslot.core.work import Work
from openslot.http.errors import status_of
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.cookies import browser_of, cookies_for
from openslot.web.dashboard.security import CurrentPassword
from openslot.web.pages import page, redirect
from openslot.web.sign_up.limiting import keep_address_private

HERE = "/account"
NOTICES = {"withdrawn": Text("The link no longer works. Your email address stays as it is.")}


class ChangeAddressForm(Struct, frozen=True, kw_only=True):
    """The new address, and what proves that it is the user who wants it."""

    email: Annotated[EmailAddress, WhenEmpty(Text("Enter the new email address"))]
    current: CurrentPassword
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


@get("/account/email")
async def show_change_of_address(request: Request, work: Work, user: User) -> Response:
    """Ask for the new address, or say who manages it."""
    return await _show(work, user, Form(), notice=NOTICES.get(request.query.get("done", "")))


@post("/account/email", transaction="none")
async def ask_for_new_address(work: Work, user: User, form: Form[ChangeAddressForm]) -> Response:
    """Send a link to the new address; the response is the same for every address."""
    if form.faults:
        return await _show(work, user, form)
    sent = form.get()
    try:
        await address_changes.request_change(work, user, sent.email, password=sent.current, code=sent.code)
    except Invalid as refusal:
        return await _show(work, user, form.with_faults(refusal.faults))
    except Conflict as refusal:
        faults = refusal.faults or {"form": refusal.sentence}
        return await _show(work, user, form.with_faults(faults), status=status_of(refusal))
    return redirect(PATH)


@post("/account/email/withdraw")
async def withdraw_new_address(work: Work, user: User) -> Response:
    """Make the link invalid."""
    await address_changes.withdraw_change(work, user)
    return redirect(f"{PATH}?done=withdrawn")


@get("/account/email/{token}")
async def show_new_address(work: Work, user: User, token: str) -> Response:
    """Ask whether the address is to be changed; opening the link changes nothing, because programs follow links too."""
    try:
        return _ask(user, (await address_changes.get_change(work, user, token)).email, token=token)
    except AddressLinkInvalid:
        return _explain(user)


@post("/account/email/{token}", transaction="none")
async def confirm_new_address(request: Request, work: Work, user: User, token: str) -> Response:
    """Change the address; every other device is signed out."""
    try:
        signed_in = await address_changes.confirm_change(work, user, token, user_agent=browser_of(request))
    except AddressLinkInvalid:
        return _explain(user)
    except (EmailTaken, AddressManaged) as refusal:
        return _explain(user, refusal.sentence, status=status_of(refusal))
    return redirect(f"{HERE}?done=email", *cookies_for(work, signed_in))


async def _show(
    work: Work, user: User, form: Form[ChangeAddressForm], *, status: int = 400, notice: Text | None = None
) -> Response:
    try:
        await check_own_address(work, user)
    except AddressManaged as refusal:
        return page("account_email_managed.html", user, here=HERE, obstacle=refusal.sentence)
    state = await two_factor.get_state(work, user)
    waiting = await address_changes.find_own_change(work, user)
    return page(
        "account_email.html",
        user,
        status=status if form.faults else 200,
        here=HERE,
        notice=notice,
        form=form,
        state=state,
        waiting=waiting.email if waiting else None,
    )


def _ask(user: User, email: str, *, token: str) -> Response:
    return keep_address_private(page("account_email_confirm.html", user, here=HERE, email=email, token=token))


def _explain(user: User, reason: str | None = None, *, status: int = 403) -> Response:
    return keep_address_private(page("account_email_invalid.html", user, status=status, here=HERE, reason=reason))
