"""Pages: create and revoke API keys."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from openslot.access import operations as access
from openslot.access.errors import CredentialNotFound, PlanWithoutApi
from openslot.access.keys import CredentialKind, KeyName
from openslot.access.models import Credential
from openslot.accounts.models import User
from openslot.accounts.plans import PLANS_WITH_API
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web.account import account_page
from openslot.web.key_rows import expiry_of, key_row
from openslot.web.pages import page, redirect


class KeyForm(Struct, frozen=True, kw_only=True):
    """A key to create."""

    name: Annotated[
        KeyName,
        WhenEmpty(Text("Give the key a name, such as the program that will use it")),
    ]
    expires: Annotated[Literal["never", "30", "90", "365"], WhenEmpty(Text("Choose one of these"))]


@get("/account/keys")
async def show_keys(user: User) -> Response:
    """Redirect to the page that lists the keys; the form that creates one posts to this path."""
    return redirect("/account#keys")


@post("/account/keys")
async def create_key(work: Work, user: User, form: Form[KeyForm]) -> Response:
    """Create a key and show it once, in this response."""
    if user.effective_plan not in PLANS_WITH_API:
        raise PlanWithoutApi
    if form.faults:
        return await account_page(work, user, key_form=form, status=400)
    sent = form.get()
    expires_at = expiry_of(sent.expires, now=work.now)
    key, credential = await access.create_api_key(work, user, name=sent.name, expires_at=expires_at)
    return await account_page(work, user, new_key=(credential.name, key))


@get("/account/keys/{key_id}/revoke")
async def ask_to_revoke(work: Work, user: User, key_id: UUID) -> Response:
    """Ask for confirmation before a key is revoked."""
    key = await _get_key(work, user, key_id)
    if not key.is_active(now=work.now):
        return redirect("/account#keys")
    return page("revoke.html", user, here="/account", key=key_row(key, user, now=work.now))


@post("/account/keys/{key_id}/revoke")
async def revoke_key(work: Work, user: User, key_id: UUID) -> Response:
    """Revoke a key."""
    key = await _get_key(work, user, key_id)
    await access.revoke_credential(work, CredentialKind.API_KEY, user.id, key.id)
    return redirect("/account?done=revoked")


async def _get_key(work: Work, user: User, key_id: UUID) -> Credential:
    for key in await access.list_credentials(work, CredentialKind.API_KEY, user.id):
        if key.id == key_id:
            return key
    raise CredentialNotFound
