"""Pages: the user's own account: its password, its email address, its API keys, and the mail it no longer wants."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.access import address_changes
from openslot.domains.access.address_changes import PATH
from openslot.domains.access.errors import ApiPlanRequired, CredentialNotFound, InvalidEmailLink
from openslot.domains.access.models import Credential, CredentialKind, KeyName
from openslot.domains.access.operations import change_password, create_api_key, list_credentials, revoke_credential
from openslot.domains.access.two_factor.operations import get_two_factor_state, has_two_factor
from openslot.domains.accounts.errors import EmailAlreadyExists, EmailManagedByOrganization
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import check_own_address, list_plan_grants
from openslot.domains.accounts.plans import PLANS_WITH_API
from openslot.doors.agents.emails.operations import get_email_recipient, unsubscribe_recipient
from openslot.doors.http.doors import take
from openslot.doors.http.errors import status_of
from openslot.doors.oauth.operations import end_assistant_grant, get_assistant, list_assistants, resource_of_tools
from openslot.doors.oauth.rules import SCOPES
from openslot.doors.web.shared import words
from openslot.doors.web.shared.cookies import browser_of, cookies_for
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.expiries import EXPIRIES, expiry_of
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.passwords import CurrentPassword
from openslot.platform.core.errors import Conflict, Invalid
from openslot.platform.core.text import LINE, EmailAddress
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, RateLimit, Request, Response, WhenEmpty, get, post

NOTICES = {
    "password": Text("Your password was changed. All other devices were signed out."),
    "email": Text("Your email address was changed. All other devices were signed out."),
    "revoked": Text("The key was revoked. Requests that use it are refused."),
    "disconnected": Text("The assistant was disconnected."),
}
NewPassword = Annotated[str, Meta(pattern=LINE, min_length=10, max_length=200)]
# A field that people do not see; whatever fills in every field fills in this one too.
TRAP = "website"
HERE = "/account"


class PasswordForm(Struct, frozen=True, kw_only=True):
    current: Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your current password"))]
    password: Annotated[NewPassword, WhenEmpty(Text("Enter a new password"))]
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


@get("/account")
async def show_account(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    return await _show_account(work, user, form)


@post("/account/password", transaction="none", shows=show_account, own_status=True)
async def change_own_password(request: Request, work: Work, user: User, form: Form[PasswordForm]) -> Response:
    """Replace the password; every other device is signed out."""
    sent = form.get()
    signed_in = await change_password(
        work, user, current=sent.current, new=sent.password, code=sent.code, user_agent=browser_of(request)
    )
    return redirect("/account?done=password", *cookies_for(work, signed_in))


async def _show_account(work: Work, user: User, form: Form[Any], *, new_key: tuple[str, str] | None = None) -> Response:
    keys = await list_credentials(work, CredentialKind.API_KEY, user.id)
    return page(
        "account.html",
        user,
        here="/account",
        notices=NOTICES,
        form=form,
        plan=words.plan(await list_plan_grants(work, user), zone=user.zone, now=work.now),
        sells_plans=work.runtime.settings.stripe_key is not None,
        may_use_api=user.effective_plan in PLANS_WITH_API,
        keys=keys,
        assistants=await list_assistants(work, user),
        scope_names=SCOPES,
        tool_server=resource_of_tools(work.runtime.settings),
        expiries=EXPIRIES,
        needs_code=await has_two_factor(work, user),
        new_key=new_key,
        first_request=curl(work, user, "/me", key=new_key[1]) if new_key else None,
    )


def check_trap(form: Form[Any]) -> None:
    """Refuse a form in which the field was filled in that people do not see."""
    if form[TRAP]:
        raise Invalid(details={TRAP: Text("must be empty")})


async def count_form(work: Work, request: Request) -> None:
    """Count a form of an address, or refuse it: this limits the mails about accounts, and the uses of their links."""
    await take(work.runtime, RateLimit("account", work.runtime.settings.limit_failed_auth), request.address)


def keep_address_private(shown: Response) -> Response:
    """Keep the address of a page, which contains a link's token, from other sites."""
    return replace(shown, headers={**shown.headers, "referrer-policy": "same-origin"})


class ChangeAddressForm(Struct, frozen=True, kw_only=True):
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter the new email address"))]
    current: CurrentPassword
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


@get("/account/email")
async def show_change_of_address(work: Work, user: User, form: Form[ChangeAddressForm] = Form()) -> Response:
    try:
        await check_own_address(work, user)
    except EmailManagedByOrganization as refusal:
        return page("account_email_managed.html", user, here=HERE, obstacle=refusal.sentence)
    state = await get_two_factor_state(work, user)
    waiting = await address_changes.find_own_change(work, user)
    return page(
        "account_email.html",
        user,
        here=HERE,
        notices={"withdrawn": Text("The link no longer works. Your email address stays as it is.")},
        form=form,
        state=state,
        waiting=waiting.email if waiting else None,
    )


