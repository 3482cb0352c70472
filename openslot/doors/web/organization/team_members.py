"""Pages: who belongs to a team, how much each hosts, and what happens when somebody leaves it."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import find_user_by_email, get_user
from openslot.domains.change_log.models import ChangeAction, Fields
from openslot.domains.people import team_leavers
from openslot.domains.teams.errors import TeamMemberAlreadyExists, TeamMemberNotFound
from openslot.domains.teams.models import Attributes, ListedTeamMember, Team, TeamMember
from openslot.domains.teams.operations import (
    NOT_IN_ORGANIZATION,
    add_team_member,
    change_team_member,
    get_team_member,
    list_team_members,
)
from openslot.doors.http.doors import Exchange
from openslot.doors.web.organization.teams import (
    HERE,
    PRIORITIES,
    MemberAddForm,
    begin_team_change,
    get_managed,
    show_team,
)
from openslot.doors.web.shared.organization import get_own_membership, organization_page
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, WhenEmpty, get, post


class TeamMemberForm(Struct, frozen=True, kw_only=True):
    weight: Annotated[int, Meta(ge=0, le=1000), WhenEmpty(Text("Enter a number from 0 to 1000"))]
    priority: Annotated[int, Meta(ge=0, le=3)] = 2
    manager: bool = False
    attributes: Annotated[str, Meta(max_length=15000)] = ""


@post("/organization/teams/{team_id}/members", shows=show_team, at={TeamMemberAlreadyExists: "email"})
async def add_member(request: Exchange, work: Work, user: User, team_id: UUID, form: Form[MemberAddForm]) -> Response:
    """Add a member of the organization to a team."""
    await get_managed(request, work, user, team_id)
    found = await find_user_by_email(work, form.get().email.strip())
    if found is None:
        raise Invalid(details={"email": NOT_IN_ORGANIZATION})
    change = await begin_team_change(request, work, user, team_id, hosts=[found.id])
    made = await add_team_member(work, change.team, found.id)
    after = {"team": change.team.name, **_fields(made)}
    await change.log(ChangeAction.TEAM_MEMBER_ADDED, found.email, found.id, after=after)
    return redirect(f"{HERE}/{team_id}?done=added")


@get("/organization/teams/{team_id}/members/{teammate_id}")
async def show_team_member(
    *, request: Exchange, work: Work, user: User, team_id: UUID, teammate_id: UUID, form: Form[TeamMemberForm] = Form()
) -> Response:
    team = await get_managed(request, work, user, team_id)
    found = await _get_listed(work, team, teammate_id)
    member = found.member
    shown = {
        "weight": str(member.weight),
        "priority": str(member.priority),
        "attributes": "\n".join(f"{name}: {value}" for name, value in sorted(member.attributes.items())),
        **({"manager": "on"} if member.is_manager else {}),
    }
    return organization_page(
        "team_member.html",
        request,
        get_own_membership(request),
        here=HERE,
        team=team,
        found=found,
        provided={name: value for name, value in sorted(found.attributes.items()) if name not in member.attributes},
        priorities=[(str(value), word) for value, word in PRIORITIES.items()],
        form=form.begin(shown),
    )


@post("/organization/teams/{team_id}/members/{teammate_id}", shows=show_team_member)
async def save_team_member(
    *, request: Exchange, work: Work, user: User, team_id: UUID, teammate_id: UUID, form: Form[TeamMemberForm]
) -> Response:
    change, sent = await begin_team_change(request, work, user, team_id, hosts=()), form.get()
    found = await _get_listed(work, change.team, teammate_id)
    changed = replace(
        found.member,
        weight=sent.weight,
        priority=sent.priority,
        is_manager=sent.manager,
        attributes=read_attributes(sent.attributes),
    )
    try:
        await change_team_member(work, changed)
    except Invalid as fault:
        raise Invalid(details={name.partition(".")[0]: text for name, text in (fault.details or {}).items()}) from None
    before, after = _fields(found.member), _fields(changed)
    await change.log(ChangeAction.TEAM_MEMBER_CHANGED, found.email, teammate_id, before=before, after=after)
    return redirect(f"{HERE}/{team_id}?done=saved")


@get("/organization/teams/{team_id}/members/{teammate_id}/remove")
async def ask_to_remove_team_member(
    request: Exchange, work: Work, user: User, team_id: UUID, teammate_id: UUID
) -> Response:
    team = await get_managed(request, work, user, team_id)
    found = await _get_listed(work, team, teammate_id)
    return organization_page(
        "remove_team_member.html",
        request,
        get_own_membership(request),
        here=HERE,
        team=team,
        found=found,
        counts=await team_leavers.count_of_leaver(work, team, teammate_id),
    )


@post("/organization/teams/{team_id}/members/{teammate_id}/remove")
async def remove_team_member(request: Exchange, work: Work, user: User, team_id: UUID, teammate_id: UUID) -> Response:
    """Remove somebody from a team; others take their bookings over, or they are cancelled."""
    change = await begin_team_change(request, work, user, team_id, hosts=[teammate_id])
    member = await get_team_member(work, change.team, teammate_id)
    leaver = await get_user(work, teammate_id)
    cancelled = await team_leavers.leave_team(work, change.team, leaver)
    before, after = {"team": change.team.name, **_fields(member)}, {"cancelled_bookings": len(cancelled)}
    await change.log(ChangeAction.TEAM_MEMBER_REMOVED, leaver.email, leaver.id, before=before, after=after)
    return redirect(f"{HERE}/{team_id}?done=removed&cancelled={len(cancelled)}")


def read_attributes(text: str) -> Attributes:
    """Read attributes as they are typed: one in each line, such as `language: de`."""
    found: Attributes = {}
    for line in filter(str.strip, text.splitlines()):
        name, sign, value = line.partition(":")
        if not sign or not value.strip():
            raise Invalid(details={"attributes": Text("must have a name, a colon and a value in each line")})
        found[name.strip()] = value.strip()
    return found


async def _get_listed(work: Work, team: Team, user_id: UUID) -> ListedTeamMember:
    found = await list_team_members(work, team)
    return require(next((each for each in found if each.member.user_id == user_id), None), TeamMemberNotFound)


def _fields(member: TeamMember) -> Fields:
    return {
        "weight": member.weight,
        "priority": member.priority,
        "manager": member.is_manager,
        "attributes": ", ".join(f"{name}: {value}" for name, value in sorted(member.attributes.items())),
    }
