"""The verbs of teams and of who belongs to them."""

from collections.abc import Iterable, Sequence
from itertools import count
from uuid import UUID

import asyncpg
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import is_administrator
from openslot.domains.accounts.members.store import find_role
from openslot.domains.accounts.models import Organization
from openslot.domains.accounts.organizations.store import lock_organization
from openslot.domains.event_types.rules import suggest_slug
from openslot.domains.teams import errors, store
from openslot.domains.teams.events import TeamMemberAdded, TeamMemberRemoved
from openslot.domains.teams.ledger.operations import leave_groups
from openslot.domains.teams.models import Attributes, ListedTeam, ListedTeamMember, Team, TeamMember
from openslot.domains.teams.rules import RESERVED, check_member, check_team
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.folding import find_each
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

NOT_IN_ORGANIZATION = Text("is not a member of the organization")


class TeamManagement(Struct, frozen=True, kw_only=True):
    """A team, and who decides about it; both stay as they are until the commit."""

    team: Team
    user_id: UUID
    is_administrator: bool
    """Whether they decide about the organization as well; otherwise they manage this team."""


async def begin_team_management(
    work: Work, organization_id: UUID, team_id: UUID, user_id: UUID, *, event_type_id: UUID | None = None
) -> TeamManagement:
    """Wait for other changes of an organization, then read a team; users who may not change it find nothing.

    With `event_type_id` the owner of this event type may as well. Locks of event types and hosts are taken before.
    """
    await lock_organization(work.db, organization_id)
    team = await get_team(work, organization_id, team_id)
    role = await find_role(work.db, organization_id, user_id)
    decides = role is not None and is_administrator(role)
    owned = [] if event_type_id is None else await store.list_owned(work.db, organization_id, user_id)
    owns = role is not None and (event_type_id, team_id) in owned
    if not decides and not owns and not await store.is_manager(work.db, team_id, user_id):
        raise errors.TeamNotFound
    return TeamManagement(team=team, user_id=user_id, is_administrator=decides)


async def add_team(
    work: Work,
    organization: Organization,
    *,
    name: str,
    slug: str | None = None,
    zone: str | None = None,
    external_id: str | None = None,
) -> Team:
    """Add a team. Without a slug it gets one from its name, without a time zone that of most members."""
    await lock_organization(work.db, organization.id)
    if slug is None:
        slug = await _find_free_slug(work, suggest_slug(name) or "team")
    if zone is None:
        zone = await store.find_common_zone(work.db, organization.id) or "UTC"
    name, slug, zone = check_team(name=name, slug=slug, zone=zone)
    team = Team(
        id=new_id(),
        organization_id=organization.id,
        name=name,
        slug=slug,
        zone=zone,
        external_id=external_id,
        created_at=work.now,
        updated_at=work.now,
    )
    try:
        async with work.attempt():
            await store.insert_team(work.db, team)
    except asyncpg.UniqueViolationError as fault:
        raise _taken(fault) from None
    return team


async def change_team(
    work: Work,
    team: Team,
    *,
    name: str | None = None,
    slug: str | None = None,
    zone: str | None = None,
    external_id: str | UnsetType | None = UNSET,
) -> Team:
    """Change what is given of a team; the slug stays when the name is changed."""
    name, slug, zone = check_team(name=name or team.name, slug=slug or team.slug, zone=zone or team.zone)
    changed = replace(team, name=name, slug=slug, zone=zone, updated_at=work.now)
    if external_id is not UNSET:
        changed = replace(changed, external_id=external_id)
    try:
        async with work.attempt():
            version = await store.update_team(work.db, changed)
    except asyncpg.UniqueViolationError as fault:
        raise _taken(fault) from None
    return replace(changed, version=require(version, errors.TeamNotFound))


async def hold_team(work: Work, team: Team) -> None:
    """Hide a team from the identity provider that has deleted it, until it is created again."""
    await store.update_team(work.db, replace(team, external_id=None, held_at=work.now, updated_at=work.now))


async def resume_team(work: Work, organization: Organization, *, name: str, external_id: str | None) -> Team | None:
    """Give a team that is held back to a provider that creates it again; None if none has this name."""
    held = await store.find_held(work.db, organization.id, name)
    if held is not None:
        held = replace(held, name=name, external_id=external_id, held_at=None, updated_at=work.now)
        await store.update_team(work.db, held)
    return held


async def delete_emptied_team(work: Work, team: Team) -> None:
    """Delete a team whose event types are no longer offered: they stay with their owners."""
    if not await store.delete_team(work.db, team.id):
        raise errors.TeamNotFound


async def get_team(work: Work, organization_id: UUID, team_id: UUID) -> Team:
    return require(await store.find_team(work.db, organization_id, team_id), errors.TeamNotFound)


async def get_team_by_slug(work: Work, slug: str) -> Team:
    return require(await store.find_team_by_slug(work.db, slug), errors.TeamNotFound)


async def find_team_of(work: Work, event_type_id: UUID) -> Team | None:
    """Find the team of an event type."""
    return await store.find_team_of(work.db, event_type_id)


