"""Pages: the organization itself, what it is called, how its mail looks, and what happens when members leave."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from openslot.accounts import members, organizations, profiles
from openslot.accounts.errors import OrganizationPlanNeeded, SlugTaken
from openslot.accounts.models import ChosenBrand, MemberFilter, Organization, OwnMembership, Role, User
from openslot.accounts.plans import Plan, running
from openslot.change_log.models import ChangeAction, ChangeAuthor, Fields
from openslot.core.errors import Invalid
from openslot.core.text import LINE, ShortLine
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.navigation import may_create_organization
from openslot.web.organization.current import (
    ROLES,
    author_of,
    begin_change,
    choice_cookie,
    get_administered,
    get_own,
    log,
    organization_page,
)
from openslot.web.pages import page, redirect

HERE = "/organization/settings"
SAVED = Text("Saved.")
MAX_NAMED = 20


class NamesForm(Struct, frozen=True, kw_only=True):
    name: Annotated[ShortLine, WhenEmpty(Text("Enter the name of the organization"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=50), WhenEmpty(Text("Enter a short name"))]


class BrandForm(Struct, frozen=True, kw_only=True):
    brand: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    colour: Annotated[str, Meta(pattern=LINE, max_length=7)] = ""
    logo: Annotated[str, Meta(pattern=LINE, max_length=2000)] = ""


class DeparturesForm(Struct, frozen=True, kw_only=True):
    """What happens when members leave."""

    keeps: bool
    share: Annotated[int, Meta(ge=0, le=100), WhenEmpty(Text("Enter a number from 0 to 100"))]


@get("/organization/settings")
async def show_settings(request: Exchange, work: Work, user: User) -> Response:
    own = get_administered(request)
    organization = await organizations.get_organization_by_id(work, own.organization_id)
    return await _show(request, work, user, organization)


@post("/organization/settings/names")
async def change_names(request: Exchange, work: Work, user: User, form: Form[NamesForm]) -> Response:
    """Give the organization another name and slug."""
    organization = (await begin_change(request, work, user)).organization
    if form.faults:
        return await _show(request, work, user, organization, names=form)
    sent = form.get()
    try:
        changed = await organizations.change_organization(work, organization, name=sent.name, slug=sent.slug)
    except (Invalid, SlugTaken) as refusal:
        return await _show(request, work, user, organization, names=form.with_faults(refusal.faults))
    before, after = ({"name": each.name, "slug": each.slug} for each in (organization, changed))
    action = ChangeAction.ORGANIZATION_CHANGED
    return await _log_saved(work, author_of(request, user), changed, action, before=before, after=after)


@post("/organization/settings/brand")
async def change_brand(request: Exchange, work: Work, user: User, form: Form[BrandForm]) -> Response:
    """Choose what mail shows."""
    organization = (await begin_change(request, work, user)).organization
    if form.faults:
        return await _show(request, work, user, organization, brand=form)
    sent, was = form.get(), await profiles.get_brand(work, organization)
    wanted = ChosenBrand(name=sent.brand, colour=sent.colour.strip(), logo_url=sent.logo)
    try:
        chosen = await profiles.set_brand(work, organization, wanted)
    except Invalid as refusal:
        faults = {"brand" if name == "name" else name: fault for name, fault in refusal.faults.items()}
        return await _show(request, work, user, organization, brand=form.with_faults(faults))
    before, after = ({"name": each.name, "colour": each.colour, "logo": each.logo_url} for each in (was, chosen))
    action = ChangeAction.BRAND_CHANGED
    return await _log_saved(work, author_of(request, user), organization, action, before=before, after=after)


@post("/organization/settings/departures")
async def change_departures(request: Exchange, work: Work, user: User, form: Form[DeparturesForm]) -> Response:
    """Choose what happens when members leave."""
    organization = (await begin_change(request, work, user)).organization
    if form.faults:
        return await _show(request, work, user, organization, leaving=form)
    sent = form.get()
    changed = await organizations.change_organization_settings(
        work, organization, keeps_bookings=sent.keeps, departure_share=sent.share
    )
    before, after = (
        {"keeps_bookings": each.keeps_bookings, "departure_share": each.departure_share}
        for each in (organization, changed)
    )
    action = ChangeAction.LEAVING_CHANGED
    return await _log_saved(work, author_of(request, user), organization, action, before=before, after=after)


async def _log_saved(
    work: Work, author: ChangeAuthor, organization: Organization, action: ChangeAction, *, before: Fields, after: Fields
) -> Response:
    """Log what was saved, and show the settings again."""
    subject, subject_id = organization.name, organization.id
    await log(work, author, organization, action, subject, subject_id=subject_id, before=before, after=after)
    return redirect(f"{HERE}?done=saved")


async def _show(
    request: Exchange,
    work: Work,
    user: User,
    organization: Organization,
    *,
    names: Form[NamesForm] | None = None,
    brand: Form[BrandForm] | None = None,
    leaving: Form[DeparturesForm] | None = None,
) -> Response:
    """Show the settings as they are, or a form as it was sent with its faults."""
    own = get_administered(request)
    chosen = await profiles.get_brand(work, organization)
    faulty: Form[Any] | None = names or brand or leaving
    until = organization.plan_until
    brand_values = {"brand": chosen.name or "", "colour": chosen.colour or "", "logo": chosen.logo_url or ""}
    keeps = {"keeps": "on"} if organization.keeps_bookings else {}
    return organization_page(
        "settings.html",
        request,
        user,
        own,
        here=HERE,
        status=400 if faulty else 200,
        plan=words.PLANS[running(organization.plan, until, now=work.now)],
        plan_until=words.day(until, user.zone) if until and until > work.now else None,
        names=names or Form(values={"name": organization.name, "slug": organization.slug}),
        brand=brand or Form(values=brand_values),
        leaving=leaving or Form(values={**keeps, "share": str(organization.departure_share)}),
        notice=SAVED if not faulty and request.query.get("done") == "saved" else None,
    )


class OrganizationForm(Struct, frozen=True, kw_only=True):
    name: Annotated[ShortLine, WhenEmpty(Text("Enter the name of the organization"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=50)] = ""
    plan: str = Plan.FREE
    """Only administrators of the platform choose it."""


@get("/organization")
async def show_organization(request: Exchange, work: Work, user: User) -> Response:
    """Show the organization, its plan and who looks after it."""
    own = get_own(request)
    organization = await organizations.get_organization_by_id(work, own.organization_id)
    owners, _ = await members.search_members(
        work, organization.id, MemberFilter(role=Role.OWNER, state="active"), limit=MAX_NAMED
    )
    return organization_page(
        "about.html",
        request,
        user,
        own,
        here="/organization",
        plan=words.PLANS[running(organization.plan, organization.plan_until, now=work.now)],
        role=ROLES[own.role],
        owners=[each.member.user for each in owners],
    )


@post("/organization/switch")
async def switch_organization(request: Exchange, work: Work, user: User) -> Response:
    """Remember which of several organizations to show."""
    return redirect("/organization", choice_cookie(work, get_own(request)))


@get("/organization/new")
async def show_new_organization(user: User) -> Response:
    """Show the form that creates an organization, or what it needs."""
    return _new_page(user, Form(values={"plan": user.effective_plan}))


@post("/organization/new")
async def create_organization(request: Exchange, work: Work, user: User, form: Form[OrganizationForm]) -> Response:
    """Create an organization whose owner is the user."""
    if not may_create_organization(user):
        raise OrganizationPlanNeeded
    if form.faults:
        return _new_page(user, form)
    sent = form.get()
    if user.is_admin and sent.plan not in set(Plan):
        return _new_page(user, form.with_faults({"plan": Text("Choose one of these")}))
    # Its members share the plan, so only those who give plans choose it.
    plan = Plan(sent.plan) if user.is_admin else Plan.FREE
    slug = sent.slug.strip() or organizations.suggest_slug(sent.name)
    try:
        made = await organizations.add_organization(work, name=sent.name, slug=slug, plan=plan)
    except (Invalid, SlugTaken) as refusal:
        return _new_page(user, form.with_faults(refusal.faults))
    await members.add_member(work, made, user, role=Role.OWNER)
    after = {"name": made.name, "slug": made.slug, "plan": made.plan}
    await log(
        work,
        author_of(request, user),
        made,
        ChangeAction.ORGANIZATION_CREATED,
        made.name,
        subject_id=made.id,
        after=after,
    )
    own = OwnMembership(organization_id=made.id, organization_name=made.name, role=Role.OWNER)
    return redirect("/organization/members?done=created", choice_cookie(work, own))


def _new_page(user: User, form: Form[OrganizationForm]) -> Response:
    return page(
        "organization/new.html",
        user,
        status=400 if form.faults else 200,
        here="/organization/new",
        may_create=may_create_organization(user),
        plans=words.PLANS if user.is_admin else None,
        form=form,
    )
