"""organization …: organizations, their members and their domains from the terminal."""

from datetime import datetime
from typing import Annotated

import typer

from openslot.cli.command import Limit, PageNumber, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.invitations.operations import INVITATION_LASTS, invitation_url, make_invitation
from openslot.domains.accounts.members.operations import (
    add_organization_member,
    get_member_by_user,
    list_organization_members,
    set_member_role,
)
from openslot.domains.accounts.models import AssistantPolicy, Domain, Member, Organization, Role
from openslot.domains.accounts.operations import get_user_by_email, has_password
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.change_log.models import ChangeAction, ChangeAuthor, NewChange
from openslot.domains.change_log.operations import log_change
from openslot.domains.people import departures, organization_deletions
from openslot.domains.plans.operations import clear_organization_plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime, Work
from openslot.vendors.dns import DnsResolver

app = group("Organizations, their members and domains.")
member_app = group("Members of an organization.")
domain_app = group("Domains whose accounts an organization manages.")
app.add_typer(member_app, name="member")
app.add_typer(domain_app, name="domain")

Slug = Annotated[str, typer.Argument(help="The organization's slug")]
Email = Annotated[str, typer.Argument(help="The member's email address")]
DomainName = Annotated[str, typer.Argument(help="The domain, such as example.com")]
BY_OPERATOR = ChangeAuthor(name="operator")


@command(app, "add")
async def add_organization(
    work: Work,
    name: Annotated[str, typer.Argument(help="The organization's name")],
    slug: Annotated[str, typer.Option(help="Short name for commands")],
    plan: Annotated[Plan, typer.Option(case_sensitive=False)] = Plan.FREE,
) -> Answer:
    """Create an organization."""
    return _answer(await organizations.add_organization(work, name=name, slug=slug, plan=plan))


@command(app, "list")
async def list_organizations(work: Work) -> Answer:
    """List organizations by their slug, with members and verified domains."""
    found = await organizations.list_organizations(work)
    rows = [
        (each.organization.slug, each.organization.name, each.organization.plan, each.members, ", ".join(each.domains))
        for each in found
    ]
    shown = [{**_shape(each.organization), "members": each.members, "domains": each.domains} for each in found]
    columns = ("Slug", "Name", "Plan", "Members", "Domains")
    return Answer({"organizations": shown}, TableRows(columns, rows, "No organizations yet."))


@command(app, "plan")
async def change_plan(
    work: Work,
    slug: Slug,
    plan: Annotated[Plan, typer.Argument(case_sensitive=False)],
    until: Annotated[datetime | None, typer.Option(help="When the plan ends, in UTC")] = None,
) -> Answer:
    """Change an organization's plan, which its members share."""
    found = await organizations.get_organization(work, slug)
    lapses = until.replace(tzinfo=work.now.tzinfo) if until else None
    return _answer(await organizations.change_organization_plan(work, found, plan, until=lapses))


@command(app, "clear-plan")
async def clear_plan(work: Work, slug: Slug) -> Answer:
    """Take back the plan that you gave an organization: it follows its subscription again, or has the free plan."""
    found = await organizations.get_organization(work, slug)
    return _answer(await clear_organization_plan(work, found))


@command(app, "settings")
async def change_settings(
    work: Work,
    slug: Slug,
    keep_bookings: Annotated[
        bool | None, typer.Option("--keep-bookings/--cancel-bookings", help="What happens when a member is suspended")
    ] = None,
    departure_share: Annotated[
        int | None, typer.Option(min=0, max=100, help="Percentage of members who may leave within an hour")
    ] = None,
    assistants: Annotated[
        AssistantPolicy | None, typer.Option(help="What the assistants that members connect may do")
    ] = None,
) -> Answer:
    """Show or change what happens when members leave, and what their assistants may do.

    That is: what happens to the bookings of suspended members, what percentage of members may leave within an hour, and
    whether the assistants that members connect are allowed, may only read, or are forbidden.
    """
    found = await organizations.get_organization(work, slug)
    if (keep_bookings, departure_share, assistants) != (None, None, None):
        found = await organizations.change_organization_settings(
            work, found, keeps_bookings=keep_bookings, departure_share=departure_share, assistants=assistants
        )
    return _answer(found)


@command(app, "delete", confirm="Delete the organization {slug}? This can't be undone.")
async def delete_organization(work: Work, slug: Slug) -> Answer:
    """Delete an organization: its members keep their accounts and bookings; tokens and invitations stop working."""
    found = await organizations.get_organization(work, slug)
    deleted = await organization_deletions.delete_as_operator(work, found)
    await organization_deletions.log_deletion(work, BY_OPERATOR, deleted, plan=found.plan)
    shown = {"deleted": slug, "members": deleted.members, "cancelledBookings": deleted.cancelled_bookings}
    return Answer(shown, f"{slug} was deleted. Its {deleted.members} members keep their accounts.")


@command(member_app, "add")
async def add_member(
    work: Work, slug: Slug, email: Email, role: Annotated[Role, typer.Option(case_sensitive=False)] = Role.MEMBER
) -> Answer:
    """Add an account to an organization."""
    found = await organizations.get_organization(work, slug)
    user = await get_user_by_email(work, email)
    await departures.check_decided(work, found, email)
    await add_organization_member(work, found, user, role=role)
    made = await get_member_by_user(work, found, user)
    return Answer(_shape_member(made), f"{made.user.email} is a member of {slug}.")


