"""Pages: the organization itself: its names, how its mail looks, what happens when members leave, and its deletion."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from openslot.domains.access.two_factor.operations import get_two_factor_state
from openslot.domains.accounts.errors import OrganizationPlanRequired, OwnerRequired
from openslot.domains.accounts.members.operations import add_organization_member, search_members
from openslot.domains.accounts.models import (
    AssistantPolicy,
    ChosenBrand,
    MemberFilter,
    Organization,
    OwnMembership,
    Role,
    User,
)
from openslot.domains.accounts.organizations.operations import (
    add_organization,
    change_organization,
    change_organization_settings,
    get_organization_by_id,
    suggest_slug,
)
from openslot.domains.accounts.plans import Plan, running
from openslot.domains.accounts.profiles.operations import choose_brand, get_brand
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.people import organization_deletions
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared import words
from openslot.doors.web.shared.navigation import may_create_organization
from openslot.doors.web.shared.organization import (
    ROLE_WORDS,
    OrganizationChange,
    begin_administrator_change,
    change_author,
    get_administered_membership,
    get_own_membership,
    organization_cookie,
    organization_page,
)
from openslot.doors.web.shared.organization_deletion import DeleteOrganizationForm, confirm_deletion
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE, ShortLine
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, WhenEmpty, get, post

HERE = "/organization/settings"
MAX_NAMED = 20
ASSISTANT_POLICIES = {
    AssistantPolicy.ALLOWED: Text("Members decide"),
    AssistantPolicy.READ: Text("Assistants may only read"),
    AssistantPolicy.FORBIDDEN: Text("No assistants"),
}


class NamesForm(Struct, frozen=True, kw_only=True):
    name: Annotated[ShortLine, WhenEmpty(Text("Enter the name of the organization"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=50), WhenEmpty(Text("Enter a short name"))]


class BrandForm(Struct, frozen=True, kw_only=True):
    brand: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    color: Annotated[str, Meta(pattern=LINE, max_length=7)] = ""
    logo: Annotated[str, Meta(pattern=LINE, max_length=2000)] = ""


class DeparturesForm(Struct, frozen=True, kw_only=True):
    keeps: bool
    share: Annotated[int, Meta(ge=0, le=100), WhenEmpty(Text("Enter a number from 0 to 100"))]


class AssistantsForm(Struct, frozen=True, kw_only=True):
    assistants: Annotated[AssistantPolicy, WhenEmpty(Text("Choose one of these"))]


@get("/organization/settings")
async def show_settings(request: Exchange, work: Work, user: User, form: Form[Any] = Form()) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    chosen, until = await get_brand(work, organization), organization.plan_until
    is_paid = organization.plan_origin == "subscription"
    brand = {"brand": chosen.name or "", "color": chosen.color or "", "logo": chosen.logo_url or ""}
    keeps = {"keeps": "on"} if organization.keeps_bookings else {}
    return organization_page(
        "settings.html",
        request,
        own,
        here=HERE,
        plan=words.PLANS[running(organization.plan, until, now=work.now)],
        plan_until=words.day(until, user.zone) if until and until > work.now and not is_paid else None,
        sells_plans=work.runtime.settings.stripe_key is not None,
        form=form,
        names=form.of(NamesForm).begin({"name": organization.name, "slug": organization.slug}),
        brand=form.of(BrandForm).begin(brand),
        leaving=form.of(DeparturesForm).begin({**keeps, "share": str(organization.departure_share)}),
        policies=ASSISTANT_POLICIES,
        assistants=form.of(AssistantsForm).begin({"assistants": organization.assistants}),
        notices={"saved": Text("Saved.")},
    )


@post("/organization/settings/names", shows=show_settings)
async def change_names(request: Exchange, work: Work, user: User, form: Form[NamesForm]) -> Response:
    change, sent = await begin_administrator_change(request, work, user), form.get()
    organization = change.organization
    changed = await change_organization(work, organization, name=sent.name, slug=sent.slug)
    before, after = ({"name": each.name, "slug": each.slug} for each in (organization, changed))
    await change.log(ChangeAction.ORGANIZATION_CHANGED, changed.name, organization.id, before=before, after=after)
    return redirect(f"{HERE}?done=saved")


@post("/organization/settings/brand", shows=show_settings, names={"name": "brand"})
async def change_brand(request: Exchange, work: Work, user: User, form: Form[BrandForm]) -> Response:
    change, sent = await begin_administrator_change(request, work, user), form.get()
    organization = change.organization
    was = await get_brand(work, organization)
    wanted = ChosenBrand(name=sent.brand, color=sent.color.strip(), logo_url=sent.logo)
    chosen = await choose_brand(work, organization, wanted)
    before, after = ({"name": each.name, "color": each.color, "logo": each.logo_url} for each in (was, chosen))
    await change.log(ChangeAction.BRAND_CHANGED, organization.name, organization.id, before=before, after=after)
    return redirect(f"{HERE}?done=saved")


@post("/organization/settings/departures", shows=show_settings)
async def change_departures(request: Exchange, work: Work, user: User, form: Form[DeparturesForm]) -> Response:
    change, sent = await begin_administrator_change(request, work, user), form.get()
    organization = change.organization
    changed = await change_organization_settings(
        work, organization, keeps_bookings=sent.keeps, departure_share=sent.share
    )
    before, after = (
        {"keeps_bookings": each.keeps_bookings, "departure_share": each.departure_share}
        for each in (organization, changed)
    )
    await change.log(ChangeAction.LEAVING_CHANGED, organization.name, organization.id, before=before, after=after)
    return redirect(f"{HERE}?done=saved")


@post("/organization/settings/assistants", shows=show_settings)
async def change_assistants(request: Exchange, work: Work, user: User, form: Form[AssistantsForm]) -> Response:
    change, sent = await begin_administrator_change(request, work, user), form.get()
    organization = change.organization
    changed = await change_organization_settings(work, organization, assistants=sent.assistants)
    before, after = ({"assistants": each.assistants} for each in (organization, changed))
    await change.log(ChangeAction.ASSISTANTS_CHANGED, organization.name, organization.id, before=before, after=after)
    return redirect(f"{HERE}?done=saved")


class OrganizationForm(Struct, frozen=True, kw_only=True):
    name: Annotated[ShortLine, WhenEmpty(Text("Enter the name of the organization"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=50)] = ""
    plan: str = Plan.FREE
    """The plan, which only administrators of the platform choose."""


@get("/organization")
async def show_organization(request: Exchange, work: Work, user: User) -> Response:
    own = get_own_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    owners, _ = await search_members(
        work, organization.id, MemberFilter(role=Role.OWNER, state="active"), limit=MAX_NAMED
    )
    return organization_page(
        "about.html",
        request,
        own,
        here="/organization",
        plan=words.PLANS[running(organization.plan, organization.plan_until, now=work.now)],
        role=ROLE_WORDS[own.role],
        owners=[each.member.user for each in owners],
    )


@post("/organization/switch")
async def switch_organization(request: Exchange, work: Work, user: User) -> Response:
    """Remember which of several organizations to show."""
    return redirect("/organization", organization_cookie(work, get_own_membership(request)))


@get("/organization/new")
async def show_new_organization(user: User, form: Form[OrganizationForm] = Form()) -> Response:
    return page(
        "organization/new.html",
        user,
        here="/organization/new",
        may_create=may_create_organization(user),
        plans=words.PLANS if user.is_admin else None,
        form=form.begin({"plan": user.effective_plan}),
    )


@post("/organization/new", shows=show_new_organization)
async def create_organization(request: Exchange, work: Work, user: User, form: Form[OrganizationForm]) -> Response:
    if not may_create_organization(user):
        raise OrganizationPlanRequired
    sent = form.get()
    if user.is_admin and sent.plan not in set(Plan):
        raise Invalid(details={"plan": Text("Choose one of these")})
    # Its members share the plan, so only those who give plans choose it.
    plan = Plan(sent.plan) if user.is_admin else Plan.FREE
    slug = sent.slug.strip() or suggest_slug(sent.name)
    made = await add_organization(work, name=sent.name, slug=slug, plan=plan)
    await add_organization_member(work, made, user, role=Role.OWNER)
    change = OrganizationChange(work=work, author=change_author(request, user), organization=made)
    after = {"name": made.name, "slug": made.slug, "plan": made.plan}
    await change.log(ChangeAction.ORGANIZATION_CREATED, made.name, made.id, after=after)
    own = OwnMembership(organization_id=made.id, organization_name=made.name, role=Role.OWNER)
    return redirect("/organization/members?done=created", organization_cookie(work, own))


@get("/organization/delete")
async def show_delete_organization(
    request: Exchange, work: Work, user: User, form: Form[DeleteOrganizationForm] = Form()
) -> Response:
    organization = await _get_owned(request, work)
    return organization_page(
        "delete.html",
        request,
        get_administered_membership(request),
        here=HERE,
        form=form,
        organization=organization,
        preview=await organization_deletions.preview_deletion(work, organization),
        state=await get_two_factor_state(work, user),
    )


@post("/organization/delete", transaction="none", shows=show_delete_organization, names={"current": "password"})
async def delete_own_organization(
    request: Exchange, work: Work, user: User, form: Form[DeleteOrganizationForm]
) -> Response:
    """Delete the organization if its owner is sure; the password is checked without a connection."""
    organization = await _get_owned(request, work)
    await confirm_deletion(work, user, organization, form)
    async with work.transaction():
        deleted = await organization_deletions.delete_as_owner(work, organization, user)
        await organization_deletions.log_deletion(work, change_author(request, user), deleted, plan=organization.plan)
    return redirect("/?done=organization-deleted")


async def _get_owned(request: Exchange, work: Work) -> Organization:
    own = get_administered_membership(request)
    if own.role is not Role.OWNER:
        raise OwnerRequired
    return await get_organization_by_id(work, own.organization_id)