@post("/account/email", transaction="none", shows=show_change_of_address, at={Conflict: "form"}, own_status=True)
async def ask_for_new_address(work: Work, user: User, form: Form[ChangeAddressForm]) -> Response:
    """Send a link to the new address; the response is the same for every address."""
    sent = form.get()
    await address_changes.request_change(work, user, sent.email, password=sent.current, code=sent.code)
    return redirect(PATH)


@post("/account/email/withdraw")
async def withdraw_new_address(work: Work, user: User) -> Response:
    await address_changes.withdraw_change(work, user)
    return redirect(f"{PATH}?done=withdrawn")


@get("/account/email/{token}")
async def show_new_address(work: Work, user: User, token: str) -> Response:
    """Ask whether the address is to be changed; opening the link changes nothing, because programs follow links too."""
    try:
        change = await address_changes.get_change(work, user, token)
    except InvalidEmailLink:
        return _explain(user)
    return keep_address_private(page("account_email_confirm.html", user, here=HERE, email=change.email))


@post("/account/email/{token}", transaction="none")
async def confirm_new_address(request: Request, work: Work, user: User, token: str) -> Response:
    """Change the address; every other device is signed out."""
    try:
        signed_in = await address_changes.confirm_change(work, user, token, user_agent=browser_of(request))
    except InvalidEmailLink:
        return _explain(user)
    except (EmailAlreadyExists, EmailManagedByOrganization) as refusal:
        return _explain(user, refusal.sentence, status=status_of(refusal))
    return redirect(f"{HERE}?done=email", *cookies_for(work, signed_in))


def _explain(user: User, reason: str | None = None, *, status: int = 403) -> Response:
    return keep_address_private(page("account_email_invalid.html", user, status=status, here=HERE, reason=reason))


class KeyForm(Struct, frozen=True, kw_only=True):
    name: Annotated[KeyName, WhenEmpty(Text("Give the key a name, such as the program that will use it"))]
    expires: Annotated[Literal["never", "30", "90", "365"], WhenEmpty(Text("Choose one of these"))]


@get("/account/keys")
async def show_keys(user: User) -> Response:
    """Redirect to the page that lists the keys; the form that creates one posts to this path."""
    return redirect("/account#keys")


@post("/account/keys", shows=show_account)
async def create_key(work: Work, user: User, form: Form[KeyForm]) -> Response:
    """Create a key and show it once, in this response."""
    if user.effective_plan not in PLANS_WITH_API:
        raise ApiPlanRequired
    sent = form.get()
    expires_at = expiry_of(sent.expires, now=work.now)
    key, credential = await create_api_key(work, user, name=sent.name, expires_at=expires_at)
    return await _show_account(work, user, Form(), new_key=(credential.name, key))


@get("/account/keys/{key_id}/revoke")
async def ask_to_revoke(work: Work, user: User, key_id: UUID) -> Response:
    key = await _get_key(work, user, key_id)
    if not key.is_active(now=work.now):
        return redirect("/account#keys")
    return page("revoke.html", user, here="/account", key=key)


@post("/account/keys/{key_id}/revoke")
async def revoke_key(work: Work, user: User, key_id: UUID) -> Response:
    key = await _get_key(work, user, key_id)
    await revoke_credential(work, CredentialKind.API_KEY, user.id, key.id)
    return redirect("/account?done=revoked")


async def _get_key(work: Work, user: User, key_id: UUID) -> Credential:
    for key in await list_credentials(work, CredentialKind.API_KEY, user.id):
        if key.id == key_id:
            return key
    raise CredentialNotFound


@get("/account/assistants/{grant_id}/disconnect")
async def ask_to_disconnect(work: Work, user: User, grant_id: UUID) -> Response:
    assistant = await get_assistant(work, user, grant_id)
    if not assistant.is_running(now=work.now):
        return redirect("/account#assistants")
    return page("account_assistant.html", user, here="/account", assistant=assistant, scope_names=SCOPES)


@post("/account/assistants/{grant_id}/disconnect")
async def disconnect_assistant(work: Work, user: User, grant_id: UUID) -> Response:
    await end_assistant_grant(work, user, grant_id)
    return redirect("/account?done=disconnected")


@get("/unsubscribe/{token}")
async def show_unsubscribe(work: Work, token: str) -> Response:
    """Ask whether to unsubscribe; looking at the page changes nothing, because programs follow links too."""
    _, is_done = await get_email_recipient(work, token)
    return page("unsubscribe.html", None, token=token, is_done=is_done)


@post("/unsubscribe/{token}")
async def stop_marketing_mail(work: Work, token: str) -> Response:
    """Unsubscribe at once, whatever the form says: RFC 8058 needs no cookie and no second step."""
    await unsubscribe_recipient(work, token)
    return page("unsubscribe.html", None, token=token, is_done=True)
