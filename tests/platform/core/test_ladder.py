"""Every transaction takes its locks in one order, which the tests' database watches."""

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from openslot.domains.accounts.organizations.store import lock_organization
from openslot.domains.accounts.store import give_back, lock_for_try, lock_host, lock_hosts
from openslot.domains.teams.store import lock_event_type
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime, Work
from tests.support.ladder import FALL
from tests.support.teams import HostedTeam, open_team


@pytest.fixture
async def team(runtime: Runtime) -> HostedTeam:
    """A team of two."""
    return await open_team(runtime, 2)


Locks = Callable[[Work, HostedTeam], Awaitable[None]]


async def lock_later_first(work: Work, team: HostedTeam) -> None:
    first, second = team.hosts
    await lock_host(work.db, second.id)
    await lock_host(work.db, first.id)


async def lock_host_first(work: Work, team: HostedTeam) -> None:
    await lock_host(work.db, team.hosts[0].id)
    await lock_event_type(work.db, team.event_type.id)


async def lock_organization_first(work: Work, team: HostedTeam) -> None:
    await lock_organization(work.db, team.organization.id)
    await lock_host(work.db, team.hosts[0].id)


async def join_a_lane_first(work: Work, team: HostedTeam) -> None:
    await work.db.execute("insert into lanes (lane, unfinished) values ('mail', 1)")
    await lock_event_type(work.db, team.event_type.id)


@pytest.mark.parametrize(
    "locks", [lock_later_first, lock_host_first, lock_organization_first, join_a_lane_first], ids=lambda it: it.__name__
)
async def test_a_step_down_is_an_error(runtime: Runtime, team: HostedTeam, locks: Locks) -> None:
    with pytest.raises(asyncpg.RaiseError, match=FALL):
        async with runtime.transaction(OPERATOR) as work:
            await work.db.execute("set local openslot.turns = 'refuse'")
            await locks(work, team)


async def test_lanes_that_others_may_hold_are_joined_by_rising_names(runtime: Runtime) -> None:
    join = "insert into lanes (lane, unfinished) values ($1, 1) on conflict (lane) do update set unfinished = 2"
    await runtime.pool.execute(join, "mail:a")
    await runtime.pool.execute(join, "mail:b")
    with pytest.raises(asyncpg.RaiseError, match=FALL):
        async with runtime.transaction(OPERATOR) as work:
            await work.db.execute(join, "mail:b")
            await work.db.execute(join, "mail:a")
    async with runtime.transaction(OPERATOR) as work:
        for lane in ("mail:a", "mail:b", "mail:c", "mail:a", "mail:aa"):
            await work.db.execute(join, lane)


async def test_a_lock_that_one_has_can_be_taken_again(runtime: Runtime, team: HostedTeam) -> None:
    async def act(work: Work) -> None:
        await lock_event_type(work.db, team.event_type.id)
        await lock_hosts(work.db, [each.id for each in team.hosts])
        await lock_organization(work.db, team.organization.id)
        await lock_host(work.db, team.hosts[0].id)
        await lock_event_type(work.db, team.event_type.id)

    await runtime.run(OPERATOR, act)


async def test_what_was_given_back_does_not_count(runtime: Runtime, team: HostedTeam) -> None:
    async def act(work: Work) -> None:
        first, second = team.hosts
        await lock_for_try(work.db, [second.no])
        await give_back(work.db)
        await lock_host(work.db, first.id)

    await runtime.run(OPERATOR, act)
