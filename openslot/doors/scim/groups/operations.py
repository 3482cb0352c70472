"""The verbs of SCIM groups, which are the teams of an organization: who is put into one can be booked with it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import structlog
from msgspec import Struct

from openslot.domains.accounts.operations import get_user
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.people import departures, team_leavers
from openslot.domains.teams.errors import TeamNameAlreadyExists, TeamNotFound
from openslot.domains.teams.models import Team
from openslot.domains.teams.operations import (
    add_team,
    add_team_members,
    change_team,
    get_team,
    hold_team,
    lock_hosts,
    lock_team_for_change,
    resume_team,
)
from openslot.doors.scim import operations, resources
from openslot.doors.scim.attributes import MAX_RESULTS
from openslot.doors.scim.errors import InvalidFilter, InvalidValue, NotUnique, VersionMismatch
from openslot.doors.scim.filters import parse_filter
from openslot.doors.scim.groups import store
from openslot.doors.scim.groups.resources import GroupState, patch_group, read_group
from openslot.platform.core.db import Row
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work

log = structlog.get_logger()

GroupChange = Callable[[GroupState], GroupState]


async def get_group(work: Work, group_id: UUID, *, with_members: bool = True) -> Row:
    row = await store.find_shown(work.db, _organization_id(work), group_id, with_members=with_members)
    if row is None:
        raise TeamNotFound
    return row


async def list_groups(
    work: Work, *, filter_: str | None, start: int, count: int, with_members: bool
) -> tuple[list[Row], int]:
    """Read groups in the order in which they were made, and how many there are."""
    condition = store.GroupCondition(parse_filter(filter_)) if filter_ is not None else None
    return await store.list_shown(
        work.db,
        _organization_id(work),
        condition,
        with_members=with_members,
        limit=min(max(count, 0), MAX_RESULTS),
        offset=max(start, 1) - 1,
    )


class ChangedGroup(Struct, frozen=True, kw_only=True):
    row: Row
    kept: int
    """How many bookings are still hosted by users who were removed, because too many were at once."""


class FoundResources(Struct, frozen=True, kw_only=True):
    users: list[Row]
    groups: list[Row]
    total: int


async def search_all(work: Work, *, filter_: str | None, start: int, count: int) -> FoundResources:
    """Read users and after them groups that a filter finds; what one of them does not have finds none of these."""
    limit, offset = min(max(count, 0), MAX_RESULTS), max(start, 1) - 1
    refusals: list[InvalidFilter] = []
    users: list[Row] = []
    rows: list[Row] = []
    of_users = of_groups = 0
    try:
        users, of_users = await operations.list_users(work, filter_=filter_, start=start, count=limit)
    except InvalidFilter as refusal:
        refusals.append(refusal)
    try:
        rows, of_groups = await list_groups(
            work,
            filter_=filter_,
            start=max(offset - of_users, 0) + 1,
            count=limit - len(users),
            with_members=True,
        )
    except InvalidFilter as refusal:
        refusals.append(refusal)
    if len(refusals) > 1:
        raise refusals[0]
    return FoundResources(users=users, groups=rows, total=of_users + of_groups)


async def create_group(work: Work, body: Mapping[str, Any]) -> Row:
    """Add a team with these members of the organization."""
    wanted = read_group(body)
    organization = await get_organization_by_id(work, _organization_id(work))
    users = await _find_users(work, organization.id, wanted.members or ())
    # The locks of hosts come before that of the organization.
    await lock_hosts(work, users)
    users = await _find_users(work, organization.id, wanted.members or ())
    try:
        # What was deleted by mistake, and is created again, is what it was.
        team = await resume_team(
            work, organization, name=wanted.name, external_id=wanted.external_id
        ) or await add_team(work, organization, name=wanted.name, external_id=wanted.external_id)
    except TeamNameAlreadyExists:
        raise NotUnique("Another group of this organization has this displayName") from None
    except Invalid as refusal:
        raise _explain(refusal) from None
    await add_team_members(work, team, users)
    return await get_group(work, team.id)


async def replace_group(work: Work, group_id: UUID, body: Mapping[str, Any], *, if_match: str | None) -> ChangedGroup:
    """Make a group what the provider says; without `members` they are left as they are."""
    wanted = read_group(body)
    return await _change(work, group_id, lambda _: wanted, if_match=if_match)


async def change_group(work: Work, group_id: UUID, body: Mapping[str, Any], *, if_match: str | None) -> ChangedGroup:
    """Apply a provider's changes to a group, all of them or none."""
    return await _change(work, group_id, lambda current: patch_group(current, body), if_match=if_match)


