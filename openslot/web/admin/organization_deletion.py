"""Pages: delete an organization as an administrator of the platform."""

from openslot.accounts import organizations
from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.routing import Form, Request, Response, get, post
from openslot.scim import deletions
from openslot.web.organization.changing import author_of
from openslot.web.organization.deleting import DeleteOrganizationForm, confirm_deletion, find_needs
from openslot.web.pages import page, redirect


@get("/admin/organizations/{slug}/delete")
async def ask_to_delete_organization(work: Work, user: User, slug: str) -> Response:
    """Show what the deletion does, and ask for the name and the password."""
    return await _show(work, user, slug, Form())


@post("/admin/organizations/{slug}/delete", transaction="none")
async def delete_any_organization(
    request: Request, work: Work, user: User, slug: str, form: Form[DeleteOrganizationForm]
) -> Response:
    """Delete an organization; the password is checked without a connection."""
    organization = await organizations.get_organization(work, slug)
    try:
        await confirm_deletion(work, user, organization, form)
    except Invalid as refusal:
        return await _show(work, user, slug, form.with_faults(refusal.faults))
    async with work.transaction():
        deleted = await deletions.delete_as_operator(work, organization)
        await deletions.log_deletion(work, author_of(request, user), deleted, plan=organization.plan)
    return redirect("/admin/organizations?done=deleted")


async def _show(work: Work, user: User, slug: str, form: Form[DeleteOrganizationForm]) -> Response:
    organization = await organizations.get_organization(work, slug)
    return page(
        "admin/delete_organization.html",
        user,
        here="/admin/organizations",
        status=400 if form.faults else 200,
        form=form,
        organization=organization,
        preview=await deletions.preview_deletion(work, organization),
        needs=await find_needs(work, user),
    )
