"""Pages: delete the organization."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.access import two_factor
from openslot.accounts.errors import OwnerRequired
from openslot.accounts.models import Organization, Role, User
from openslot.accounts.organizations import get_organization_by_id
from openslot.core.errors import Invalid
from openslot.core.text import LINE, defuse
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.people import organization_deletions
from openslot.routing import Form, Response, get, post
from openslot.web.dashboard.your_data import confirm_owner, needs_link
from openslot.web.organization.current import author_of, get_administered, organization_page
from openslot.web.pages import redirect

HERE = "/organization/settings"
TYPE_NAME = Text("must be the name of the organization")
NO_PASSWORD = Text("Your account has no password. Set one first, so that we can ask you for it.")
FIELDS = {"current": "password"}


class DeleteOrganizationForm(Struct, frozen=True, kw_only=True):
    """The proof that the right organization is deleted, and by the right person."""

    name: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    password: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


class ConfirmationNeeds(Struct, frozen=True, kw_only=True):
    """What a user is asked for before something that can't be undone."""

    has_password: bool
    needs_code: bool


@get("/organization/delete")
async def show_delete_organization(request: Exchange, work: Work, user: User) -> Response:
    """Show what the deletion does, and ask for the name and the password."""
    return await _show(request, work, user, Form())


@post("/organization/delete", transaction="none")
async def delete_own_organization(
    request: Exchange, work: Work, user: User, form: Form[DeleteOrganizationForm]
) -> Response:
    """Delete the organization if its owner is sure; the password is checked without a connection."""
    organization = await _get_owned(request, work)
    try:
        await confirm_deletion(work, user, organization, form)
    except Invalid as refusal:
        return await _show(request, work, user, form.with_faults(refusal.faults))
    async with work.transaction():
        deleted = await organization_deletions.delete_as_owner(work, organization, user)
        await organization_deletions.log_deletion(work, author_of(request, user), deleted, plan=organization.plan)
    return redirect("/?done=organization-deleted")


async def confirm_deletion(
    work: Work, user: User, organization: Organization, form: Form[DeleteOrganizationForm]
) -> None:
    """Refuse unless the name of the organization was typed, and the user has proved who it is."""
    if form.faults:
        raise Invalid(details=form.faults)
    sent = form.get()
    # Whoever copies the name from the heading has copied the joiners too.
    if defuse(sent.name.strip()) != defuse(organization.name):
        raise Invalid(details={"name": TYPE_NAME})
    state = await two_factor.get_state(work, user)
    if needs_link(state):
        raise Invalid(details={"form": NO_PASSWORD})
    try:
        await confirm_owner(work, user, state, password=sent.password, code=sent.code, proof="")
    except Invalid as refusal:
        raise Invalid(details={FIELDS.get(field, field): fault for field, fault in refusal.faults.items()}) from None


async def find_needs(work: Work, user: User) -> ConfirmationNeeds:
    """Return what a user has to be asked for."""
    state = await two_factor.get_state(work, user)
    return ConfirmationNeeds(has_password=state.has_password, needs_code=state.on_since is not None)


async def _get_owned(request: Exchange, work: Work) -> Organization:
    own = get_administered(request)
    if own.role is not Role.OWNER:
        raise OwnerRequired
    return await get_organization_by_id(work, own.organization_id)


async def _show(request: Exchange, work: Work, user: User, form: Form[DeleteOrganizationForm]) -> Response:
    organization = await _get_owned(request, work)
    return organization_page(
        "delete.html",
        request,
        user,
        get_administered(request),
        here=HERE,
        status=400 if form.faults else 200,
        form=form,
        organization=organization,
        preview=await organization_deletions.preview_deletion(work, organization),
        needs=await find_needs(work, user),
    )