async def list_teams(work: Work, organization: Organization | None) -> list[ListedTeam]:
    """List the teams of an organization, or of all, by name."""
    return await store.list_teams(work.db, organization.id if organization else None)


async def list_own_teams(work: Work, organization_id: UUID, user_id: UUID) -> list[ListedTeam]:
    """List the teams of an organization in which somebody is, by name."""
    return await store.list_teams(work.db, organization_id, user_id=user_id)


async def list_teams_of_user(work: Work, user_id: UUID) -> list[Team]:
    return await store.list_teams_of_user(work.db, user_id)


async def add_team_member(
    work: Work,
    team: Team,
    user_id: UUID,
    *,
    weight: int = 100,
    priority: int = 2,
    is_manager: bool = False,
    attributes: Attributes | None = None,
) -> TeamMember:
    """Add a member of the organization to a team."""
    check_member(weight=weight, priority=priority, attributes=attributes or {})
    await lock_team_for_change(work, team, [user_id])
    if not await store.list_organization_members(work.db, team.organization_id, [user_id]):
        raise Invalid(details={"email": NOT_IN_ORGANIZATION})
    member = TeamMember(
        team_id=team.id,
        user_id=user_id,
        weight=weight,
        priority=priority,
        is_manager=is_manager,
        attributes=attributes or {},
        joined_at=work.now,
    )
    await _insert_member(work, team, member)
    await store.touch_team(work.db, team.id, now=work.now)
    return member


async def add_team_members(work: Work, team: Team, user_ids: Iterable[UUID]) -> None:
    """Add members of the organization to a team; who is in it already stays as they are."""
    current = await store.list_member_ids(work.db, team.id)
    new = [user_id for user_id in dict.fromkeys(user_ids) if user_id not in current]
    for user_id in new:
        await _insert_member(work, team, TeamMember(team_id=team.id, user_id=user_id, joined_at=work.now))
    if new:
        await store.touch_team(work.db, team.id, now=work.now)


async def change_team_member(work: Work, member: TeamMember) -> None:
    """Save the weight, priority and attributes of a member, and whether they manage the team."""
    check_member(weight=member.weight, priority=member.priority, attributes=member.attributes)
    await store.lock_event_types(work.db, member.team_id)
    if not await store.update_member(work.db, member):
        raise errors.TeamMemberNotFound
    await store.touch_team(work.db, member.team_id, now=work.now)


async def remove_team_member(work: Work, team: Team, user_id: UUID) -> None:
    """End somebody's place in a team; `people.leave_team` settles their bookings before."""
    if not await store.delete_member(work.db, team.id, user_id):
        raise errors.TeamMemberNotFound
    await store.unlist_member(work.db, team.id, user_id)
    await leave_groups(work, team.id, user_id)
    await store.touch_team(work.db, team.id, now=work.now)
    await work.record(TeamMemberRemoved(team_id=team.id, organization_id=team.organization_id, user_id=user_id))


async def get_team_member(work: Work, team: Team, user_id: UUID) -> TeamMember:
    return require(await store.find_member(work.db, team.id, user_id), errors.TeamMemberNotFound)


async def is_team_manager(work: Work, team: Team, user_id: UUID) -> bool:
    return await store.is_manager(work.db, team.id, user_id)


async def list_team_members(work: Work, team: Team) -> list[ListedTeamMember]:
    """List the members of a team by name."""
    return await store.list_members(work.db, team.id)


async def find_team_members(work: Work, team: Team, emails: Iterable[str]) -> dict[str, ListedTeamMember]:
    """Find members of a team by their addresses, as these were typed; others are left out."""
    return await find_each(work.db, emails, {each.email: each for each in await list_team_members(work, team)})


async def lock_hosts(work: Work, user_ids: Sequence[UUID]) -> None:
    """Wait for the locks of hosts who join a new team, in the order of all writers."""
    await store.lock_hosts(work.db, user_ids)


async def lock_team_for_change(work: Work, team: Team, user_ids: Sequence[UUID] = ()) -> None:
    """Wait for the locks of a team's event types, then of its members and of others, in the order of all writers."""
    await store.lock_event_types(work.db, team.id)
    await store.lock_teammates(work.db, team.id, user_ids)


async def _insert_member(work: Work, team: Team, member: TeamMember) -> None:
    try:
        async with work.attempt():
            await store.insert_member(work.db, member)
    except asyncpg.UniqueViolationError:
        raise errors.TeamMemberAlreadyExists from None
    except asyncpg.ForeignKeyViolationError:
        raise errors.TeamNotFound from None
    added = TeamMemberAdded(team_id=team.id, organization_id=team.organization_id, user_id=member.user_id)
    await work.record(added)


async def _find_free_slug(work: Work, wanted: str) -> str:
    taken = await store.list_slugs(work.db, beginning=wanted) | RESERVED
    numbered = (wanted if number == 1 else f"{wanted[:54]}-{number}" for number in count(1))
    return next(slug for slug in numbered if slug not in taken)


def _taken(fault: asyncpg.UniqueViolationError) -> Exception:
    is_slug = fault.constraint_name == "teams_slug"
    return errors.TeamSlugAlreadyExists() if is_slug else errors.TeamNameAlreadyExists()
