"""The one place where somebody leaves a team, a team is deleted, or its event types get another owner."""

from uuid import UUID

from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.operations import get_user
from openslot.domains.bookings import handovers
from openslot.domains.bookings.models import LEFT, UNAVAILABLE
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import get_any_event_type, set_event_type_active
from openslot.domains.people.models import LeaverCounts
from openslot.domains.people.store import count_released_of_team
from openslot.domains.teams import hosting, store
from openslot.domains.teams.models import Team
from openslot.domains.teams.operations import (
    delete_emptied_team,
    get_team,
    get_team_member,
    list_teams,
    lock_team_for_change,
    remove_team_member,
)
from openslot.platform.core.work import Work, recorded_together


@recorded_together
async def leave_team(work: Work, team: Team, user: User) -> list[UUID]:
    """Remove somebody from a team: their upcoming bookings go to others or are cancelled and named."""
    await lock_team_for_change(work, team, [user.id])
    await get_team_member(work, team, user.id)
    reason = LEFT.fill(host=user.name, organization=team.name)
    released = await handovers.leave_teams(work, user, [team.id], reason=reason)
    await remove_team_member(work, team, user.id)
    return list(released.cancelled)


async def count_of_leaver(work: Work, team: Team, user_id: UUID) -> LeaverCounts:
    """Count what would be cancelled or declined if somebody left a team, and what others would take over."""
    return await count_released_of_team(work.db, team.id, user_id=user_id, now=work.now)


async def count_upcoming(work: Work, team: Team) -> tuple[int, int]:
    """Count the bookings that would be cancelled if a team was deleted, and the requests that would be declined."""
    found = await count_released_of_team(work.db, team.id, now=work.now)
    return found.cancelled + found.handed_over, found.declined + found.requests_handed_over


@recorded_together
async def stand_down(work: Work, organization: Organization, user: User) -> None:
    """Let others have what somebody owns and hosts for an organization's teams; they stay members of these."""
    await _release(work, organization, user)


async def leave_organization(work: Work, organization: Organization, user: User) -> list[UUID]:
    """Remove somebody who has left an organization from its teams, and name the bookings that are cancelled.

    What they own there gets another owner first, and what they host goes to others who are free.
    """
    cancelled = await _release(work, organization, user)
    for team in await store.list_teams_of_member(work.db, organization.id, user.id):
        await remove_team_member(work, team, user.id)
    return cancelled


async def _release(work: Work, organization: Organization, user: User) -> list[UUID]:
    await hand_over(work, organization.id, user)
    reason = LEFT.fill(host=user.name, organization=organization.name)
    every = [each.team.id for each in await list_teams(work, organization)]
    released = await handovers.leave_teams(work, user, every, reason=reason)
    return list(released.cancelled)


async def hand_over_everywhere(work: Work, user: User) -> None:
    """Let others take over all event types of teams that somebody owns whose account is closed."""
    for team in await store.list_teams_owned_in(work.db, user.id):
        await hand_over(work, team.organization_id, user)


async def hand_over(work: Work, organization_id: UUID, user: User) -> None:
    """Let a manager, or else an administrator, take over the event types of an organization's teams that a user owns.

    If there is nobody, they are archived.
    """
    for event_type_id, team_id in await store.list_owned(work.db, organization_id, user.id):
        event_type = await get_any_event_type(work, event_type_id)
        successor = await store.find_successor(work.db, team_id, leaver_id=user.id)
        if successor is None:
            await set_event_type_active(work, event_type, active=False)
            continue
        team = await get_team(work, organization_id, team_id)
        await take_over(work, team, event_type, await get_user(work, successor))


@recorded_together
async def take_over(work: Work, team: Team, event_type: EventType, owner: User) -> EventType:
    """Make a member of the organization the owner of an event type and of its upcoming bookings.

    Whoever books it at the same moment comes before or after.
    """
    await hosting.lock_hosting(work, event_type.id)
    current = await hosting.get_team_event_type(work, team, event_type.id)
    taken = await hosting.take_over(work, team, current, owner)
    await handovers.give_to_owner(work, event_type.id, owner)
    return taken


@recorded_together
async def delete_team(work: Work, team: Team) -> list[UUID]:
    """Delete a team: upcoming bookings of its event types are cancelled and named, and these are archived."""
    await lock_team_for_change(work, team)
    cancelled = []
    for event_type in await hosting.list_team_event_types(work, team):
        reason = UNAVAILABLE.fill(host=team.name)
        cancelled += await handovers.cancel_of_event_type(work, event_type.id, reason=reason)
        await set_event_type_active(work, event_type, active=False)
    await delete_emptied_team(work, team)
    return cancelled
