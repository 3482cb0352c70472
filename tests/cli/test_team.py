"""Teams at the terminal."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from openslot.domains.accounts.errors import OrganizationNotFound, UserNotFound
from openslot.domains.accounts.models import User
from openslot.domains.teams import errors
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.command_line import Cli
from tests.support.founding import FoundedTeam, found_team

pytestmark = pytest.mark.rest("runs commands, each with a connection of its own; their verbs are in make test")

Run = Callable[..., Awaitable[Any]]


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


@pytest.fixture
def run(cli: Cli) -> Run:
    async def run(*arguments: str) -> Any:
        return await asyncio.to_thread(cli, "team", *arguments, "--json")

    return run


async def create(run: Run, founded: FoundedTeam, *more: str) -> Any:
    owner = founded.hosts[0].email
    return await run(
        *("event-type", "create", "sales", "--name", "Demo", "--slug", "demo", "--duration", "30", "--owner", owner),
        *more,
    )


async def test_an_operator_makes_a_team_with_members_and_an_event_type(run: Run, founded: FoundedTeam) -> None:
    first, second, third = (host.email for host in founded.hosts)
    made = await run("create", "Support", "--organization", "harbor")
    assert (made["slug"], made["timezone"]) == ("support", "UTC")
    member = await run("member", "add", "support", second, "--weight", "50", "--priority", "3", "--attribute", "desk=4")
    assert (member["email"], member["weight"], member["priority"], member["attributes"]) == (
        second,
        50,
        3,
        {"desk": "4"},
    )
    await run("member", "add", "support", third)
    changed = await run("member", "change", "support", third, "--weight", "0", "--manager", "--attribute", "desk=5")
    assert (changed["weight"], changed["priority"], changed["manager"]) == (0, 2, True)

    event_type = await run(
        *("event-type", "create", "support", "--name", "Call", "--slug", "call", "--duration", "45"),
        *("--owner", first, "--group", f"pick=1 of={second}", "--group", f"pick=2 of={second},{third.upper()}"),
        *("--group", "pick=1 of=all", "--group", "desk=5", "--balance", "total", "--max-lead", "2"),
    )

    (listed,) = (await run("event-type", "list", "support"))["eventTypes"]
    assert listed["id"] == event_type["id"]
    assert (listed["balance"], listed["durationMinutes"]) == ("total", 45)
    assert [(each["pick"], [one["email"] for one in each["of"]]) for each in listed["groups"]] == [
        (1, [second]),
        (2, [second, third]),
        (1, [second, third]),
        (1, [third]),
    ]
    assert [each["slug"] for each in (await run("list", "--organization", "harbor"))["teams"]] == ["sales", "support"]
    assert [each["email"] for each in (await run("member", "list", "support"))["members"]] == [second, third]


async def test_teams_are_changed_and_deleted(cli: Cli, run: Run, founded: FoundedTeam) -> None:
    first, second, third = (host.email for host in founded.hosts)
    made = await create(run, founded, "--group", f"pick=1 of={first},{second}")
    changed = await run("event-type", "hosts", "sales", made["id"], "--group", f"pick=2 of={second},{third}")
    assert [one["email"] for one in changed["groups"][0]["of"]] == [second, third]
    own = await run("event-type", "hosts", "sales", made["id"], "--group", f"pick=1 of={second}:200:3,{third}::1")
    assert [(each["weight"], each["priority"]) for each in own["groups"][0]["of"]] == [(200, 3), (100, 1)]
    bounds = ("--balance", "total", "--max-lead", "2", "--per-day", "4", "--host-per-week", "9", "--no-picks-anew")
    ruled = await run("event-type", "change", "sales", made["id"], *bounds)
    assert (ruled["balance"], ruled["maxLead"], ruled["perDay"], ruled["hostPerWeek"]) == ("total", 2, 4, 9)
    assert (ruled["picksAnew"], ruled["replacesLeavers"], ruled["windowDays"]) == (False, True, 90)
    freed = await run("event-type", "change", "sales", made["id"], "--max-lead", "-1", "--per-day", "0")
    assert (freed["balance"], freed["maxLead"], freed["perDay"], freed["hostPerWeek"]) == ("total", None, None, 9)
    taken = await run("event-type", "take-over", "sales", made["id"], "--owner", second)
    assert taken["ownerId"] == str(founded.hosts[1].id)
    assert (await run("change", "sales", "--name", "Selling", "--zone", "Asia/Tokyo"))["timezone"] == "Asia/Tokyo"
    await run("member", "remove", "sales", third)
    assert [each["email"] for each in (await run("member", "list", "sales"))["members"]] == [first, second]

    assert "Selling" in str(await asyncio.to_thread(cli, "team", "list"))
    await asyncio.to_thread(cli, "team", "delete", "sales", "--yes")

    assert (await run("list"))["teams"] == []


@pytest.mark.parametrize(
    ("group", "field"),
    [
        ("pick=1 of=nobody@harbor.example", "groups.0.of"),
        ("pick=one of=host0@harbor.example", "groups.0.pick"),
        ("pick=2 of=host0@harbor.example", "groups.0.pick"),
        ("pick=0 of=host0@harbor.example", "groups.0.pick"),
        ("pick=1 of=", "groups.0.of"),
        ("pick=1 of=host0@harbor.example,host0@harbor.example", "groups.0.of"),
        ("pick=1 of=host0@harbor.example language=de", "groups.0.of"),
        ("pick=1 language=", "groups.0.filter.language"),
    ],
)
async def test_a_wrong_group_is_named(run: Run, founded: FoundedTeam, group: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await create(run, founded, "--group", group)

    assert list(refused.value.faults) == [field]
    assert (await run("event-type", "list", "sales"))["eventTypes"] == []


async def test_what_is_not_there_is_refused(run: Run, founded: FoundedTeam, user: User) -> None:
    for arguments, refusal in (
        (("create", "A", "--organization", "none"), OrganizationNotFound),
        (("create", "sales", "--organization", "harbor"), errors.TeamNameAlreadyExists),
        (("create", "A", "--organization", "harbor", "--zone", "Mars"), Invalid),
        (("member", "add", "none", user.email), errors.TeamNotFound),
        (("member", "add", "sales", "nobody@harbor.example"), UserNotFound),
        (("member", "add", "sales", user.email), Invalid),
        (("member", "add", "sales", founded.hosts[0].email), errors.TeamMemberAlreadyExists),
        (("member", "change", "sales", user.email), errors.TeamMemberNotFound),
        (("member", "change", "sales", founded.hosts[0].email, "--attribute", "desk"), Invalid),
        (("member", "remove", "sales", user.email), errors.TeamMemberNotFound),
        (("event-type", "take-over", "sales", str(new_id()), "--owner", user.email), errors.TeamEventTypeNotFound),
    ):
        with pytest.raises(refusal):
            await run(*arguments)
