"""Pages: all organizations, their members and their plan, and how one is deleted."""

from typing import Annotated

from msgspec import Struct

from openslot.domains.access.two_factor.operations import get_two_factor_state
from openslot.domains.accounts.members.operations import list_organization_members
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import (
    change_organization_plan,
    get_organization,
    list_domains,
    list_organizations,
)
from openslot.domains.accounts.plans import Plan
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.people import organization_deletions
from openslot.domains.plans.operations import clear_organization_plan
from openslot.doors.web.admin.change_log import log_platform
from openslot.doors.web.shared import words
from openslot.doors.web.shared.list_queries import read_list_query
from openslot.doors.web.shared.organization import ROLE_WORDS, change_author
from openslot.doors.web.shared.organization_deletion import DeleteOrganizationForm, confirm_deletion
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

ROWS, MAX_MEMBERS = 50, 100
NOTICES = {"plan": Text("The plan was changed. It applies to all members.")}
LIST_NOTICES = {"deleted": Text("The organization was deleted.")}


class OrganizationPlanForm(Struct, frozen=True, kw_only=True):
    plan: Annotated[Plan, WhenEmpty(Text("Choose a plan"))]


@get("/admin/organizations")
async def show_organizations(request: Request, work: Work, user: User) -> Response:
    query = read_list_query(request, user, "/admin/organizations", "q")
    wanted = query["q"].casefold()
    every = await list_organizations(work)
    found = [each for each in every if wanted in f"{each.organization.name} {each.organization.slug}".casefold()]
    first = (query.page - 1) * ROWS
    return page(
        "admin/organizations.html",
        user,
        here="/admin/organizations",
        notices=LIST_NOTICES,
        query=query,
        pager=query.pager_of_uncounted(has_more=len(found) > first + ROWS),
        form=query.form,
        rows=found[first : first + ROWS],
        total=len(found),
        plans=words.PLANS,
    )


@get("/admin/organizations/{slug}")
async def show_one_organization(
    work: Work, user: User, slug: str, form: Form[OrganizationPlanForm] = Form()
) -> Response:
    organization = await get_organization(work, slug)
    found = await list_organization_members(work, organization, limit=MAX_MEMBERS)
    domains = await list_domains(work, organization)
    return page(
        "admin/organization.html",
        user,
        here="/admin/organizations",
        notices=NOTICES,
        organization=organization,
        domains=[each.domain for each in domains if each.verified_at is not None],
        plans=words.PLANS,
        sells_plans=work.runtime.settings.stripe_key is not None,
        form=form,
        members=found,
        roles=ROLE_WORDS,
        may_have_more=len(found) == MAX_MEMBERS,
    )


@post("/admin/organizations/{slug}/clear-plan")
async def clear_plan(request: Request, work: Work, user: User, slug: str) -> Response:
    """Let an organization's plan follow its subscription again."""
    organization = await get_organization(work, slug)
    cleared = await clear_organization_plan(work, organization)
    action, name = ChangeAction.ORGANIZATION_PLAN_CHANGED, organization.name
    before, after = {"plan": organization.plan}, {"plan": cleared.plan}
    await log_platform(work, request, user, action, name, subject_id=organization.id, before=before, after=after)
    return redirect(f"/admin/organizations/{slug}?done=plan")


@post("/admin/organizations/{slug}/plan", shows=show_one_organization)
async def set_organization_plan(
    request: Request, work: Work, user: User, slug: str, form: Form[OrganizationPlanForm]
) -> Response:
    """Give an organization another plan, without an end."""
    organization = await get_organization(work, slug)
    plan = form.get().plan
    await change_organization_plan(work, organization, plan)
    action, name = ChangeAction.ORGANIZATION_PLAN_CHANGED, organization.name
    before, after = {"plan": organization.plan}, {"plan": plan}
    await log_platform(work, request, user, action, name, subject_id=organization.id, before=before, after=after)
    return redirect(f"/admin/organizations/{slug}?done=plan")


@get("/admin/organizations/{slug}/delete")
async def ask_to_delete_organization(
    work: Work, user: User, slug: str, form: Form[DeleteOrganizationForm] = Form()
) -> Response:
    organization = await get_organization(work, slug)
    return page(
        "admin/delete_organization.html",
        user,
        here="/admin/organizations",
        form=form,
        organization=organization,
        preview=await organization_deletions.preview_deletion(work, organization),
        state=await get_two_factor_state(work, user),
    )


@post(
    "/admin/organizations/{slug}/delete",
    transaction="none",
    shows=ask_to_delete_organization,
    names={"current": "password"},
)
async def delete_any_organization(
    request: Request, work: Work, user: User, slug: str, form: Form[DeleteOrganizationForm]
) -> Response:
    """Delete an organization; the password is checked without a connection."""
    organization = await get_organization(work, slug)
    await confirm_deletion(work, user, organization, form)
    async with work.transaction():
        deleted = await organization_deletions.delete_as_operator(work, organization)
        await organization_deletions.log_deletion(work, change_author(request, user), deleted, plan=organization.plan)
    return redirect("/admin/organizations?done=deleted")
