"""Who leaves an organization leaves its teams, and what they own there gets another owner first."""

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types import operations as event_types
from openslot.domains.people import departures, organization_deletions, team_leavers
from openslot.domains.people import operations as people
from openslot.domains.reminders.models import Audience, ReminderEntry
from openslot.domains.reminders.operations import get_reminders, set_reminder_entries
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.founding import FoundedTeam, add_event_type, found_team


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


async def appoint(runtime: Runtime, founded: FoundedTeam, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        place = await teams.get_team_member(work, founded.team, user.id)
        await teams.change_team_member(work, replace(place, is_manager=True))


async def remove(runtime: Runtime, founded: FoundedTeam, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, founded.organization, user)


async def list_emails(runtime: Runtime, founded: FoundedTeam) -> list[str]:
    return [each.email for each in await teams.list_team_members(runtime.work(OPERATOR), founded.team)]


async def test_who_leaves_the_organization_leaves_its_teams(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, third = founded.hosts
    made = await add_event_type(runtime, founded)

    await remove(runtime, founded, second)

    assert await list_emails(runtime, founded) == [first.email, third.email]
    async with runtime.transaction(OPERATOR) as work:
        await members.add_organization_member(work, founded.organization, second)
    assert await list_emails(runtime, founded) == [first.email, third.email]
    assert [each.user_id for each in await hosting.list_group_members(runtime.work(OPERATOR), made.id)] == [
        first.id,
        third.id,
    ]


async def test_a_manager_takes_over_before_an_administrator(runtime: Runtime, founded: FoundedTeam) -> None:
    _, second, third = founded.hosts
    made = await add_event_type(runtime, founded, owner=third)
    await appoint(runtime, founded, second)

    await remove(runtime, founded, third)

    taken = await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)
    assert (taken.owner_id, taken.active, taken.team_id) == (second.id, True, founded.team.id)
    assert await runtime.pool.fetchval("select count(*) from events where type = 'event_type.taken_over'") == 1


async def test_without_a_manager_an_owner_of_the_organization_takes_over(
    runtime: Runtime, founded: FoundedTeam
) -> None:
    first, second, _ = founded.hosts
    made = await add_event_type(runtime, founded, owner=second)

    await remove(runtime, founded, second)

    assert (await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)).owner_id == first.id


async def test_a_manager_who_is_closed_does_not_take_over(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, third = founded.hosts
    made = await add_event_type(runtime, founded, owner=third)
    await appoint(runtime, founded, second)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, second)

    await remove(runtime, founded, third)

    assert (await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)).owner_id == first.id


async def test_an_event_type_that_nobody_can_take_over_is_archived(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, _ = founded.hosts
    made = await add_event_type(runtime, founded, owner=second)
    async with runtime.transaction(OPERATOR) as work:
        member = await members.get_member_by_user(work, founded.organization, first)
        await members.set_member_role(work, member, Role.MEMBER)

    await remove(runtime, founded, second)

    assert not (await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)).active


@pytest.mark.parametrize("way", ["suspended", "suspended with an open account", "disabled"])
async def test_who_is_suspended_stays_in_the_team_and_loses_what_they_own(
    runtime: Runtime, founded: FoundedTeam, way: str
) -> None:
    first, second, third = founded.hosts
    made = await add_event_type(runtime, founded, owner=second)

    async with runtime.transaction(OPERATOR) as work:
        if way == "disabled":
            await people.disable_user(work, second)
        else:
            if way == "suspended with an open account":
                other = await organizations.add_organization(work, name="Beacon", slug="beacon", plan=Plan.BUSINESS)
                domain = second.email.partition("@")[2]
                await organizations.add_domain(work, other, domain, verified=True)
            member = await members.get_member_by_user(work, founded.organization, second)
            await departures.suspend(work, founded.organization, member, is_leaving=True)

    work = runtime.work(OPERATOR)
    is_open = await runtime.pool.fetchval("select disabled_at is null from users where id = $1", second.id)
    assert is_open is (way == "suspended with an open account")
    assert (await event_types.get_any_event_type(work, made.id)).owner_id == first.id
    assert second.email in await list_emails(runtime, founded)
    assert [each.user_id for each in await hosting.list_group_members(work, made.id)] == [first.id, third.id]


async def test_a_held_departure_keeps_the_place_until_it_is_approved(runtime: Runtime) -> None:
    founded = await found_team(runtime, hosts=12)
    made = await add_event_type(runtime, founded, owner=founded.hosts[11])
    for user in founded.hosts[1:]:
        async with runtime.transaction(OPERATOR) as work:
            member = await members.get_member_by_user(work, founded.organization, user)
            await departures.remove(work, founded.organization, member)
    held = await departures.list_held(runtime.work(OPERATOR), founded.organization)
    assert held[-1].user_id == founded.hosts[11].id
    assert (await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)).owner_id == founded.hosts[11].id

    async with runtime.transaction(OPERATOR) as work:
        await departures.reject(work, founded.organization, held[0])
    async with runtime.transaction(OPERATOR) as work:
        await departures.approve(work, founded.organization, held[-1])

    brought_back = next(user for user in founded.hosts if user.id == held[0].user_id)
    assert await list_emails(runtime, founded) == [founded.hosts[0].email, brought_back.email]
    taken = await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)
    assert taken.owner_id == founded.hosts[0].id


async def test_a_deleted_team_leaves_archived_event_types(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded)
    async with runtime.transaction(OPERATOR) as work:
        await team_leavers.delete_team(work, founded.team)

    left = await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)
    assert (left.active, left.team_id, left.owner_id) == (False, None, founded.hosts[0].id)


async def test_the_teams_of_a_deleted_organization_are_gone(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded)
    async with runtime.transaction(OPERATOR) as work:
        await organization_deletions.delete_as_operator(work, founded.organization)

    assert await runtime.pool.fetchval("select count(*) from teams") == 0
    assert not (await event_types.get_any_event_type(runtime.work(OPERATOR), made.id)).active


async def test_the_reminders_of_an_event_type_stay_with_it_when_it_is_taken_over(
    runtime: Runtime, founded: FoundedTeam
) -> None:
    first, second, third = founded.hosts
    chosen, plain = (
        await add_event_type(runtime, founded, owner=third),
        await add_event_type(runtime, founded, owner=third, slug="plain"),
    )
    hour, day = (ReminderEntry(minutes=60, to=Audience.BOTH),), (ReminderEntry(minutes=1440, to=Audience.BOTH),)
    async with runtime.transaction(OPERATOR) as work:
        await set_reminder_entries(work, third, chosen, hour)
        await set_reminder_entries(work, second, None, day)
        # What somebody had left behind at an earlier time does not come back.
        await set_reminder_entries(work, second, chosen, day)
    await appoint(runtime, founded, second)

    await remove(runtime, founded, third)
    async with runtime.transaction(OPERATOR) as work:
        await work.db.execute("delete from users where id = $1", third.id)

    work = runtime.work(OPERATOR)
    assert await get_reminders(work, second.id, chosen.id) == hour
    # One without a choice of its own has that of the new owner.
    assert await get_reminders(work, second.id, plain.id) == day
    assert await get_reminders(work, first.id, chosen.id) != hour
