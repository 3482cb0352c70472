"""Pages: make and revoke API keys."""

from uuid import UUID

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from openslot.access import operations as access
from openslot.access.errors import CredentialNotFound, PlanWithoutApi
from openslot.access.keys import CredentialKind
from openslot.access.models import Credential
from openslot.accounts.models import User
from openslot.accounts.plans import PLANS_WITH_API
from openslot.core.work import Work
from openslot.web.account import account_page
from openslot.web.forms import Field, Form, read_form
from openslot.web.key_rows import EXPIRIES, expiry_of, key_row
from openslot.web.pages import PageRequest, page, redirect

FIELDS = (Field("name", 100, "Give the key a name, such as the program that will use it"), Field("expires", 10))


@get("/account/keys")
async def show_keys(user: NamedDependency[User]) -> Response[str]:
    """Lead to the page that lists the keys; this address is where one was made."""
    return redirect("/account#keys")


@post("/account/keys", status_code=200)
async def make_key(request: PageRequest, work: NamedDependency[Work], user: NamedDependency[User]) -> Response[str]:
    """Make a key and show it in this one answer."""
    if user.effective_plan not in PLANS_WITH_API:
        raise PlanWithoutApi
    form = _checked(read_form(request, *FIELDS))
    if form.faults:
        return await account_page(request, work, user, key_form=form, status=400)
    expires_at = expiry_of(form["expires"], now=work.now)
    key, credential = await access.create_api_key(work, user, name=form["name"], expires_at=expires_at)
    return await account_page(request, work, user, new_key=(credential.name, key))


@get("/account/keys/{key_id:str}/revoke")
async def ask_to_revoke(
    request: PageRequest, work: NamedDependency[Work], user: NamedDependency[User], key_id: FromPath[str]
) -> Response[str]:
    """Ask whether a key shall really be revoked."""
    key = await _get_key(work, user, key_id)
    if not key.is_active(now=work.now):
        return redirect("/account#keys")
    return page(request, "revoke.html", here="/account", key=key_row(key, user, now=work.now))


@post("/account/keys/{key_id:str}/revoke", status_code=303)
async def revoke_key(work: NamedDependency[Work], user: NamedDependency[User], key_id: FromPath[str]) -> Response[str]:
    """Close a key."""
    key = await _get_key(work, user, key_id)
    await access.revoke_credential(work, CredentialKind.API_KEY, user.id, key.id)
    return redirect("/account?done=revoked")


def _checked(form: Form) -> Form:
    return form if form["expires"] in EXPIRIES else form.with_faults({"expires": "Choose one of these"})


async def _get_key(work: Work, user: User, key_id: str) -> Credential:
    try:
        wanted = UUID(key_id)
    except ValueError:
        raise CredentialNotFound from None
    for key in await access.list_credentials(work, CredentialKind.API_KEY, user.id):
        if key.id == wanted:
            return key
    raise CredentialNotFound
