"""Teams: their names, who belongs to them, and who decides about them."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.errors import OrganizationNotFound
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User
from openslot.domains.teams import errors
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import Team
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.founding import FoundedTeam, found_team


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


async def add(runtime: Runtime, founded: FoundedTeam, name: str, **more: str) -> Team:
    async with runtime.transaction(OPERATOR) as work:
        return await teams.add_team(work, founded.organization, name=name, **more)


async def list_members(runtime: Runtime, founded: FoundedTeam) -> set[UUID]:
    return {each.member.user_id for each in await teams.list_team_members(runtime.work(OPERATOR), founded.team)}


async def test_the_slug_comes_from_the_name_and_is_free(runtime: Runtime, founded: FoundedTeam) -> None:
    assert founded.team.slug == "sales"
    assert (await add(runtime, founded, "Sáles!")).slug == "sales-2"
    assert (await add(runtime, founded, "日本")).slug == "team"
    assert (await add(runtime, founded, "New")).slug == "new-2"


async def test_the_zone_is_that_of_most_members(runtime: Runtime) -> None:
    berlin = await found_team(runtime, zone="Europe/Berlin")

    assert (await add(runtime, berlin, "Support")).zone == "Europe/Berlin"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a" * 201}, "name"),
        ({"name": "A\nB"}, "name"),
        ({"name": "A", "slug": "a b"}, "slug"),
        ({"name": "A", "slug": "-a"}, "slug"),
        ({"name": "A", "slug": "new"}, "slug"),
        ({"name": "A", "slug": "a" * 61}, "slug"),
        ({"name": "A", "zone": "Mars/Olympus"}, "timezone"),
    ],
)
async def test_what_is_wrong_is_named_at_its_field(
    runtime: Runtime, founded: FoundedTeam, given: dict[str, str], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await add(runtime, founded, **given)

    assert list(refused.value.faults) == [field]


async def test_names_are_unique_in_the_organization_and_slugs_everywhere(
    runtime: Runtime, founded: FoundedTeam
) -> None:
    other = await found_team(runtime, slug="quay", name="Sales")

    assert other.team.slug == "sales-2"
    with pytest.raises(errors.TeamNameAlreadyExists):
        await add(runtime, founded, "SALES")
    with pytest.raises(errors.TeamSlugAlreadyExists):
        await add(runtime, founded, "Support", slug="Sales-2")


async def test_a_renamed_team_keeps_its_slug_and_has_a_new_version(runtime: Runtime, founded: FoundedTeam) -> None:
    async with runtime.transaction(OPERATOR) as work:
        current = await teams.get_team_by_slug(work, "SALES")
        renamed = await teams.change_team(work, current, name="Selling")
        found = await teams.get_team(work, founded.organization.id, founded.team.id)

    assert (found.name, found.slug, found.version) == ("Selling", "sales", current.version + 1)
    assert renamed == found


async def test_only_members_of_the_organization_join(runtime: Runtime, founded: FoundedTeam, user: User) -> None:
    with pytest.raises(Invalid) as refused:
        async with runtime.transaction(OPERATOR) as work:
            await teams.add_team_member(work, founded.team, user.id)

    assert refused.value.details == {"email": "is not a member of the organization"}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"weight": -1}, "weight"),
        ({"weight": 1001}, "weight"),
        ({"priority": 4}, "priority"),
        ({"attributes": {"a b": "c"}}, "attributes"),
        ({"attributes": {"language": ""}}, "attributes.language"),
        ({"attributes": {"language": "x\ny"}}, "attributes.language"),
        ({"attributes": {f"k{n}": "v" for n in range(51)}}, "attributes"),
    ],
)
async def test_weight_priority_and_attributes_have_bounds(
    runtime: Runtime, founded: FoundedTeam, given: dict[str, object], field: str
) -> None:
    member = await teams.get_team_member(runtime.work(OPERATOR), founded.team, founded.hosts[1].id)

    with pytest.raises(Invalid) as refused:
        async with runtime.transaction(OPERATOR) as work:
            await teams.change_team_member(work, replace(member, **given))

    assert list(refused.value.faults) == [field]


async def test_who_is_in_a_team_is_not_added_twice_and_can_be_removed(runtime: Runtime, founded: FoundedTeam) -> None:
    _, second, third = founded.hosts
    with pytest.raises(errors.TeamMemberAlreadyExists):
        async with runtime.transaction(OPERATOR) as work:
            await teams.add_team_member(work, founded.team, second.id)
    async with runtime.transaction(OPERATOR) as work:
        await teams.remove_team_member(work, founded.team, second.id)
        await teams.add_team_members(work, founded.team, [third.id])
    with pytest.raises(errors.TeamMemberNotFound):
        async with runtime.transaction(OPERATOR) as work:
            await teams.remove_team_member(work, founded.team, second.id)

    assert await list_members(runtime, founded) == {founded.hosts[0].id, third.id}


async def test_the_attributes_of_the_provider_lie_under_those_of_the_team(
    runtime: Runtime, founded: FoundedTeam
) -> None:
    user = founded.hosts[1]
    profile = {
        "title": "Engineer",
        "locale": "de-DE",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "Field"},
    }
    async with runtime.transaction(OPERATOR) as work:
        member = await members.get_member_by_user(work, founded.organization, user)
        await members.describe_member(work, member, profile=profile, said_active=True)
        place = await teams.get_team_member(work, founded.team, user.id)
        await teams.change_team_member(work, replace(place, attributes={"title": "Expert", "language": "de"}))

    (found,) = [
        each
        for each in await teams.list_team_members(runtime.work(OPERATOR), founded.team)
        if each.member.user_id == user.id
    ]
    assert found.attributes == {"title": "Expert", "locale": "de-DE", "department": "Field", "language": "de"}
    assert found.member.attributes == {"title": "Expert", "language": "de"}
    assert found.is_active


async def decide(runtime: Runtime, founded: FoundedTeam, user: User) -> teams.TeamManagement:
    async with runtime.transaction(OPERATOR) as work:
        return await teams.begin_team_management(work, founded.organization.id, founded.team.id, user.id)


async def test_administrators_and_managers_decide(runtime: Runtime, founded: FoundedTeam, user: User) -> None:
    owner, second, third = founded.hosts
    async with runtime.transaction(OPERATOR) as work:
        place = await teams.get_team_member(work, founded.team, second.id)
        await teams.change_team_member(work, replace(place, is_manager=True))

    assert (await decide(runtime, founded, owner)).is_administrator
    assert not (await decide(runtime, founded, second)).is_administrator
    for other in (third, user):
        with pytest.raises(errors.TeamNotFound):
            await decide(runtime, founded, other)


async def test_a_manager_who_is_suspended_decides_nothing(runtime: Runtime, founded: FoundedTeam) -> None:
    second = founded.hosts[1]
    async with runtime.transaction(OPERATOR) as work:
        place = await teams.get_team_member(work, founded.team, second.id)
        await teams.change_team_member(work, replace(place, is_manager=True))
        member = await members.get_member_by_user(work, founded.organization, second)
        await members.set_member_active(work, member, active=False)

    with pytest.raises(errors.TeamNotFound):
        await decide(runtime, founded, second)


async def test_a_team_of_another_organization_is_not_found(runtime: Runtime, founded: FoundedTeam) -> None:
    other = await found_team(runtime, slug="quay")
    refusals: list[type[Refusal]] = []
    for organization_id, team_id in ((other.organization.id, founded.team.id), (founded.organization.id, new_id())):
        with pytest.raises((errors.TeamNotFound, OrganizationNotFound)) as refused:
            await teams.get_team(runtime.work(OPERATOR), organization_id, team_id)
        refusals.append(refused.type)

    assert refusals == [errors.TeamNotFound] * 2


async def test_lists_count_members_and_event_types(runtime: Runtime, founded: FoundedTeam) -> None:
    await add(runtime, founded, "Empty")

    found = await teams.list_teams(runtime.work(OPERATOR), founded.organization)

    assert [(each.team.name, each.members, each.event_types) for each in found] == [("Empty", 0, 0), ("Sales", 3, 0)]
    assert [each.id for each in await teams.list_teams_of_user(runtime.work(OPERATOR), founded.hosts[2].id)] == [
        founded.team.id
    ]
