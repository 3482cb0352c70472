"""Pages: the teams of an organization; a team's name, address and time zone, and its deletion."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.members.operations import is_administrator
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.change_log.models import ChangeAction, Fields
from openslot.domains.event_types.models import EventType
from openslot.domains.people import team_leavers
from openslot.domains.teams import hosting
from openslot.domains.teams.errors import TeamNameAlreadyExists, TeamNotFound, TeamSlugAlreadyExists
from openslot.domains.teams.models import Team
from openslot.domains.teams.operations import (
    add_team,
    begin_team_management,
    change_team,
    get_team,
    is_team_manager,
    list_own_teams,
    list_team_members,
    list_teams,
    lock_team_for_change,
)
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared.list_queries import read_list_query
from openslot.doors.web.shared.organization import (
    OrganizationChange,
    begin_administrator_change,
    change_author,
    get_own_membership,
    organization_page,
)
from openslot.doors.web.shared.pages import redirect
from openslot.doors.web.shared.zone_search import TypedZone
from openslot.platform.core.errors import Refusal
from openslot.platform.core.text import LINE, ShortLine
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

HERE = "/organization/teams"
NOTICES = {
    "created": Text("The team was created. Add its members below."),
    "saved": Text("Saved."),
    "added": Text("The member was added to the team."),
    "deleted": Text("The team was deleted."),
    "removed": Text("The member was removed from the team."),
}
PRIORITIES = {3: Text("Highest"), 2: Text("Normal"), 1: Text("Low"), 0: Text("Lowest")}
ROWS = 50
TAKEN: dict[type[Refusal], str] = {TeamNameAlreadyExists: "name", TeamSlugAlreadyExists: "slug"}


class NewTeamForm(Struct, frozen=True, kw_only=True):
    name: Annotated[ShortLine, WhenEmpty(Text("Enter the name of the team"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=60)] = ""
    timezone: Annotated[TypedZone, WhenEmpty(Text("Choose a time zone"))]


class TeamForm(Struct, frozen=True, kw_only=True):
    name: Annotated[ShortLine, WhenEmpty(Text("Enter the name of the team"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=60), WhenEmpty(Text("Enter a short name"))]
    timezone: Annotated[TypedZone, WhenEmpty(Text("Choose a time zone"))]


class MemberAddForm(Struct, frozen=True, kw_only=True):
    email: Annotated[ShortLine, WhenEmpty(Text("Enter an email address"))]


class TeamChange(OrganizationChange, frozen=True, kw_only=True):
    """A change of a team by who may decide about it."""

    team: Team


class HostedEventType(Struct, frozen=True, kw_only=True):
    """An event type of a team, as shown to who decides about its hosts."""

    team: Team
    event_type: EventType
    manages: bool
    """Whether they decide about the whole team as well."""


async def get_managed(request: Exchange, work: Work, user: User, team_id: UUID) -> Team:
    """Read a team of the current organization; only its managers and administrators find it."""
    own = get_own_membership(request)
    team = await get_team(work, own.organization_id, team_id)
    if not is_administrator(own.role) and not await is_team_manager(work, team, user.id):
        raise TeamNotFound
    return team


async def get_hosted(request: Exchange, work: Work, user: User, team_id: UUID, event_type_id: UUID) -> HostedEventType:
    """Read an event type of a team; managers, administrators and its owner find it."""
    own = get_own_membership(request)
    team = await get_team(work, own.organization_id, team_id)
    event_type = await hosting.get_team_event_type(work, team, event_type_id)
    manages = is_administrator(own.role) or await is_team_manager(work, team, user.id)
    if not manages and event_type.owner_id != user.id:
        raise TeamNotFound
    return HostedEventType(team=team, event_type=event_type, manages=manages)


async def begin_hosting_change(
    request: Exchange, work: Work, user: User, team_id: UUID, event_type_id: UUID
) -> TeamChange:
    """Take the locks under which the hosts of an event type are changed."""
    team = (await get_hosted(request, work, user, team_id, event_type_id)).team
    await hosting.lock_hosting(work, event_type_id)
    management = await begin_team_management(work, team.organization_id, team_id, user.id, event_type_id=event_type_id)
    organization = await get_organization_by_id(work, team.organization_id)
    return TeamChange(work=work, author=change_author(request, user), organization=organization, team=management.team)


async def begin_team_change(
    request: Exchange, work: Work, user: User, team_id: UUID, *, hosts: Sequence[UUID] | None = None
) -> TeamChange:
    """Take the locks under which a team is changed; with `hosts` also those of its event types and of all hosts."""
    team = await get_managed(request, work, user, team_id)
    if hosts is not None:
        await lock_team_for_change(work, team, hosts)
    management = await begin_team_management(work, team.organization_id, team_id, user.id)
    organization = await get_organization_by_id(work, team.organization_id)
    return TeamChange(work=work, author=change_author(request, user), organization=organization, team=management.team)


@get("/organization/teams")
async def show_teams(request: Exchange, work: Work, user: User, form: Form[NewTeamForm] = Form()) -> Response:
    """List all teams for administrators, and for others those in which they are."""
    own = get_own_membership(request)
    administers = is_administrator(own.role)
    if administers:
        found = await list_teams(work, await get_organization_by_id(work, own.organization_id))
    else:
        found = await list_own_teams(work, own.organization_id, user.id)
    return organization_page(
        "teams.html",
        request,
        own,
        here=HERE,
        rows=found,
        administers=administers,
        form=form.begin({"timezone": user.zone}),
        notice=_find_notice(request),
    )


@post("/organization/teams", shows=show_teams, at=TAKEN)
async def create_team(request: Exchange, work: Work, user: User, form: Form[NewTeamForm]) -> Response:
    change, sent = await begin_administrator_change(request, work, user), form.get()
    slug = sent.slug.strip() or None
    made = await add_team(work, change.organization, name=sent.name, slug=slug, zone=sent.timezone)
    await change.log(ChangeAction.TEAM_CREATED, made.name, made.id, after=_fields(made))
    return redirect(f"{HERE}/{made.id}?done=created")


@get("/organization/teams/{team_id}")
async def show_team(request: Exchange, work: Work, user: User, team_id: UUID, form: Form[Any] = Form()) -> Response:
    own = get_own_membership(request)
    team = await get_managed(request, work, user, team_id)
    members = await list_team_members(work, team)
    query = read_list_query(request, user, f"{HERE}/{team_id}")
    return organization_page(
        "team.html",
        request,
        own,
        here=HERE,
        team=team,
        administers=is_administrator(own.role),
        members=members[(query.page - 1) * ROWS : query.page * ROWS],
        total=len(members),
        priorities=PRIORITIES,
        pager=query.pager(len(members), ROWS),
        event_types=await hosting.list_team_event_types(work, team),
        form=form,
        about=form.of(TeamForm).begin({"name": team.name, "slug": team.slug, "timezone": team.zone}),
        added=form.of(MemberAddForm),
        notice=_find_notice(request),
    )


@post("/organization/teams/{team_id}", shows=show_team, at=TAKEN)
async def save_team(request: Exchange, work: Work, user: User, team_id: UUID, form: Form[TeamForm]) -> Response:
    change, sent = await begin_team_change(request, work, user, team_id), form.get()
    changed = await change_team(work, change.team, name=sent.name, slug=sent.slug, zone=sent.timezone)
    before, after = _fields(change.team), _fields(changed)
    await change.log(ChangeAction.TEAM_CHANGED, changed.name, team_id, before=before, after=after)
    return redirect(f"{HERE}/{team_id}?done=saved")


@get("/organization/teams/{team_id}/delete")
async def ask_to_delete_team(request: Exchange, work: Work, user: User, team_id: UUID) -> Response:
    own = get_own_membership(request)
    _check_administers(request)
    team = await get_managed(request, work, user, team_id)
    upcoming, declined = await team_leavers.count_upcoming(work, team)
    return organization_page(
        "delete_team.html", request, own, here=HERE, team=team, upcoming=upcoming, declined=declined
    )


@post("/organization/teams/{team_id}/delete")
async def delete_team(request: Exchange, work: Work, user: User, team_id: UUID) -> Response:
    _check_administers(request)
    change = await begin_team_change(request, work, user, team_id, hosts=())
    cancelled = await team_leavers.delete_team(work, change.team)
    after = {"cancelled_bookings": len(cancelled)}
    await change.log(ChangeAction.TEAM_DELETED, change.team.name, team_id, before=_fields(change.team), after=after)
    return redirect(f"{HERE}?done=deleted&cancelled={len(cancelled)}")


def _check_administers(request: Exchange) -> None:
    if not is_administrator(get_own_membership(request).role):
        raise TeamNotFound


def _fields(team: Team) -> Fields:
    return {"name": team.name, "slug": team.slug, "timezone": team.zone}


def _find_notice(request: Request) -> Text | None:
    """Return what the address says was done, with how many bookings were cancelled."""
    done, text = request.query.get("done", ""), request.query.get("cancelled", "0")
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0
    said = NOTICES.get(done)
    if said is None or not count:
        return said
    cancelled = PluralText("%(count)s booking was cancelled.", "%(count)s bookings were cancelled.", count=count)
    return Text("%(what)s %(cancelled)s", what=said, cancelled=cancelled)
