"""Every form of an organization's pages, with what must be there before it is sent."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.access import operations as access
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.members.operations import Administration
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.messaging.connections.operations import list_number_connections
from openslot.domains.payments.connections import operations as connecting
from openslot.domains.people import departures, store
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import GroupWanted, HostWanted, Team, TeamRules
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work
from tests.doors.web.organization.conftest import DOMAIN, Harbor
from tests.support.host import Book
from tests.support.messaging import insert_number
from tests.support.name_server import FakeResolver
from tests.support.passwords import PASSWORD
from tests.support.payments import insert_connection

# What each form sends, by its path.
FORMS: dict[str, dict[str, str]] = {
    "/organization/switch": {},
    "/organization/new": {"name": "Third Studio", "slug": "third-{unique}"},
    "/organization/members": {"email": "guest-{unique}@elsewhere.example", "name": "Guest", "role": "member"},
    "/organization/members/{member_id}/role": {"role": "admin", "confirmed": "yes"},
    "/organization/members/{member_id}/reinstate": {},
    "/organization/members/{member_id}/invitation": {},
    "/organization/members/{member_id}/withdraw": {},
    "/organization/members/{member_id}/remove": {},
    "/organization/members/{member_id}/suspend": {},
    "/organization/provisioning/tokens": {"name": "Okta", "expires": "90"},
    "/organization/provisioning/tokens/{token_id}/revoke": {},
    "/organization/provisioning/waiting/approve": {},
    "/organization/provisioning/waiting/reject": {},
    "/organization/provisioning/waiting/{user_id}/approve": {},
    "/organization/provisioning/waiting/{user_id}/reject": {},
    "/organization/domains": {"domain": "third-{unique}.example"},
    "/organization/domains/{domain}/check": {},
    "/organization/domains/{domain}/remove": {},
    # Nothing is asked for a key that is none.
    "/organization/payments": {"key": "not-a-key"},
    "/organization/payments/disconnect": {},
    "/organization/messages": {"number": "030", "provider_account": "AC0", "token": "0"},
    "/organization/messages/{connection_id}/token": {"token": "not-a-token"},
    "/organization/messages/{connection_id}/test": {"phone": "030"},
    "/organization/messages/{connection_id}/host": {"host": ""},
    "/organization/messages/{connection_id}/countries": {"countries": "DE, FR"},
    "/organization/messages/{connection_id}/cancelling": {"can_cancel": "true"},
    "/organization/messages/{connection_id}/template": {"template": ""},
    "/organization/messages/{connection_id}/disconnect": {},
    "/organization/teams": {"name": "Sales {unique}", "slug": "", "timezone": "Berlin"},
    "/organization/teams/{team_id}": {"name": "Support {unique}", "slug": "s-{unique}", "timezone": "Berlin"},
    "/organization/teams/{team_id}/delete": {},
    "/organization/teams/{team_id}/members": {"email": "mara@harbor.example"},
    "/organization/teams/{team_id}/members/{teammate_id}": {"weight": "200", "priority": "3", "attributes": "a: b"},
    "/organization/teams/{team_id}/members/{teammate_id}/remove": {},
    "/organization/teams/{team_id}/event-types/{event_type_id}/hosts": {
        "groups.0.pick": "1",
        "groups.0.who": "all",
        "balance": "total",
        "window_days": "30",
        "picks_anew": "off",
    },
    "/organization/teams/{team_id}/event-types/new": {
        "name": "Intro",
        "slug": "intro-{unique}",
        "duration": "30",
        "owner": "olga@harbor.example",
        "pick": "1",
        "balance": "share",
    },
    "/organization/settings/names": {"name": "Harbor & Sons", "slug": "harbor-sons"},
    "/organization/settings/brand": {"brand": "Harbor", "color": "#3155d9", "logo": ""},
    "/organization/settings/departures": {"keeps": "on", "share": "50"},
    "/organization/settings/assistants": {"assistants": "read"},
}
# What the owner types to delete the organization.
FORMS["/organization/delete"] = {"name": "Harbor", "password": PASSWORD}
SUSPENDED = {"/organization/members/{member_id}/reinstate"}
INVITED = {"/organization/members/{member_id}/invitation", "/organization/members/{member_id}/withdraw"}


class Stage(Struct, frozen=True, kw_only=True):
    """Everything that a form can be about."""

    harbor: Harbor
    active: UUID
    suspended: UUID
    invited: UUID
    held: UUID
    token: UUID
    domain: str
    number: UUID
    team: UUID
    teammate: UUID
    team_event_type: UUID

    def values(self, template: str) -> dict[str, str]:
        """Return what each value of a path is."""
        member = self.suspended if template in SUSPENDED else self.invited if template in INVITED else self.active
        return {
            "member_id": str(member),
            "user_id": str(self.held),
            "token_id": str(self.token),
            "domain": self.domain,
            "connection_id": str(self.number),
            "team_id": str(self.team),
            "teammate_id": str(self.teammate),
            "event_type_id": str(self.team_event_type),
        }

    def path(self, template: str) -> str:
        """Fill the values of a path in."""
        return template.format(**self.values(template))


async def set_stage(
    runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book, *, verified: str = DOMAIN
) -> Stage:
    """Make one of everything that can be decided about, for an organization with this domain."""
    unique = new_id().hex[-12:]
    domain = f"d{unique}.second.example"
    organization = harbor.organization
    administration = Administration(organization=organization, user_id=harbor.owner.id, role=Role.OWNER)
    async with runtime.transaction(OPERATOR) as work:
        made = {
            name: await people.invite_member(
                work, administration, email=f"{name}-{unique}@{verified}", name=name, role=Role.MEMBER
            )
            for name in ("active", "suspended", "held")
        }
        invited = await people.invite_member(
            work, administration, email=f"invited-{unique}@elsewhere.example", name="", role=Role.MEMBER
        )
        await work.db.execute("update invitations set created_at = created_at - $1::interval", timedelta(hours=1))
        for name in ("suspended", "held"):
            member = await members.get_member(work, organization.id, made[name].member.id)
            await departures.suspend_by_hand(work, administration, member)
            if name == "held":
                await store.insert_held(work.db, member, removed=False, now=work.now)
        _, token = await access.create_scim_token(work, organization, name="Okta at Harbor")
        claim = await organizations.add_domain(work, organization, domain, verified=False)
        if await connecting.find_payment_connection(work, organization) is None:
            await insert_connection(runtime, "rk_test_0123456789", organization_id=organization.id)
        numbers = await list_number_connections(work, organization)
        teammate = made["active"].member.user
    async with runtime.transaction(OPERATOR) as work:
        team, offer = await add_team(work, organization, [teammate], owner=harbor.owner)
    number = numbers[0] if numbers else await insert_number(runtime, organization_id=organization.id)
    resolver.records[f"_openslot.{domain}"] = [claim.proof]
    return Stage(
        harbor=harbor,
        active=made["active"].member.id,
        suspended=made["suspended"].member.id,
        invited=invited.member.id,
        held=made["held"].member.user.id,
        token=token.id,
        domain=domain,
        number=number.id,
        team=team.id,
        teammate=teammate.id,
        team_event_type=offer.id,
    )


async def add_team(
    work: Work, organization: Organization, hosts: Sequence[User], *, owner: User
) -> tuple[Team, EventType]:
    """Make a team with an event type that one of these people hosts."""
    unique = new_id().hex[-12:]
    team = await teams.add_team(work, organization, name=f"Team {unique}", zone="UTC")
    for host in hosts:
        await teams.add_team_member(work, team, host.id)
    schedule, *_ = await schedules.list_schedules(work, owner)
    draft = event_types.draft_event_type(work, schedule, name="Demo", slug=f"demo-{unique}", duration_minutes=30)
    group = GroupWanted(hosts=tuple(HostWanted(user_id=host.id) for host in hosts))
    rules = TeamRules(event_type_id=draft.id)
    return team, await hosting.add_team_event_type(work, team, owner, draft, groups=[group], rules=rules)


def fill(template: str) -> dict[str, str]:
    """Return what a form sends, with names that are new."""
    unique = new_id().hex[-12:]
    return {name: value.replace("{unique}", unique) for name, value in FORMS[template].items()}
