"""Event types of teams: of which groups hosts are picked, and who owns them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Organization, User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.errors import EventTypeSlugAlreadyExists
from openslot.domains.event_types.models import EventType, Limits, Location, Money
from openslot.domains.event_types.rules import edition_of
from openslot.domains.schedules import operations as schedules
from openslot.domains.teams import errors, hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import Balance, GroupWanted, HostWanted, TeamRules
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work
from openslot.runtime import open_runtime
from tests.support.fake_conferences import BY_JITSI, BY_SLOW, SlowConference, install
from tests.support.founding import FoundedTeam, add_event_type, found_team, no_rules, pick_of

Belonging = Callable[[Work, Organization, User], Awaitable[None]]


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


async def list_hosts(runtime: Runtime, event_type: EventType) -> list[str]:
    return [each.email for each in await hosting.list_group_members(runtime.work(OPERATOR), event_type.id)]


async def describe(runtime: Runtime, founded: FoundedTeam, user: User, **attributes: str) -> None:
    async with runtime.transaction(OPERATOR) as work:
        place = await teams.get_team_member(work, founded.team, user.id)
        await teams.change_team_member(work, replace(place, attributes=attributes))


async def test_an_event_type_of_a_team_has_groups_and_rules(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, third = founded.hosts
    pool = GroupWanted(
        pick=1, hosts=(HostWanted(user_id=second.id, weight=7, priority=3), HostWanted(user_id=third.id))
    )
    rules = TeamRules(event_type_id=new_id(), balance=Balance.TOTAL, max_lead=3, host_per_day=2)

    made = await add_event_type(runtime, founded, pick_of(1, [first]), pool, rules=rules)

    work = runtime.work(OPERATOR)
    assert (await event_types.get_any_event_type(work, made.id)).team_id == founded.team.id
    assert await hosting.get_rules(work, made.id) == replace(rules, event_type_id=made.id)
    _, groups = await hosting.get_hosting(work, made.id)
    assert [replace(each, id=None) for each in groups] == [pick_of(1, [first]), pool]
    assert [each.id for each in await hosting.list_team_event_types(work, founded.team)] == [made.id]
    found = await hosting.list_group_members(work, made.id)
    assert [(each.user_id, each.host_no, each.weight, each.priority, each.credit) for each in found] == [
        (first.id, first.no, 100, 2, 0),
        (second.id, second.no, 7, 3, 0),
        (third.id, third.no, 100, 2, 0),
    ]


GROUPS: list[tuple[Callable[[FoundedTeam], tuple[GroupWanted, ...]], str]] = [
    (lambda f: (pick_of(0, f.hosts),), "groups.0.pick"),
    (lambda f: (pick_of(4, f.hosts),), "groups.0.pick"),
    (lambda f: (pick_of(1, f.hosts), pick_of(1, [])), "groups.1.of"),
    (lambda f: (pick_of(1, [f.hosts[0], f.hosts[0]]),), "groups.0.of"),
    (lambda f: (GroupWanted(hosts=(HostWanted(user_id=f.organization.id),)),), "groups.0.of.0"),
    (lambda f: (GroupWanted(hosts=(HostWanted(user_id=f.hosts[0].id, weight=1001),)),), "groups.0.of.0.weight"),
    (lambda f: (GroupWanted(hosts=(HostWanted(user_id=f.hosts[0].id, priority=-1),)),), "groups.0.of.0.priority"),
    (lambda f: (GroupWanted(filter={}, hosts=(HostWanted(user_id=f.hosts[0].id),)),), "groups.0.of"),
    (lambda f: (GroupWanted(filter={"language": ()}),), "groups.0.filter.language"),
    (lambda f: (GroupWanted(filter={"": ("de",)}),), "groups.0.filter"),
    (lambda f: (pick_of(1, f.hosts),) * 21, "groups"),
]


@pytest.mark.parametrize(("make", "field"), GROUPS)
async def test_groups_that_pick_nobody_are_refused(
    runtime: Runtime, founded: FoundedTeam, make: Callable[[FoundedTeam], tuple[GroupWanted, ...]], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await add_event_type(runtime, founded, *make(founded))

    assert list(refused.value.faults) == [field]
    assert await hosting.list_team_event_types(runtime.work(OPERATOR), founded.team) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"max_lead": 3}, "maxLead"),
        ({"window_days": 0}, "windowDays"),
        ({"host_per_day": 0}, "hostPerDay"),
        ({"host_total_per_week": 1001}, "hostTotalPerWeek"),
    ],
)
async def test_rules_have_bounds(runtime: Runtime, founded: FoundedTeam, given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await add_event_type(runtime, founded, rules=replace(no_rules(), **given))

    assert list(refused.value.faults) == [field]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"price": Money(100, "EUR")}, "price"),
        ({"wait_list_minutes": 60}, "waitListMinutes"),
    ],
)
async def test_what_a_team_can_not_offer_yet_is_refused_at_its_field(
    runtime: Runtime, founded: FoundedTeam, given: dict[str, Any], field: str
) -> None:
    made = await add_event_type(runtime, founded)

    with pytest.raises(Invalid) as refused:
        async with runtime.transaction(OPERATOR) as work:
            await event_types.change_event_type(work, replace(made, **given))

    assert refused.value.details == {field: "can't be combined with a team"}


async def stay_away(work: Work, organization: Organization, user: User) -> None:
    """Have nothing to do with an organization."""


async def be_invited(work: Work, organization: Organization, user: User) -> None:
    await members.add_described_member(work, organization, user, profile=None, said_active=True, pending=True)


async def be_suspended(work: Work, organization: Organization, user: User) -> None:
    await members.add_organization_member(work, organization, user, active=False)


async def be_disabled(work: Work, organization: Organization, user: User) -> None:
    await members.add_organization_member(work, organization, user)
    await accounts.set_user_disabled(work, user, reason=None)


@pytest.mark.parametrize("belongs", [stay_away, be_invited, be_suspended, be_disabled])
async def test_the_owner_is_an_active_member_and_of_others_nothing_is_told(
    runtime: Runtime, founded: FoundedTeam, user: User, belongs: Belonging
) -> None:
    made = await add_event_type(runtime, founded)
    async with runtime.transaction(OPERATOR) as work:
        await belongs(work, founded.organization, user)

    refused = []
    # Its slug is that of the first event type of everybody.
    for slug in ("30min", "demo"):
        with pytest.raises(Invalid) as fault:
            await add_event_type(runtime, founded, owner=user, slug=slug)
        refused.append(fault.value.details)
    for email in (user.email, "nobody@nowhere.example"):
        with pytest.raises(Invalid) as fault:
            await hosting.get_owner(runtime.work(OPERATOR), founded.team, email)
        refused.append(fault.value.details)
    with pytest.raises(Invalid) as fault:
        async with runtime.transaction(OPERATOR) as work:
            await hosting.take_over(work, founded.team, made, user)
    refused.append(fault.value.details)

    assert refused == [{"owner": "must be an active member of the organization"}] * 5
    of_team = await event_types.list_event_types_of_team(runtime.work(OPERATOR), founded.team.id)
    assert [(each.id, each.owner_id) for each in of_team] == [(made.id, founded.hosts[0].id)]


async def test_slugs_are_unique_in_a_team(runtime: Runtime, founded: FoundedTeam) -> None:
    await add_event_type(runtime, founded)

    with pytest.raises(EventTypeSlugAlreadyExists):
        await add_event_type(runtime, founded, owner=founded.hosts[1])


async def test_a_filter_is_resolved_when_it_is_read(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, third = founded.hosts
    await describe(runtime, founded, first, language="DE", level="2")
    await describe(runtime, founded, second, language="fr", level="2")
    made = await add_event_type(
        runtime, founded, GroupWanted(filter={"language": ("de", "fr"), "level": ("2",)}), GroupWanted(filter={})
    )
    assert await list_hosts(runtime, made) == [
        first.email,
        second.email,
        *(host.email for host in founded.hosts),
    ]

    await describe(runtime, founded, third, language="fr", level="2")
    await describe(runtime, founded, first, language="de", level="1")

    assert (await list_hosts(runtime, made))[:2] == [second.email, third.email]


async def test_a_filter_finds_what_the_provider_says(runtime: Runtime, founded: FoundedTeam) -> None:
    second = founded.hosts[1]
    made = await add_event_type(runtime, founded, GroupWanted(filter={"department": ("Field",)}))
    assert await list_hosts(runtime, made) == []

    async with runtime.transaction(OPERATOR) as work:
        member = await members.get_member_by_user(work, founded.organization, second)
        enterprise = {"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "field"}}
        await members.describe_member(work, member, profile=enterprise, said_active=True)

    assert await list_hosts(runtime, made) == [second.email]


async def test_who_is_suspended_disabled_or_gone_hosts_nothing(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, third = founded.hosts
    made = await add_event_type(runtime, founded)
    async with runtime.transaction(OPERATOR) as work:
        member = await members.get_member_by_user(work, founded.organization, second)
        await members.set_member_active(work, member, active=False)
        await accounts.set_user_disabled(work, third, reason=None)
    assert await list_hosts(runtime, made) == [first.email]

    async with runtime.transaction(OPERATOR) as work:
        await members.set_member_active(work, member, active=True)
        await accounts.set_user_enabled(work, third)
        await members.end_membership(work, founded.organization, first)

    assert await list_hosts(runtime, made) == [second.email, third.email]


async def test_who_leaves_the_team_is_in_none_of_its_groups(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, third = founded.hosts
    made = await add_event_type(runtime, founded, pick_of(1, founded.hosts), GroupWanted(filter={}))

    async with runtime.transaction(OPERATOR) as work:
        await teams.remove_team_member(work, founded.team, second.id)

    assert await list_hosts(runtime, made) == [first.email, third.email] * 2
    _, groups = await hosting.get_hosting(runtime.work(OPERATOR), made.id)
    assert [replace(each, id=None) for each in groups] == [
        pick_of(1, [first, third]),
        GroupWanted(filter={}),
    ]


async def test_changed_groups_keep_their_credits_by_place(runtime: Runtime, founded: FoundedTeam) -> None:
    first, second, third = founded.hosts
    made = await add_event_type(runtime, founded, pick_of(1, [first]), pick_of(1, [second, third]))
    work = runtime.work(OPERATOR)
    before = await hosting.list_groups(work, made.id)
    await runtime.pool.execute("update host_group_members set credit = 5 where user_id = $1", second.id)

    async with runtime.transaction(OPERATOR) as work:
        wanted = (pick_of(1, [first, third]), pick_of(2, [second, first]), GroupWanted(filter={}))
        await hosting.change_hosting(work, founded.team, made.id, groups=wanted)

    work = runtime.work(OPERATOR)
    after = await hosting.list_groups(work, made.id)
    assert [group.id for group in after[:2]] == [group.id for group in before]
    assert [(each.user_id, each.credit) for each in await hosting.list_group_members(work, made.id)][2:4] == [
        (first.id, 0),
        (second.id, 5),
    ]
    async with runtime.transaction(OPERATOR) as work:
        await hosting.change_hosting(work, founded.team, made.id, groups=(pick_of(1, [third]),))
    assert await list_hosts(runtime, made) == [third.email]


async def test_rules_can_be_changed(runtime: Runtime, founded: FoundedTeam) -> None:
    made = await add_event_type(runtime, founded)
    wanted = TeamRules(event_type_id=made.id, balance=Balance.TOTAL, max_lead=2, replaces_leavers=False)
    async with runtime.transaction(OPERATOR) as work:
        await hosting.change_hosting(work, founded.team, made.id, rules=wanted, limits=Limits(per_day=4))

    work = runtime.work(OPERATOR)
    assert await hosting.get_rules(work, made.id) == wanted
    assert (await hosting.get_team_event_type(work, founded.team, made.id)).limits.per_day == 4
    with pytest.raises(Invalid) as refused:
        async with runtime.transaction(OPERATOR) as work:
            groups, rules = (pick_of(2, [founded.hosts[0]]),), replace(wanted, host_per_day=0)
            limits = Limits(per_week=0)
            await hosting.change_hosting(work, founded.team, made.id, groups=groups, rules=rules, limits=limits)
    assert refused.value.details is not None
    assert refused.value.details.keys() == {"groups.0.pick", "hostPerDay", "limits.perWeek"}
    with pytest.raises(errors.TeamEventTypeNotFound):
        async with runtime.transaction(OPERATOR) as work:
            await hosting.change_hosting(work, founded.team, new_id(), rules=no_rules())


async def test_who_takes_over_owns_the_event_type_with_its_slug_or_the_next(
    runtime: Runtime, founded: FoundedTeam
) -> None:
    first, second, third = founded.hosts
    made = await add_event_type(runtime, founded, slug="30min-team")
    other = await add_event_type(runtime, founded, slug="30min-of-all")
    async with runtime.transaction(OPERATOR) as work:
        taken = await hosting.take_over(work, founded.team, made, second)
        schedule, *_ = await schedules.list_schedules(work, third)
        draft = event_types.draft_event_type(work, schedule, name="Own", slug="30min-of-all", duration_minutes=30)
        await event_types.add_event_type(work, schedule, draft)
        renamed = await hosting.take_over(work, founded.team, other, third)

    work = runtime.work(OPERATOR)
    assert taken == replace(await event_types.get_event_type(work, second, made.id), position=taken.position)
    assert (taken.owner_id, taken.slug) == (second.id, "30min-team")
    assert (renamed.owner_id, renamed.slug) == (third.id, "30min-of-all-2")
    own, *_ = await schedules.list_schedules(work, third)
    assert renamed.schedule_id == own.id
    assert await list_hosts(runtime, made) == [first.email, second.email, third.email]


async def test_a_video_service_that_asks_the_account_of_one_host_is_refused(settings: Settings) -> None:
    async with open_runtime(settings, fakes=install(SlowConference())) as runtime:
        founded = await found_team(runtime)
        made = await add_event_type(runtime, founded)

        async def edit(location: Location) -> EventType:
            wanted = replace(made, location=location)
            async with runtime.transaction(OPERATOR) as work:
                return await event_types.edit_event_type(work, founded.hosts[0], wanted, edition=edition_of(made))

        with pytest.raises(Invalid) as refused:
            await edit(BY_SLOW)
        edited = await edit(BY_JITSI)

    assert refused.value.details == {"location.conference": "can't be combined with a team"}
    assert edited.location.conference == "jitsi"
