"""The page on which a team's event type gets its hosts: groups, weights, filters, balance, limits and rules."""

from typing import Any

import httpx2
import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.members import operations as members
from openslot.domains.event_types.models import EventType, Limits
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import Balance, GroupWanted, HostWanted, Team, TeamRules
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor, act_as, count_changes
from tests.doors.web.organization.driving import add_team
from tests.support.page import read_page

TEAMS = "/organization/teams"
RULES = {
    "balance": "share",
    "window_days": "90",
    "picks_anew": "on",
    "replaces_leavers": "on",
    "counts_host_cancellations": "on",
    "counts_no_shows": "on",
}


class Sales(Struct, frozen=True, kw_only=True):
    """A team of Anna and Mara, in this order on pages, with an event type of Olga's."""

    team: Team
    event_type: EventType
    groups: list[GroupWanted]

    @property
    def path(self) -> str:
        return f"{TEAMS}/{self.team.id}/event-types/{self.event_type.id}/hosts"


@pytest.fixture
async def sales(runtime: Runtime, harbor: Harbor) -> Sales:
    async with runtime.transaction(OPERATOR) as work:
        team, event_type = await add_team(work, harbor.organization, [harbor.admin, harbor.member], owner=harbor.owner)
        _, groups = await hosting.get_hosting(work, event_type.id)
    return Sales(team=team, event_type=event_type, groups=groups)


async def read(runtime: Runtime, sales: Sales) -> tuple[list[GroupWanted], TeamRules, Limits]:
    work = runtime.work(OPERATOR)
    event_type = await hosting.get_team_event_type(work, sales.team, sales.event_type.id)
    rules, groups = await hosting.get_hosting(work, event_type.id)
    return groups, rules, event_type.limits


def everybody(sales: Sales, **more: Any) -> dict[str, str]:
    return {**RULES, "groups.0.id": str(sales.groups[0].id), "groups.0.pick": "1", "groups.0.who": "all", **more}


