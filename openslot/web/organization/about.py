"""Pages: the organization that a user belongs to, the choice between several, and a new one."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.accounts import members, organizations
from openslot.accounts.errors import OrganizationPlanNeeded, SlugTaken
from openslot.accounts.models import MemberFilter, OwnMembership, Role, User
from openslot.accounts.plans import Plan, running
from openslot.change_log.models import ChangeAction
from openslot.core.errors import Invalid
from openslot.core.text import LINE, ShortLine
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.navigation import may_create_organization
from openslot.web.organization.changing import author_of, log
from openslot.web.organization.current import choice_cookie, get_own, organization_page
from openslot.web.organization.role_names import ROLES
from openslot.web.pages import page, redirect

MOST_NAMED = 20


class OrganizationForm(Struct, frozen=True, kw_only=True):
    """An organization to create."""

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
        work, organization.id, MemberFilter(role=Role.OWNER, state="active"), limit=MOST_NAMED
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
