"""organization …: organizations, their members and their domains from the terminal."""

from datetime import datetime
from typing import Annotated

import typer

from openslot.accounts import invitations, members, organizations
from openslot.accounts import operations as accounts
from openslot.accounts.events import OrganizationDeleted
from openslot.accounts.models import Member, Organization, Role
from openslot.accounts.plans import Plan
from openslot.change_log.models import ChangeAction, ChangeAuthor, NewChange
from openslot.change_log.operations import log_change
from openslot.cli.domains import app as domains
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.people import departures, organization_deletions
from openslot.processes.runtimes import with_work

app = typer.Typer(help="Organizations, their members and domains.", no_args_is_help=True, add_completion=False)
member_app = typer.Typer(help="Members of an organization.", no_args_is_help=True, add_completion=False)
app.add_typer(member_app, name="member")
app.add_typer(domains, name="domain")

Slug = Annotated[str, typer.Argument(help="The organization's slug")]
Email = Annotated[str, typer.Argument(help="The member's email address")]


@app.command("add")
def add_organization(
    name: Annotated[str, typer.Argument(help="The organization's name")],
    slug: Annotated[str, typer.Option(help="Short name for commands")],
    plan: Annotated[Plan, typer.Option(case_sensitive=False)] = Plan.FREE,
    as_json: AsJson = False,
) -> None:
    """Create an organization."""
    made = with_work(lambda work: organizations.add_organization(work, name=name, slug=slug, plan=plan))
    _show(made, as_json=as_json)


@app.command("list")
def list_organizations(as_json: AsJson = False) -> None:
    """List organizations by their slug."""
    found = with_work(organizations.list_organizations)
    if as_json:
        shown = [{**_shown(each.organization), "members": each.members, "domains": each.domains} for each in found]
        print_json({"organizations": shown})
        return
    rows = [
        (o.organization.slug, o.organization.name, o.organization.plan, o.members, *[", ".join(o.domains)])
        for o in found
    ]
    print_table(("Slug", "Name", "Plan", "Members", "Domains"), rows, nothing="No organizations yet.")


@app.command("plan")
def change_plan(
    slug: Slug,
    plan: Annotated[Plan, typer.Argument(case_sensitive=False)],
    until: Annotated[datetime | None, typer.Option(help="When the plan ends, in UTC")] = None,
    as_json: AsJson = False,
) -> None:
    """Change an organization's plan, which its members share."""

    async def do(work: Work) -> Organization:
        found = await organizations.get_organization(work, slug)
        lapses = until.replace(tzinfo=work.now.tzinfo) if until else None
        return await organizations.change_organization_plan(work, found, plan, until=lapses)

    _show(with_work(do), as_json=as_json)