@command(member_app, "list")
async def list_members(work: Work, slug: Slug, page: PageNumber = 1, limit: Limit = 100) -> Answer:
    """List an organization's members by when they joined."""
    organization = await organizations.get_organization(work, slug)
    found = await list_organization_members(work, organization, page=page, limit=limit)
    rows = [(m.user.email, m.user.name, m.role, m.active, m.pending, m.is_managed) for m in found]
    columns = ("Email", "Name", "Role", "Active", "Pending", "Managed")
    return Answer({"members": [_shape_member(member) for member in found]}, TableRows(columns, rows, "No members."))


@command(member_app, "remove")
async def remove_member(work: Work, slug: Slug, email: Email) -> Answer:
    """Remove a member: upcoming bookings are cancelled, sessions end, the account stays."""
    found = await organizations.get_organization(work, slug)
    await departures.remove_as_operator(work, found, await get_user_by_email(work, email))
    return Answer({"removed": email}, f"{email} is no longer a member of {slug}.")


@command(member_app, "role")
async def set_role(
    work: Work,
    slug: Slug,
    email: Email,
    role: Annotated[Role, typer.Argument(case_sensitive=False, help="owner, admin or member")],
) -> Answer:
    """Change a member's role, also in an organization that has no owner left."""
    organization, member = await _get_member(work, slug, email)
    await set_member_role(work, member, role)
    change = NewChange(
        action=ChangeAction.ROLE_CHANGED,
        author=BY_OPERATOR,
        subject=member.user.email,
        subject_id=member.id,
        organization_id=organization.id,
        before={"role": member.role},
        after={"role": role},
    )
    await log_change(work, change)
    made = await get_member_by_user(work, organization, member.user)
    return Answer(_shape_member(made), f"{made.user.email} is {made.role} of {slug}.")


@command(member_app, "invite")
async def invite_member(work: Work, slug: Slug, email: Email) -> Answer:
    """Create a new invitation and print its link, valid once and for 14 days. Earlier ones stop working."""
    organization, member = await _get_member(work, slug, email)
    if not member.pending and await has_password(work, member.user):
        raise Invalid("This member has a password and has already joined")
    url = invitation_url(work.runtime, await make_invitation(work, organization, member.user))
    return Answer({"email": email, "url": url}, f"Valid once, for {INVITATION_LASTS.days} days: {url}")


@command(domain_app, "add")
async def add_domain(work: Work, slug: Slug, domain: DomainName) -> Answer:
    """Claim a domain, and print the DNS record that proves it."""
    organization = await organizations.get_organization(work, slug)
    made = await organizations.add_domain(work, organization, domain, verified=False)
    if made.verified_at is not None:
        return Answer(_shape_domain(made), f"{made.domain} is already verified.")
    next_step = f"Add this TXT record, then run: openslot organization domain verify {slug} {made.domain}"
    return Answer(_shape_domain(made), f"{next_step}\n  _openslot.{made.domain}  TXT  {made.proof}")


@command(domain_app, "list")
async def list_domains(work: Work, slug: Slug) -> Answer:
    """List an organization's domains, verified and claimed."""
    found = await organizations.list_domains(work, await organizations.get_organization(work, slug))
    rows = [(each.domain, each.verified_at, each.proof) for each in found]
    table = TableRows(("Domain", "Verified", "Record"), rows, "No domains yet.")
    return Answer({"domains": [_shape_domain(each) for each in found]}, table)


@command(domain_app, "verify")
async def verify_domain(runtime: Runtime, slug: Slug, domain: DomainName) -> Answer:
    """Look for the proof in the domain's DNS."""
    work = runtime.work(OPERATOR)
    organization = await organizations.get_organization(work, slug)
    made = await organizations.verify_domain(work, organization, domain, DnsResolver())
    return Answer(_shape_domain(made), f"{made.domain} is verified: {slug} manages the accounts in it.")


@command(domain_app, "remove")
async def remove_domain(work: Work, slug: Slug, domain: DomainName) -> Answer:
    """Remove a domain; the organization no longer manages accounts because of it."""
    await organizations.remove_domain(work, await organizations.get_organization(work, slug), domain)
    return Answer({"removed": domain}, f"{domain} is no longer a domain of {slug}.")


async def _get_member(work: Work, slug: str, email: str) -> tuple[Organization, Member]:
    found = await organizations.get_organization(work, slug)
    return found, await get_member_by_user(work, found, await get_user_by_email(work, email))


def _answer(organization: Organization) -> Answer:
    kept = "stay" if organization.keeps_bookings else "are cancelled"
    text = (
        f"{organization.slug}: {organization.plan}; bookings of suspended members {kept}; "
        f"{organization.departure_share} % may leave within an hour"
    )
    return Answer(_shape(organization), text)


def _shape(organization: Organization) -> dict[str, object]:
    names = "id name slug plan plan_until departure_share assistants created_at"
    return pick(organization, names, keep_bookings=organization.keeps_bookings)


def _shape_member(member: Member) -> dict[str, object]:
    names = "id role active pending created_at"
    return pick(member, names, email=member.user.email, name=member.user.name, managed=member.is_managed)


def _shape_domain(domain: Domain) -> dict[str, object]:
    return pick(domain, "domain verified_at", record_name=f"_openslot.{domain.domain}", record_value=domain.proof)
