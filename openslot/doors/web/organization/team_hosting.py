"""Page: of whom a team's event type picks its hosts, and by which rules."""

from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.teams import hosting
from openslot.domains.teams.operations import list_team_members
from openslot.doors.http.doors import Exchange
from openslot.doors.web.organization import hosting_forms
from openslot.doors.web.organization.hosting_forms import HostingForm
from openslot.doors.web.organization.team_ledger import BALANCES
from openslot.doors.web.organization.teams import HERE, PRIORITIES, begin_hosting_change, get_hosted
from openslot.doors.web.shared.hosting import LABELS
from openslot.doors.web.shared.organization import get_own_membership, organization_page
from openslot.doors.web.shared.pages import Notices, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, get, post

NOTICES: Notices = {
    "created": Text("The event type was created. Check here who hosts it."),
    "saved": Text("Saved. It holds for bookings from now on."),
}


@get("/organization/teams/{team_id}/event-types/{event_type_id}/hosts")
async def show_hosting(
    *,
    request: Exchange,
    work: Work,
    user: User,
    team_id: UUID,
    event_type_id: UUID,
    form: Form[HostingForm] = Form(),
) -> Response:
    hosted = await get_hosted(request, work, user, team_id, event_type_id)
    members = await list_team_members(work, hosted.team)
    rules, groups = await hosting.get_hosting(work, event_type_id)
    shown = form.begin(hosting_forms.write_form(groups, rules, hosted.event_type.limits, members))
    count = hosting_forms.count_groups(shown.values)
    return organization_page(
        "team_hosting.html",
        request,
        get_own_membership(request),
        here=HERE,
        team=hosted.team,
        event_type=hosted.event_type,
        manages=hosted.manages,
        is_owner=hosted.event_type.owner_id == user.id,
        members=members if hosting_forms.has_room(len(members), count) else [],
        groups=range(count),
        priorities=PRIORITIES.items(),
        balances=BALANCES.items(),
        labels=LABELS,
        limits=hosting_forms.LIMITS,
        rules=hosting_forms.RULES,
        form=shown,
        notices=NOTICES,
    )


@post("/organization/teams/{team_id}/event-types/{event_type_id}/hosts", shows=show_hosting)
async def change_hosting(
    *, request: Exchange, work: Work, user: User, team_id: UUID, event_type_id: UUID, form: Form[HostingForm]
) -> Response:
    """Change of whom an event type picks its hosts, and by which rules."""
    change, sent = await begin_hosting_change(request, work, user, team_id, event_type_id), form.get()
    event_type = await hosting.get_team_event_type(work, change.team, event_type_id)
    members = await list_team_members(work, change.team)
    rules, groups = await hosting.get_hosting(work, event_type_id)
    before = hosting_forms.write_fields(groups, rules, event_type.limits, members)
    read = await hosting_forms.read_groups(work, change.team, sent)
    rules, limits = sent.read_rules(event_type_id), sent.read_limits(event_type.limits)
    try:
        await hosting.change_hosting(work, change.team, event_type_id, groups=read.wanted, rules=rules, limits=limits)
    except Invalid as fault:
        raise Invalid(details=read.place(fault.details or {})) from None
    after = hosting_forms.write_fields(read.wanted, rules, limits, members)
    await change.log(ChangeAction.TEAM_EVENT_TYPE_CHANGED, event_type.name, event_type_id, before=before, after=after)
    return redirect(f"{HERE}/{team_id}/event-types/{event_type_id}/hosts?done=saved")
