"""A team of an organization, with hosts who are its members and an event type that they host."""

from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Organization, Role, User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import GroupWanted, HostWanted, Team, TeamRules
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime


class FoundedTeam(Struct, frozen=True):
    organization: Organization
    team: Team
    hosts: tuple[User, ...]
    """The first of them owns the organization."""


async def found_team(
    runtime: Runtime, *, hosts: int = 3, name: str = "Sales", zone: str = "UTC", slug: str = "harbor"
) -> FoundedTeam:
    """Add an organization with members who are all in a team of it."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await organizations.add_organization(work, name=slug.title(), slug=slug, plan=Plan.BUSINESS)
        people_ = []
        for number in range(hosts):
            wanted = UserWanted(email=f"host{number}@{slug}.example", name=f"Host {number}", zone=zone)
            user = await people.welcome_user(work, wanted)
            role = Role.OWNER if number == 0 else Role.MEMBER
            await members.add_organization_member(work, organization, user, role=role)
            people_.append(user)
        team = await teams.add_team(work, organization, name=name, zone=zone)
        for user in people_:
            await teams.add_team_member(work, team, user.id)
    return FoundedTeam(organization, team, tuple(people_))


def pick_of(pick: int, hosts: Sequence[User]) -> GroupWanted:
    return GroupWanted(pick=pick, hosts=tuple(HostWanted(user_id=host.id) for host in hosts))


def no_rules(event_type_id: UUID | None = None) -> TeamRules:
    return TeamRules(event_type_id=event_type_id or new_id())


async def add_event_type(
    runtime: Runtime,
    founded: FoundedTeam,
    *groups: GroupWanted,
    rules: TeamRules | None = None,
    owner: User | None = None,
    slug: str = "demo",
    duration_minutes: int = 30,
) -> EventType:
    """Add an event type of the team: by default one of all its hosts is picked."""
    owner = owner or founded.hosts[0]
    async with runtime.transaction(OPERATOR) as work:
        schedule, *_ = await schedules.list_schedules(work, owner)
        wanted = event_types.draft_event_type(work, schedule, name="Demo", slug=slug, duration_minutes=duration_minutes)
        return await hosting.add_team_event_type(
            work,
            founded.team,
            owner,
            wanted,
            groups=groups or (pick_of(1, founded.hosts),),
            rules=rules or no_rules(),
        )