async def remove_group(work: Work, group_id: UUID, *, if_match: str | None) -> int:
    """Delete a team, and archive its event types; return how many bookings keep it.

    As long as something is booked, the team is emptied and held, so that a mistake of the provider cancels nothing.
    """
    team = await get_team(work, _organization_id(work), group_id)
    await lock_team_for_change(work, team)
    await _check_version(work, team, if_match)
    kept = sum(await team_leavers.count_upcoming(work, team))
    if not kept:
        await team_leavers.delete_team(work, team)
        return 0
    await _set_members(work, team, ())
    await hold_team(work, team)
    log.warning("deletion of a team held", team=team.slug, kept=kept)
    return kept


async def _change(work: Work, group_id: UUID, change: GroupChange, *, if_match: str | None) -> ChangedGroup:
    team = await get_team(work, _organization_id(work), group_id)
    # What the change says of members must be known before their locks are taken, and is read again afterwards.
    foreseen = change(await _describe(work, team))
    await lock_team_for_change(work, team, await _find_users(work, team.organization_id, foreseen.members or ()))
    await _check_version(work, team, if_match)
    team = await get_team(work, team.organization_id, team.id)
    wanted = change(await _describe(work, team))
    await _rename(work, team, wanted)
    kept = 0 if wanted.members is None else await _set_members(work, team, wanted.members)
    return ChangedGroup(row=await get_group(work, team.id), kept=kept)


async def _rename(work: Work, team: Team, wanted: GroupState) -> None:
    if (wanted.name, wanted.external_id) == (team.name, team.external_id):
        return
    try:
        await change_team(work, team, name=wanted.name, external_id=wanted.external_id)
    except TeamNameAlreadyExists:
        raise NotUnique("Another group of this organization has this displayName") from None
    except Invalid as refusal:
        raise _explain(refusal) from None


async def _set_members(work: Work, team: Team, wanted: Sequence[str]) -> int:
    """Let these users be in a team and no others; who is no longer in it gives their bookings away, or keeps some."""
    current = await store.list_members(work.db, team.id)
    new = [member_id for member_id in wanted if member_id not in current]
    await add_team_members(work, team, await _find_users(work, team.organization_id, new))
    leavers = [
        await get_user(work, user_id) for member_id, user_id in sorted(current.items()) if member_id not in wanted
    ]
    if not leavers:
        return 0
    organization = await get_organization_by_id(work, team.organization_id)
    return await departures.leave_team(work, organization, team, leavers, staying=len(wanted))


async def _describe(work: Work, team: Team) -> GroupState:
    members = tuple(sorted(await store.list_members(work.db, team.id)))
    return GroupState(name=team.name, external_id=team.external_id, members=members)


async def _find_users(work: Work, organization_id: UUID, member_ids: Sequence[str]) -> list[UUID]:
    found = await store.list_users(work.db, organization_id, member_ids)
    for member_id in member_ids:
        if member_id not in found:
            raise InvalidValue(f"members: {member_id[:100]} is not a user of this organization")
    return [found[member_id] for member_id in member_ids]


async def _check_version(work: Work, team: Team, if_match: str | None) -> None:
    """Keep others from changing a team, and refuse if it is not the version that the provider knows."""
    if not await store.lock_team(work.db, team.organization_id, team.id):
        raise TeamNotFound
    version = (await get_team(work, team.organization_id, team.id)).version
    if if_match is not None and not resources.is_named(version, if_match):
        raise VersionMismatch


def _explain(refusal: Invalid) -> InvalidValue:
    faults = ", ".join(f"displayName {words}" for words in (refusal.details or {}).values())
    return InvalidValue(faults or refusal.message)


def _organization_id(work: Work) -> UUID:
    organization_id = work.actor.organization_id
    if organization_id is None:
        raise TeamNotFound
    return organization_id
