"""Somebody leaves while others hold locks that are needed for it: all come in one order, and none is a deadlock."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec import Struct

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.organizations.store import lock_organization
from openslot.domains.event_types import operations as event_types
from openslot.domains.people import deletions, departures, organization_deletions, team_leavers
from openslot.domains.people import operations as people
from openslot.domains.people import store as people_store
from openslot.domains.teams import operations as teams
from openslot.domains.teams.store import lock_event_type
from openslot.doors.scim import operations as scim
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.db import transaction
from openslot.platform.core.work import Runtime, Work
from tests.support.clocks import MONDAY, clock
from tests.support.locks import until_waiting
from tests.support.provisioning import harbor, organization
from tests.support.races import find_disorder
from tests.support.teams import HostedTeam, book_team, open_team

__all__ = ["clock", "harbor", "organization"]

TEN = MONDAY.replace(hour=10) + timedelta(days=2)


class Stage(Struct, frozen=True, kw_only=True):
    """A host with two bookings of a team and two of their own; the later ones were made first."""

    runtime: Runtime
    team: HostedTeam

    @property
    def leaver(self) -> User:
        return self.team.hosts[0]


@pytest.fixture
async def stage(runtime: Runtime) -> Stage:
    team = await open_team(runtime, 2, groups=[(1, [0])])
    own_id = await runtime.pool.fetchval(
        "select id from event_types where owner_id = $1 and team_id is null", team.hosts[0].id
    )
    own = await event_types.get_any_event_type(runtime.work(OPERATOR), own_id)
    for days in (2, 1):
        await book_team(runtime, team.event_type, TEN + timedelta(days=days))
        await book_team(runtime, own, TEN + timedelta(days=days, hours=2))
    await runtime.pool.execute(
        """insert into host_group_members (group_id, user_id, listed)
        select id, $2, true from host_groups where event_type_id = $1""",
        team.event_type.id,
        team.hosts[1].id,
    )
    return Stage(runtime=runtime, team=team)


Act = Callable[[Work, Stage], Awaitable[object]]


async def remove(work: Work, at: Stage) -> None:
    await people.remove_member(work, at.team.organization, at.leaver)


async def suspend(work: Work, at: Stage) -> None:
    await people.suspend_member(work, at.team.organization, at.leaver, keeps_bookings=False)


async def suspend_for_provider(work: Work, at: Stage) -> None:
    member = await members.get_member_by_user(work, at.team.organization, at.leaver)
    await departures.suspend(work, at.team.organization, member, is_leaving=True)


async def disable(work: Work, at: Stage) -> None:
    await people.disable_user(work, at.leaver)


async def delete(work: Work, at: Stage) -> None:
    """Delete an account that no organization manages, and cancel some of its bookings as the worker does later."""
    await work.db.execute("delete from memberships where user_id = $1", at.leaver.id)
    await deletions.delete_account(work, at.leaver)
    (deletion,) = await people_store.list_under_way(work.db, limit=1)
    await deletions.STEPS[deletion.state](work, deletion, at.leaver)


async def leave_team(work: Work, at: Stage) -> None:
    await team_leavers.leave_team(work, await teams.get_team(work, at.team.organization.id, at.team.id), at.leaver)


async def leave_group(work: Work, at: Stage) -> None:
    """Leave a team that an identity provider has emptied, with another host."""
    team = await teams.get_team(work, at.team.organization.id, at.team.id)
    await teams.lock_team_for_change(work, team)
    await departures.leave_team(work, at.team.organization, team, [*at.team.hosts], staying=1)


async def delete_team(work: Work, at: Stage) -> None:
    await team_leavers.delete_team(work, await teams.get_team(work, at.team.organization.id, at.team.id))


async def delete_organization(work: Work, at: Stage) -> None:
    await organization_deletions.delete_as_operator(work, at.team.organization)


LEAVING = (
    *(remove, suspend, suspend_for_provider, disable, delete),
    *(leave_team, leave_group, delete_team, delete_organization),
)


@pytest.mark.parametrize("leave", LEAVING, ids=lambda each: each.__name__)
async def test_who_leaves_and_a_workers_batch_take_the_lanes_of_bookings_in_one_order(
    runtime: Runtime, stage: Stage, leave: Act
) -> None:
    lanes = [row["lane"] for row in await runtime.pool.fetch("select lane from lanes order by lane")]

    async def act(work: Work) -> None:
        await leave(work, stage)

    for first, _ in enumerate(lanes):
        await meet(runtime, lanes[first:], act)
    await runtime.run(OPERATOR, act)

    assert await find_disorder(runtime.pool) == {}
    kinds = await runtime.pool.fetch("select distinct type from events where type like 'booking.%'")
    assert {row["type"] for row in kinds} & {"booking.cancelled", "booking.reassigned"}


async def meet(runtime: Runtime, lanes: list[str], leave: Callable[[Work], Awaitable[object]]) -> None:
    """Try to leave while a worker finishes what it has done in some lanes, the first of which it has locked already."""

    async def go() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await leave(work)
            work.rolls_back = True

    statement = "select from lanes where lane = any($1) order by lane for update"
    async with transaction(runtime.pool) as worker:
        await worker.execute(statement, lanes[:1])
        going = asyncio.create_task(go())
        waiting = asyncio.create_task(until_waiting(runtime, 1))
        await asyncio.wait({going, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await worker.execute(statement, lanes)
    await going


async def test_a_provider_that_creates_somebody_as_inactive_takes_the_locks_of_teams_first(
    runtime: Runtime, stage: Stage, organization: Organization
) -> None:
    provider = Actor(kind=ActorKind.SCIM, organization_id=organization.id)
    body = {"userName": stage.leaver.email, "active": False}

    async def create() -> None:
        async with runtime.transaction(provider) as work:
            await scim.create_user(work, body)

    async with runtime.transaction(OPERATOR) as work:
        await lock_event_type(work.db, stage.team.event_type.id)
        creating = asyncio.create_task(create())
        await until_waiting(runtime, 1)
        await lock_organization(work.db, organization.id)
    await creating
