"""The verbs of a team's event types: who owns them, of which groups they pick hosts, and by which rules."""

from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.core.errors import Invalid, require
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.errors import EventTypeNotFound
from openslot.event_types.models import EventType
from openslot.schedules import operations as schedules
from openslot.teams import errors, store
from openslot.teams.events import EventTypeTakenOver
from openslot.teams.models import GroupMember, GroupWanted, HostGroup, HostWanted, Team, TeamRules
from openslot.teams.operations import NOT_IN_ORGANIZATION
from openslot.teams.rules import check_groups, check_rules


async def add_team_event_type(
    work: Work, team: Team, owner: User, wanted: EventType, *, groups: Sequence[GroupWanted], rules: TeamRules
) -> EventType:
    """Add an event type that members of a team host; its owner is a member of the organization and need not host."""
    await _check_owner(work, team, owner)
    await _check(work, team, groups, rules)
    schedule, *_ = await schedules.list_schedules(work, owner)
    made = await event_types.add_event_type(work, schedule, replace(wanted, team_id=team.id))
    await store.insert_rules(work.db, replace(rules, event_type_id=made.id))
    for position, group in enumerate(groups):
        await store.insert_group(work.db, made.id, position, group)
    return made


async def get_team_event_type(work: Work, team: Team, event_type_id: UUID) -> EventType:
    try:
        found = await event_types.get_any_event_type(work, event_type_id)
    except EventTypeNotFound:
        raise errors.TeamEventTypeNotFound from None
    if found.team_id != team.id:
        raise errors.TeamEventTypeNotFound
    return found


async def list_team_event_types(work: Work, team: Team) -> list[EventType]:
    """List the event types of a team by slug."""
    return await event_types.list_of_team(work, team.id)


async def get_rules(work: Work, event_type_id: UUID) -> TeamRules:
    return require(await store.find_rules(work.db, event_type_id), errors.TeamEventTypeNotFound)


async def list_groups(work: Work, event_type_id: UUID) -> list[HostGroup]:
    return await store.list_groups(work.db, event_type_id)


async def list_wanted_groups(work: Work, event_type_id: UUID) -> list[GroupWanted]:
    """List the groups of an event type as they were asked for, with who is listed in each."""
    listed: dict[UUID, list[HostWanted]] = {}
    for group_id, host in await store.list_listed(work.db, event_type_id):
        listed.setdefault(group_id, []).append(host)
    return [
        GroupWanted(pick=group.pick, filter=group.filter, hosts=tuple(listed.get(group.id, ())))
        for group in await store.list_groups(work.db, event_type_id)
    ]


async def list_group_members(work: Work, event_type_id: UUID) -> list[GroupMember]:
    """List who belongs to each group of an event type at this moment and can host."""
    return await store.list_group_members(work.db, event_type_id)


async def change_rules(work: Work, rules: TeamRules) -> None:
    check_rules(rules)
    await store.lock_event_type(work.db, rules.event_type_id)
    if not await store.update_rules(work.db, rules):
        raise errors.TeamEventTypeNotFound


async def change_groups(work: Work, team: Team, event_type_id: UUID, groups: Sequence[GroupWanted]) -> None:
    """Save the groups of an event type; a group keeps its place, and with it the credits of its members."""
    await store.lock_event_type(work.db, event_type_id)
    check_groups(groups, members=await store.list_member_ids(work.db, team.id))
    current = await store.list_groups(work.db, event_type_id)
    for position, wanted in enumerate(groups):
        if position >= len(current):
            await store.insert_group(work.db, event_type_id, position, wanted)
            continue
        group = current[position]
        await store.update_group(work.db, replace(group, pick=wanted.pick, filter=wanted.filter))
        await store.replace_listed(work.db, group.id, wanted.hosts)
    await store.delete_groups(work.db, event_type_id, beginning=len(groups))


async def take_over(work: Work, team: Team, event_type: EventType, owner: User) -> EventType:
    """Make a member of the organization the owner of an event type; its bookings follow by `people.take_over`."""
    await _check_owner(work, team, owner)
    schedule, *_ = await schedules.list_schedules(work, owner)
    taken = await event_types.change_owner(work, event_type, schedule)
    await work.record(EventTypeTakenOver(event_type_id=taken.id, team_id=team.id, owner_id=owner.id))
    return taken


async def _check_owner(work: Work, team: Team, owner: User) -> None:
    if not await store.list_organization_members(work.db, team.organization_id, [owner.id]):
        raise Invalid(details={"owner": NOT_IN_ORGANIZATION})


async def _check(work: Work, team: Team, groups: Sequence[GroupWanted], rules: TeamRules) -> None:
    check_rules(rules)
    check_groups(groups, members=await store.list_member_ids(work.db, team.id))