@app.command("settings")
def change_settings(
    slug: Slug,
    keep_bookings: Annotated[
        bool | None, typer.Option("--keep-bookings/--cancel-bookings", help="What happens when a member is suspended")
    ] = None,
    departure_share: Annotated[
        int | None, typer.Option(min=0, max=100, help="Percentage of members who may leave within an hour")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or change what happens when members leave."""

    async def do(work: Work) -> Organization:
        found = await organizations.get_organization(work, slug)
        if keep_bookings is None and departure_share is None:
            return found
        return await organizations.change_organization_settings(
            work, found, keeps_bookings=keep_bookings, departure_share=departure_share
        )

    _show(with_work(do), as_json=as_json)


@app.command("delete")
def delete_organization(
    slug: Slug,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an organization: its members keep their accounts and bookings; tokens and invitations stop working."""
    if not yes:
        typer.confirm(f"Delete the organization {slug}? This can't be undone.", abort=True, err=True)

    async def do(work: Work) -> OrganizationDeleted:
        found = await organizations.get_organization(work, slug)
        deleted = await organization_deletions.delete_as_operator(work, found)
        await organization_deletions.log_deletion(work, ChangeAuthor(name="operator"), deleted, plan=found.plan)
        return deleted

    deleted = with_work(do)
    if as_json:
        print_json({"deleted": slug, "members": deleted.members, "cancelledBookings": deleted.cancelled_bookings})
        return
    console.print(f"{slug} was deleted. Its {deleted.members} members keep their accounts.")


@member_app.command("add")
def add_member(
    slug: Slug,
    email: Email,
    role: Annotated[Role, typer.Option(case_sensitive=False)] = Role.MEMBER,
    as_json: AsJson = False,
) -> None:
    """Add an account to an organization."""

    async def do(work: Work) -> Member:
        found = await organizations.get_organization(work, slug)
        user = await accounts.get_user_by_email(work, email)
        await departures.check_decided(work, found, email)
        await members.add_member(work, found, user, role=role)
        return await members.get_member_by_user(work, found, user)

    made = with_work(do)
    if as_json:
        print_json(_shown_member(made))
        return
    console.print(f"{made.user.email} is a member of {slug}.")


@member_app.command("list")
def list_members(
    slug: Slug,
    page: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List an organization's members by when they joined."""

    async def do(work: Work) -> list[Member]:
        found = await organizations.get_organization(work, slug)
        return await members.list_members(work, found, page=page, limit=limit)

    found = with_work(do)
    if as_json:
        print_json({"members": [_shown_member(member) for member in found]})
        return
    rows = [(m.user.email, m.user.name, m.role, m.active, m.pending, m.is_managed) for m in found]
    print_table(("Email", "Name", "Role", "Active", "Pending", "Managed"), rows, nothing="No members.")


@member_app.command("remove")
def remove_member(slug: Slug, email: Email, as_json: AsJson = False) -> None:
    """Remove a member: upcoming bookings are cancelled, sessions end, the account stays."""

    async def do(work: Work) -> None:
        found = await organizations.get_organization(work, slug)
        await departures.remove_as_operator(work, found, await accounts.get_user_by_email(work, email))

    with_work(do)
    if as_json:
        print_json({"removed": email})
        return
    console.print(f"{email} is no longer a member of {slug}.")


@member_app.command("role")
def set_role(
    slug: Slug,
    email: Email,
    role: Annotated[Role, typer.Argument(case_sensitive=False, help="owner, admin or member")],
    as_json: AsJson = False,
) -> None:
    """Change a member's role, also in an organization that has no owner left."""

    async def do(work: Work) -> Member:
        found = await organizations.get_organization(work, slug)
        member = await members.get_member_by_user(work, found, await accounts.get_user_by_email(work, email))
        await members.set_role(work, member, role)
        await log_change(
            work,
            NewChange(
                action=ChangeAction.ROLE_CHANGED,
                author=ChangeAuthor(name="operator"),
                subject=member.user.email,
                subject_id=member.id,
                organization_id=found.id,
                before={"role": member.role},
                after={"role": role},
            ),
        )
        return await members.get_member_by_user(work, found, member.user)

    made = with_work(do)
    if as_json:
        print_json(_shown_member(made))
        return
    console.print(f"{made.user.email} is {made.role} of {slug}.")


@member_app.command("invite")
def invite_member(slug: Slug, email: Email, as_json: AsJson = False) -> None:
    """Create a new invitation and print its link. Earlier ones stop working."""

    async def do(work: Work) -> str:
        found = await organizations.get_organization(work, slug)
        member = await members.get_member_by_user(work, found, await accounts.get_user_by_email(work, email))
        if not member.pending and await accounts.has_password(work, member.user):
            raise Invalid("This member has a password and has already joined")
        invitation_id = await invitations.invite(work, found, member.user)
        return invitations.invitation_url(work.runtime, invitation_id)

    link = with_work(do)
    if as_json:
        print_json({"email": email, "url": link})
        return
    console.print(f"Valid once, for {invitations.LASTS.days} days: {link}", soft_wrap=True)


def _show(organization: Organization, *, as_json: bool) -> None:
    if as_json:
        print_json(_shown(organization))
        return
    kept = "stay" if organization.keeps_bookings else "are cancelled"
    console.print(
        f"{organization.slug}: {organization.plan}; bookings of suspended members {kept}; "
        f"{organization.departure_share} % may leave within an hour"
    )


def _shown(organization: Organization) -> dict[str, object]:
    return {
        "id": organization.id,
        "name": organization.name,
        "slug": organization.slug,
        "plan": organization.plan,
        "planUntil": organization.plan_until,
        "keepBookings": organization.keeps_bookings,
        "departureShare": organization.departure_share,
        "createdAt": organization.created_at,
    }


def _shown_member(member: Member) -> dict[str, object]:
    return {
        "id": member.id,
        "email": member.user.email,
        "name": member.user.name,
        "role": member.role,
        "active": member.active,
        "pending": member.pending,
        "managed": member.is_managed,
        "createdAt": member.created_at,
    }