async def test_the_page_shows_what_is_stored(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Sales
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        hosts = (HostWanted(user_id=harbor.admin.id, weight=7, priority=3),)
        groups = [GroupWanted(pick=1, hosts=hosts), GroupWanted(pick=2, filter={"language": ("de", "fr")})]
        rules = TeamRules(
            event_type_id=sales.event_type.id, balance=Balance.TOTAL, max_lead=4, window_days=30, counts_no_shows=False
        )
        await hosting.change_hosting(work, sales.team, sales.event_type.id, groups=groups, rules=rules)
    shown = read_page(await owner.get(sales.path))

    fields = {name: field.value for name, field in shown.fields.items()}
    assert (fields["groups.0.pick"], fields["groups.1.pick"]) == ("1", "2")
    assert (fields["groups.0.rows.0.weight"], fields["groups.0.rows.0.priority"]) == ("7", "3")
    assert shown.fields["groups.0.rows.0.host"].checked
    assert not shown.fields["groups.0.rows.1.host"].checked
    assert fields["groups.1.attributes"].strip() == "language: de, fr"
    assert (fields["max_lead"], fields["window_days"]) == ("4", "30")
    assert "Add a group" in shown.text
    assert f"/event-types/{sales.event_type.id}" in shown.addresses


async def test_groups_limits_and_rules_are_saved_and_logged(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Sales
) -> None:
    changes = {
        "groups.0.who": "listed",
        "groups.0.rows.0.host": str(harbor.admin.id),
        "groups.0.rows.0.weight": "200",
        "groups.0.rows.0.priority": "3",
        "groups.0.rows.1.weight": "9",
        "groups.1.pick": "1",
        "groups.1.who": "attributes",
        "groups.1.attributes": "language: de, fr\n\ndepartment: Sales",
        "balance": "total",
        "max_lead": "2",
        "window_days": "30",
        "per_week": "20",
        "host_per_day": "3",
        "host_total_per_week": "15",
        "picks_anew": "off",
        "counts_no_shows": "off",
    }
    saved = await owner.post(sales.path, data=everybody(sales, **changes))
    groups, rules, limits = await read(runtime, sales)
    log = await runtime.pool.fetchrow("select action, before, after from change_log order by id desc limit 1")

    assert saved.headers["location"] == f"{sales.path}?done=saved"
    assert groups[0] == GroupWanted(
        id=sales.groups[0].id, hosts=(HostWanted(user_id=harbor.admin.id, weight=200, priority=3),)
    )
    assert groups[1].filter == {"language": ("de", "fr"), "department": ("Sales",)}
    assert rules == TeamRules(
        event_type_id=sales.event_type.id,
        balance=Balance.TOTAL,
        max_lead=2,
        window_days=30,
        host_per_day=3,
        host_total_per_week=15,
        picks_anew=False,
        counts_no_shows=False,
    )
    assert limits == Limits(per_week=20)
    assert log is not None
    assert log["action"] == "team_event_type.changed"
    assert "language: de, fr" in str(log["after"])
    assert "It holds for bookings from now on" in read_page(await owner.get(saved.headers["location"])).notices[0]


async def test_faults_stand_at_their_fields_and_what_was_typed_is_kept(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Sales
) -> None:
    mara = {"groups.0.who": "listed", "groups.0.rows.0.weight": "", "groups.0.rows.1.host": str(harbor.member.id)}
    for changes, field, words in (
        ({"groups.0.pick": ""}, "groups.0.pick", "Enter a number of hosts"),
        ({"groups.0.pick": "none"}, "groups.0.pick", ""),
        ({"groups.0.pick": "2", **mara}, "groups.0.pick", "Must be from 1 to 1"),
        ({"groups.0.who": "nobody"}, "groups.0.who", ""),
        ({"groups.0.who": "listed"}, "groups.0.hosts", "Must have 1 to 500 entries"),
        ({**mara, "groups.0.rows.1.weight": "1001"}, "groups.0.rows.1.weight", ""),
        ({**mara, "groups.0.rows.1.priority": "4"}, "groups.0.rows.1.priority", ""),
        ({**mara, "groups.0.rows.1.host": str(harbor.owner.id)}, "groups.0.rows.1.host", "Is not a member of the team"),
        ({"groups.0.who": "attributes"}, "groups.0.attributes", "at least one attribute"),
        ({"groups.0.who": "attributes", "groups.0.attributes": "de"}, "groups.0.attributes", "a colon"),
        ({"groups.0.who": "attributes", "groups.0.attributes": "9: x"}, "groups.0.attributes", "names of attributes"),
        ({"groups.1.who": "listed", "groups.1.hosts": harbor.admin.email}, "groups.1.pick", "Enter a number of hosts"),
        ({"balance": "none"}, "balance", ""),
        ({"max_lead": "3"}, "max_lead", "Needs the balance total"),
        ({"window_days": ""}, "window_days", "Enter a number of days"),
        ({"window_days": "1000"}, "window_days", "Must be from 1 to 730"),
        ({"per_day": "0"}, "per_day", "Must be from 1 to 1000"),
        ({"host_per_week": "x"}, "host_per_week", ""),
        ({"host_total_per_day": "2000"}, "host_total_per_day", "Must be from 1 to 1000"),
        ({"picks_anew": "perhaps"}, "picks_anew", ""),
    ):
        answer = await owner.post(sales.path, data=everybody(sales, **{"host_per_day": "7", **changes}))
        page = read_page(answer)
        assert answer.status_code == 400, changes
        assert words in page.faults[field], (changes, page.faults)
        assert page.fields["host_per_day"].value == "7"
        assert "Nothing was saved" in page.notices[0]
    nothing = await owner.post(sales.path, data=everybody(sales, **{"groups.0.remove": "on"}))
    assert "Must have 1 to 20 entries" in read_page(nothing).notices[0] or "1 to 20" in nothing.text
    assert await count_changes(runtime) == 0
    assert (await read(runtime, sales))[0] == sales.groups


async def test_a_group_that_is_kept_has_its_credits_wherever_it_stands(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Sales
) -> None:
    await owner.post(sales.path, data=everybody(sales, **{"groups.1.pick": "1", "groups.1.who": "all"}))
    first, second = (await read(runtime, sales))[0]
    await runtime.pool.execute(
        "insert into host_group_members (group_id, user_id, listed, credit) values ($1, $2, false, 5)",
        second.id,
        harbor.member.id,
    )
    changes = {
        "groups.0.remove": "on",
        "groups.1.id": str(second.id),
        "groups.1.pick": "1",
        "groups.1.who": "all",
        "groups.2.pick": "2",
        "groups.2.who": "all",
    }
    await owner.post(sales.path, data=everybody(sales, **changes))
    kept, new = (await read(runtime, sales))[0]
    members = await hosting.list_group_members(runtime.work(OPERATOR), sales.event_type.id)

    assert (kept.id, kept.pick, new.pick) == (second.id, 1, 2)
    assert new.id not in {first.id, second.id}
    assert [each.credit for each in members if each.user_id == harbor.member.id] == [5, 0]


async def test_managers_and_the_owner_of_the_event_type_change_its_hosts_and_nobody_else(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Sales
) -> None:
    mara = await act_as(client, runtime, harbor.member)
    ledger = sales.path.replace("/hosts", "/ledger")
    as_member = [await mara.get(sales.path), await mara.post(sales.path, data=everybody(sales)), await mara.get(ledger)]
    async with runtime.transaction(OPERATOR) as work:
        await hosting.take_over(work, sales.team, sales.event_type, harbor.member)
    as_owner = [await mara.get(sales.path), await mara.post(sales.path, data=everybody(sales)), await mara.get(ledger)]
    elsewhere = await mara.get(f"{TEAMS}/{sales.team.id}/event-types/{sales.team.id}/hosts")
    team = await mara.get(f"{TEAMS}/{sales.team.id}")
    async with runtime.transaction(OPERATOR) as work:
        found = await hosting.get_team_event_type(work, sales.team, sales.event_type.id)
        await hosting.take_over(work, sales.team, found, harbor.owner)
        place = await teams.get_team_member(work, sales.team, harbor.member.id)
        await teams.change_team_member(work, replace(place, is_manager=True))
    as_manager = [await mara.get(sales.path), await mara.post(sales.path, data=everybody(sales))]

    assert [answer.status_code for answer in as_member] == [404, 404, 404]
    assert [answer.status_code for answer in as_owner] == [200, 303, 200]
    assert f"{TEAMS}/{sales.team.id}" not in read_page(as_owner[0]).addresses
    assert [elsewhere.status_code, team.status_code] == [404, 404]
    assert [answer.status_code for answer in as_manager] == [200, 303]


async def test_hosts_of_a_large_team_are_typed(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Sales, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openslot.doors.web.organization.hosting_forms.MAX_ROWS", 1)
    text = f"{harbor.admin.email.upper()}, 250\n{harbor.member.email}, , 3\n"
    listed = everybody(sales, **{"groups.0.who": "listed", "groups.0.hosts": text})
    saved = await owner.post(sales.path, data=listed)
    groups, *_ = await read(runtime, sales)
    shown = read_page(await owner.get(sales.path))

    assert saved.status_code == 303
    assert groups[0].hosts == (
        HostWanted(user_id=harbor.admin.id, weight=250),
        HostWanted(user_id=harbor.member.id, priority=3),
    ) or groups[0].hosts == (
        HostWanted(user_id=harbor.member.id, priority=3),
        HostWanted(user_id=harbor.admin.id, weight=250),
    )
    typed = shown.fields["groups.0.hosts"].value.split("\n")
    assert {f"{harbor.admin.email}, 250", f"{harbor.member.email}, , 3"} <= set(typed)
    for lines, words in (
        ("who@harbor.example", "Names who@harbor.example, who is not a member of the team"),
        (f"{harbor.member.email}, x", "after commas a weight"),
        (f"{harbor.member.email}, 1001", "after commas a weight"),
        (f"{harbor.member.email}, 1, 4", "after commas a weight"),
        (f"{harbor.member.email}, 1, 1, 1", "after commas a weight"),
        (f"{harbor.member.email}\n{harbor.member.email}", "the same member twice"),
    ):
        answer = await owner.post(sales.path, data={**listed, "groups.0.hosts": lines})
        assert words in read_page(answer).faults["groups.0.hosts"], lines
        assert read_page(answer).fields["groups.0.hosts"].value.strip() == lines


async def test_who_is_only_invited_owns_nothing_and_is_not_named(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Sales
) -> None:
    nora, team = harbor.nobody, f"{TEAMS}/{sales.team.id}"
    invited = await owner.post("/organization/members", data={"email": nora.email, "name": "", "role": "member"})
    added = await owner.post(f"{team}/members", data={"email": nora.email})
    assert [answer.status_code for answer in (invited, added)] == [303, 303]

    form = {"name": "Intro", "duration": "30", "pick": "1", "balance": "share"}
    refused = []
    for email in (nora.email, harbor.foreign_owner.email, "who@nowhere.example"):
        # Everybody has an event type with the slug 30min, and nothing else of the form may tell who has an account.
        for more in ({"slug": "30min"}, {"slug": "intro"}, {"slug": "intro", "typed_hosts": "who@nowhere.example"}):
            answer = await owner.post(f"{team}/event-types/new", data={**form, **more, "owner": email})
            refused.append((answer.status_code, read_page(answer).faults))
    pages = [
        await owner.get(path) for path in (team, f"{team}/members/{nora.id}", f"{team}/event-types/new", sales.path)
    ]

    assert refused == [(400, {"owner": "Must be an active member of the organization"})] * 9
    assert await runtime.pool.fetchval("select count(*) from event_types where team_id is not null") == 1
    for answer in pages:
        assert answer.status_code == 200
        assert nora.email in answer.text
        assert nora.name not in answer.text


async def test_an_invited_stranger_is_sorted_by_their_address_and_counts_for_no_zone(
    runtime: Runtime, harbor: Harbor, sales: Sales
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for user in (harbor.nobody, harbor.free):
            await members.add_described_member(
                work, harbor.organization, user, profile=None, said_active=True, pending=True
            )
            await teams.add_team_member(work, sales.team, user.id)
        await work.db.execute("update users set name = 'Aaron', zone = 'Asia/Tokyo' where id = $1", harbor.nobody.id)
        await work.db.execute("update users set name = 'Abel', zone = 'Asia/Tokyo' where id = $1", harbor.free.id)
        for user, zone in ((harbor.owner, "UTC"), (harbor.admin, "America/Lima")):
            await work.db.execute("update users set zone = $2 where id = $1", user.id, zone)
        listed = await teams.list_team_members(work, sales.team)
        made = await teams.add_team(work, harbor.organization, name="Support")

    names = [each.name for each in listed]
    assert names == [harbor.admin.name, harbor.free.email, harbor.member.name, harbor.nobody.email]
    assert made.zone == "America/Lima"
