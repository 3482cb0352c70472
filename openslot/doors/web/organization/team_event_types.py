"""Page: a new event type of a team, with how many hosts it picks and of whom."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.event_types.errors import EventTypeSlugAlreadyExists
from openslot.domains.event_types.operations import draft_event_type
from openslot.domains.schedules.operations import list_schedules
from openslot.domains.teams import hosting
from openslot.domains.teams.models import Balance, GroupWanted, HostWanted, Team, TeamRules
from openslot.domains.teams.operations import list_team_members
from openslot.doors.http.doors import Exchange
from openslot.doors.http.forms import parse_fields
from openslot.doors.web.organization.hosting_forms import MAX_ROWS, read_hosts
from openslot.doors.web.organization.team_ledger import BALANCES
from openslot.doors.web.organization.teams import HERE, begin_team_change, get_managed
from openslot.doors.web.shared.organization import get_own_membership, organization_page
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE, ShortLine
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, WhenEmpty, get, post

# How the verb names the fields of the form, which has one group.
NAMES = {"durationMinutes": "duration", "groups.0.pick": "pick"}


class NewTeamEventTypeForm(Struct, frozen=True, kw_only=True):
    name: Annotated[ShortLine, WhenEmpty(Text("Enter a name"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=100), WhenEmpty(Text("Enter a short name"))]
    duration: Annotated[int, WhenEmpty(Text("Enter a number of minutes"))]
    owner: Annotated[ShortLine, WhenEmpty(Text("Enter an email address"))]
    pick: Annotated[int, WhenEmpty(Text("Enter a number of hosts"))]
    hosts: list[UUID] = []
    """The checked hosts; if there are neither these nor typed ones, everybody of the team hosts it."""
    typed_hosts: Annotated[str, Meta(max_length=50_000)] = ""
    """The typed hosts, in a large team that has no boxes to check."""
    balance: Balance = Balance.SHARE


@get("/organization/teams/{team_id}/event-types/new")
async def show_new_team_event_type(
    request: Exchange, work: Work, user: User, team_id: UUID, form: Form[NewTeamEventTypeForm] = Form()
) -> Response:
    team = await get_managed(request, work, user, team_id)
    members = await list_team_members(work, team)
    begins = {"duration": "30", "owner": user.email, "pick": "1", "balance": Balance.SHARE.value}
    return organization_page(
        "new_team_event_type.html",
        request,
        get_own_membership(request),
        here=HERE,
        team=team,
        members=members if len(members) <= MAX_ROWS else [],
        is_large=len(members) > MAX_ROWS,
        checked=parse_fields(request).get("hosts", ()) if request.method == "POST" else (),
        balances=BALANCES.items(),
        form=form.begin(begins),
    )


@post(
    "/organization/teams/{team_id}/event-types/new",
    shows=show_new_team_event_type,
    at={EventTypeSlugAlreadyExists: "slug"},
    names=NAMES,
)
async def create_team_event_type(
    request: Exchange, work: Work, user: User, team_id: UUID, form: Form[NewTeamEventTypeForm]
) -> Response:
    """Create an event type of which members of a team host each booking."""
    change, sent = await begin_team_change(request, work, user, team_id), form.get()
    owner = await hosting.get_owner(work, change.team, sent.owner)
    schedule, *_ = await list_schedules(work, owner)
    wanted = draft_event_type(
        work, schedule, name=sent.name.strip(), slug=sent.slug.strip(), duration_minutes=sent.duration
    )
    typed = await _read_typed(work, change.team, sent.typed_hosts)
    hosts = (*(HostWanted(user_id=each) for each in sent.hosts), *typed)
    group = GroupWanted(pick=sent.pick, hosts=hosts, filter=None if hosts else {})
    rules = TeamRules(event_type_id=wanted.id, balance=sent.balance)
    try:
        made = await hosting.add_team_event_type(work, change.team, owner, wanted, groups=[group], rules=rules)
    except Invalid as fault:
        details = fault.details or {}
        at = "typed_hosts" if sent.typed_hosts else "hosts"
        raise Invalid(
            details={at if name.startswith("groups.0.of") else name: text for name, text in details.items()}
        ) from None
    after = {"team": change.team.name, "slug": made.slug}
    await change.log(ChangeAction.TEAM_EVENT_TYPE_CREATED, made.name, made.id, after=after)
    return redirect(f"{HERE}/{team_id}/event-types/{made.id}/hosts?done=created")


async def _read_typed(work: Work, team: Team, text: str) -> list[HostWanted]:
    if not text.strip():
        return []
    try:
        return await read_hosts(work, team, text)
    except Invalid as fault:
        raise Invalid(details={"typed_hosts": (fault.details or {})["hosts"]}) from None
