"""The verbs of a team's event types: who owns them, of which groups they pick hosts, and by which rules."""

from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.members.store import find_role
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import find_user_by_email
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.models import EventType, Limits
from openslot.domains.event_types.operations import (
    add_event_type,
    change_event_type,
    change_event_type_owner,
    get_any_event_type,
    list_event_types_of_team,
)
from openslot.domains.event_types.rules import find_event_type_faults
from openslot.domains.schedules.operations import list_schedules
from openslot.domains.teams import errors, store
from openslot.domains.teams.events import EventTypeTakenOver
from openslot.domains.teams.models import GroupMember, GroupWanted, HostGroup, Team, TeamRules
from openslot.domains.teams.rules import find_group_faults, find_rules_faults
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

NOT_ACTIVE = Text("must be an active member of the organization")


async def get_owner(work: Work, team: Team, email: str) -> User:
    """Find the active member who is to own an event type; of anybody else nothing is told, not even an account."""
    owner = await find_user_by_email(work, email)
    if owner is None:
        raise Invalid(details={"owner": NOT_ACTIVE})
    await _check_owner(work, team, owner)
    return owner


async def add_team_event_type(
    work: Work, team: Team, owner: User, wanted: EventType, *, groups: Sequence[GroupWanted], rules: TeamRules
) -> EventType:
    """Add an event type that members of a team host; its owner is an active member of the organization."""
    await _check_owner(work, team, owner)
    await _check(work, team, groups, rules)
    schedule, *_ = await list_schedules(work, owner)
    made = await add_event_type(work, schedule, replace(wanted, team_id=team.id))
    await store.insert_rules(work.db, replace(rules, event_type_id=made.id))
    for position, group in enumerate(groups):
        await store.insert_group(work.db, made.id, position, group)
    return made


async def get_team_event_type(work: Work, team: Team, event_type_id: UUID) -> EventType:
    try:
        found = await get_any_event_type(work, event_type_id)
    except EventTypeNotFound:
        raise errors.TeamEventTypeNotFound from None
    if found.team_id != team.id:
        raise errors.TeamEventTypeNotFound
    return found


async def list_team_event_types(work: Work, team: Team) -> list[EventType]:
    """List the event types of a team by slug."""
    return await list_event_types_of_team(work, team.id)


async def list_public(work: Work, team: Team) -> list[EventType]:
    """List the event types that a team's page shows to everyone."""
    return [each for each in await list_team_event_types(work, team) if each.active and not each.is_private]


async def get_rules(work: Work, event_type_id: UUID) -> TeamRules:
    return require(await store.find_rules(work.db, event_type_id), errors.TeamEventTypeNotFound)


async def list_groups(work: Work, event_type_id: UUID) -> list[HostGroup]:
    return await store.list_groups(work.db, event_type_id)


async def get_hosting(work: Work, event_type_id: UUID) -> tuple[TeamRules, list[GroupWanted]]:
    """Read the rules of an event type, and its groups as they were asked for, with who is listed in each."""
    return require(await store.find_hosting(work.db, event_type_id), errors.TeamEventTypeNotFound)


async def list_group_members(work: Work, event_type_id: UUID) -> list[GroupMember]:
    """List who belongs to each group of an event type at this moment and can host."""
    return await store.list_group_members(work.db, event_type_id)


async def lock_hosting(work: Work, event_type_id: UUID) -> None:
    """Wait for others who change of whom an event type picks its hosts, or who book it."""
    await store.lock_event_type(work.db, event_type_id)


async def change_hosting(
    work: Work,
    team: Team,
    event_type_id: UUID,
    *,
    groups: Sequence[GroupWanted] | None = None,
    rules: TeamRules | None = None,
    limits: Limits | None = None,
) -> None:
    """Change what is given of how an event type gets its hosts, or refuse it with every fault.

    A group with an id keeps its credits wherever it stands; one without has the credits of the group at its position.
    """
    await lock_hosting(work, event_type_id)
    event_type = await get_team_event_type(work, team, event_type_id)
    changed = replace(event_type, limits=limits or event_type.limits)
    faults = {name: fault for name, fault in find_event_type_faults(changed).items() if name.startswith("limits.")}
    if groups is not None:
        faults |= find_group_faults(groups, members=await store.list_member_ids(work.db, team.id))
    if rules is not None:
        faults |= find_rules_faults(rules)
    if faults:
        raise Invalid(details=faults)
    if groups is not None:
        await _save_groups(work, event_type_id, groups)
    if rules is not None:
        await store.update_rules(work.db, replace(rules, event_type_id=event_type_id))
    if changed.limits != event_type.limits:
        await change_event_type(work, changed)


async def _save_groups(work: Work, event_type_id: UUID, groups: Sequence[GroupWanted]) -> None:
    current = await store.list_groups(work.db, event_type_id)
    by_id = {group.id: group for group in current}
    named = any(wanted.id in by_id for wanted in groups)
    kept = [by_id.get(wanted.id) if wanted.id else None for wanted in groups]
    if not named:
        kept = [current[index] if index < len(current) else None for index, _ in enumerate(groups)]
    await store.delete_groups(work.db, event_type_id, keeping=[group.id for group in kept if group])
    for position, (wanted, group) in enumerate(zip(groups, kept, strict=True)):
        if group is None:
            await store.insert_group(work.db, event_type_id, position, wanted)
            continue
        moved = replace(group, position=position, pick=wanted.pick, filter=wanted.filter)
        await store.update_group(work.db, moved)
        await store.replace_listed(work.db, group.id, wanted.hosts)


async def take_over(work: Work, team: Team, event_type: EventType, owner: User) -> EventType:
    """Make an active member the owner of an event type; its bookings follow by `people.take_over`."""
    await _check_owner(work, team, owner)
    schedule, *_ = await list_schedules(work, owner)
    taken = await change_event_type_owner(work, event_type, schedule)
    await work.record(EventTypeTakenOver(event_type_id=taken.id, team_id=team.id, owner_id=owner.id))
    return taken


async def _check_owner(work: Work, team: Team, owner: User) -> None:
    # Who is only invited has agreed to nothing: what they own would act in the account of a stranger.
    if await find_role(work.db, team.organization_id, owner.id) is None:
        raise Invalid(details={"owner": NOT_ACTIVE})


async def _check(work: Work, team: Team, groups: Sequence[GroupWanted], rules: TeamRules) -> None:
    members = await store.list_member_ids(work.db, team.id)
    faults = find_rules_faults(rules) | find_group_faults(groups, members=members)
    if faults:
        raise Invalid(details=faults)
