"""The pages of teams: who manages what, members and their weights, and what happens when somebody leaves."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import Balance, Team
from openslot.doors.web.organization.team_ledger import write_standing
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor, act_as, count_changes
from tests.doors.web.organization.driving import add_team
from tests.support.host import TEN
from tests.support.page import read_page
from tests.support.teams import book_team

TEAMS = "/organization/teams"


@pytest.fixture
async def sales(runtime: Runtime, harbor: Harbor) -> Team:
    """A team whose only member is Mara."""
    async with runtime.transaction(OPERATOR) as work:
        team, _ = await add_team(work, harbor.organization, [harbor.member], owner=harbor.owner)
        return await teams.change_team(work, team, name="Sales", slug="sales")


async def set_manager(runtime: Runtime, team: Team, harbor: Harbor) -> None:
    await runtime.pool.execute(
        "update team_members set is_manager = true where team_id = $1 and user_id = $2", team.id, harbor.member.id
    )


async def test_a_team_is_created_renamed_and_deleted(owner: httpx2.AsyncClient, runtime: Runtime) -> None:
    empty = read_page(await owner.get(TEAMS))
    made = await owner.post(TEAMS, data={"name": "Customer success", "timezone": "Tokyo"})
    path = made.headers["location"].partition("?")[0]
    shown = read_page(await owner.get(made.headers["location"]))
    row = await runtime.pool.fetchrow("select name, slug, zone from teams")
    saved = await owner.post(path, data={"name": "Success", "slug": "success", "timezone": "Berlin"})
    listed = read_page(await owner.get(TEAMS))
    asked = read_page(await owner.get(f"{path}/delete"))
    gone = await owner.post(f"{path}/delete")

    assert "There are no teams yet" in empty.text
    assert "The team was created" in shown.notices[0]
    assert "Nobody is in this team yet" in shown.text
    assert row is not None
    assert tuple(row) == ("Customer success", "customer-success", "Asia/Tokyo")
    assert (saved.status_code, saved.headers["location"]) == (303, f"{path}?done=saved")
    assert "Success" in listed.text
    assert "0 members" in listed.text
    assert "can't be undone" in asked.text
    assert "There are no upcoming bookings" in asked.text
    assert gone.headers["location"] == f"{TEAMS}?done=deleted&cancelled=0"
    assert await runtime.pool.fetchval("select count(*) from teams") == 0


async def test_faults_of_a_team_stand_at_their_fields(owner: httpx2.AsyncClient, runtime: Runtime, sales: Team) -> None:
    for data, field, words in (
        ({"name": "", "timezone": "UTC"}, "name", "Enter the name of the team"),
        ({"name": "Sales", "timezone": "UTC"}, "name", "Is taken"),
        ({"name": "Other", "slug": "sales", "timezone": "UTC"}, "slug", "Is taken"),
        ({"name": "Other", "slug": "A b", "timezone": "UTC"}, "slug", "lower-case letters"),
        ({"name": "Other", "slug": "new", "timezone": "UTC"}, "slug", "Is reserved"),
        ({"name": "Other", "timezone": "Nowhere"}, "timezone", ""),
    ):
        answer = await owner.post(TEAMS, data=data)
        assert answer.status_code == 400, data
        assert words in read_page(answer).faults[field], (data, read_page(answer).faults)
    changed = await owner.post(f"{TEAMS}/{sales.id}", data={"name": "Sales", "slug": "", "timezone": "UTC"})
    assert "Enter a short name" in read_page(changed).faults["slug"]
    assert await count_changes(runtime) == 0


async def test_a_member_is_added_weighted_and_removed(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team
) -> None:
    path = f"{TEAMS}/{sales.id}/members"
    added = await owner.post(path, data={"email": harbor.admin.email.upper()})
    anna = f"{path}/{harbor.admin.id}"
    form = {"weight": "250", "priority": "3", "manager": "on", "attributes": "language: de\n\nregion: north"}
    saved = await owner.post(anna, data=form)
    shown = read_page(await owner.get(anna))
    team = read_page(await owner.get(f"{TEAMS}/{sales.id}"))
    row = await runtime.pool.fetchrow(
        "select weight, priority, is_manager, attributes from team_members where user_id = $1", harbor.admin.id
    )
    asked = read_page(await owner.get(f"{anna}/remove"))
    gone = await owner.post(f"{anna}/remove")

    assert added.headers["location"] == f"{TEAMS}/{sales.id}?done=added"
    assert saved.headers["location"] == f"{TEAMS}/{sales.id}?done=saved"
    assert row is not None
    assert (row["weight"], row["priority"], row["is_manager"]) == (250, 3, True)
    assert [shown.fields[name].value for name in ("weight", "priority")] == ["250", "3"]
    assert shown.fields["manager"].checked
    assert "Weight 250" in team.text
    assert "Manager" in team.text
    assert "There are no upcoming bookings" in asked.text
    assert gone.headers["location"] == f"{TEAMS}/{sales.id}?done=removed&cancelled=0"
    assert await runtime.pool.fetchval("select count(*) from team_members") == 1


async def test_faults_of_a_member_stand_at_their_fields(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team
) -> None:
    path = f"{TEAMS}/{sales.id}/members"
    for email, words in (
        ("", "Enter an email address"),
        ("who@harbor.example", "Is not a member of the organization"),
        (harbor.foreign_owner.email, "Is not a member of the organization"),
        (harbor.member.email, "Already a member of the team"),
    ):
        answer = await owner.post(path, data={"email": email})
        assert answer.status_code == 400, email
        assert words in read_page(answer).faults["email"], email
    for field, value, words in (
        ("weight", "", "Enter a number from 0 to 1000"),
        ("weight", "1001", ""),
        ("priority", "4", ""),
        ("attributes", "language", "a name, a colon and a value"),
        ("attributes", "9: x", "names of attributes"),
        ("attributes", "language: " + "x" * 201, "1 to 200 characters"),
    ):
        answer = await owner.post(f"{path}/{harbor.member.id}", data={"weight": "1", "priority": "2", field: value})
        assert answer.status_code == 400, (field, value)
        assert words in read_page(answer).faults[field], (field, value)
    nobody = await owner.get(f"{path}/{harbor.admin.id}")
    assert nobody.status_code == 404
    assert await count_changes(runtime) == 0


async def test_a_manager_changes_their_team_and_no_other(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        other, _ = await add_team(work, harbor.organization, [harbor.admin], owner=harbor.owner)
    mara = await act_as(client, runtime, harbor.member)
    as_member = [await mara.get(TEAMS), await mara.get(f"{TEAMS}/{sales.id}")]
    await set_manager(runtime, sales, harbor)
    listed = await mara.get(TEAMS)
    shown = await mara.get(f"{TEAMS}/{sales.id}")
    added = await mara.post(f"{TEAMS}/{sales.id}/members", data={"email": harbor.admin.email})
    renamed = await mara.post(f"{TEAMS}/{sales.id}", data={"name": "Sales 2", "slug": "sales", "timezone": "UTC"})
    refused = [
        await mara.get(f"{TEAMS}/{other.id}"),
        await mara.post(f"{TEAMS}/{other.id}/members", data={"email": harbor.member.email}),
        await mara.post(TEAMS, data={"name": "Mine", "timezone": "UTC"}),
        await mara.get(f"{TEAMS}/{sales.id}/delete"),
        await mara.post(f"{TEAMS}/{sales.id}/delete"),
    ]

    assert [answer.status_code for answer in as_member] == [200, 404]
    assert f"{TEAMS}/{sales.id}" not in read_page(as_member[0]).addresses
    assert f"{TEAMS}/{sales.id}" in read_page(listed).addresses
    assert f"{TEAMS}/{other.id}" not in listed.text
    assert "Create a team" not in listed.text
    assert "Delete the team" not in shown.text
    assert [added.status_code, renamed.status_code] == [303, 303]
    assert [answer.status_code for answer in refused] == [404] * 5
    assert await runtime.pool.fetchval("select count(*) from teams") == 2


async def test_removing_a_host_says_what_happens_to_the_bookings(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team
) -> None:
    asked = f"{TEAMS}/{sales.id}/members/{harbor.member.id}/remove"
    async with runtime.transaction(OPERATOR) as work:
        event_type, *_ = await hosting.list_team_event_types(work, sales)
    await book_team(runtime, event_type, TEN)
    await runtime.pool.execute("update event_types set requires_confirmation = true where id = $1", event_type.id)
    for hour in (11, 12):
        await book_team(runtime, event_type, TEN.replace(hour=hour))
    handed_over = read_page(await owner.get(asked))
    await runtime.pool.execute("update team_rules set replaces_leavers = false")
    cancelled = read_page(await owner.get(asked))
    deleted = read_page(await owner.get(f"{TEAMS}/{sales.id}/delete"))
    gone = await owner.post(asked)

    assert "1 booking of a team goes to another host who is free" in handed_over.text
    assert "1 upcoming booking is cancelled" in cancelled.text
    assert "1 upcoming booking is cancelled" in deleted.text
    assert "2 requests for the time of teams go to other hosts who are free" in handed_over.text
    for told in (cancelled, deleted):
        assert "2 requests that wait for an answer are declined" in told.text
    assert gone.headers["location"].endswith("done=removed&cancelled=1")
    assert "1 booking was cancelled." in read_page(await owner.get(gone.headers["location"])).notices[0]


async def test_the_ledger_says_who_had_what_and_why(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        team, event_type = await add_team(work, harbor.organization, [harbor.member, harbor.admin], owner=harbor.owner)
    owner = await act_as(client, runtime, harbor.owner)
    path = f"{TEAMS}/{team.id}/event-types/{event_type.id}/ledger"
    empty = read_page(await owner.get(path))
    await book_team(runtime, event_type, TEN)
    shown = read_page(await owner.get(path))
    linked = read_page(await owner.get(f"{TEAMS}/{team.id}"))
    nothing = await owner.get(f"{TEAMS}/{team.id}/event-types/{team.id}/ledger")

    assert "No host was chosen yet" in empty.text
    assert "Exactly at their share" in empty.text
    assert "0.5 bookings behind" in shown.text
    assert "0.5 bookings ahead" in shown.text
    assert "1 booking · 100% of all · 0.5 due" in shown.text
    assert "0 bookings · 0% of all · 0.5 due" in shown.text
    assert "Nobody is further than 0.5 from it." in shown.text
    chosen, other = [harbor.member.name, harbor.admin.name]
    level = "Level with others, and not chosen for longest"
    assert shown.rows[-1][2:5] in ([chosen, level, other], [other, level, chosen])
    assert path in linked.addresses
    assert nothing.status_code == 404


async def test_the_ledger_explains_a_host_who_was_away_and_names_cancelled_bookings(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        team, event_type = await add_team(work, harbor.organization, [harbor.member, harbor.admin], owner=harbor.owner)
    await runtime.pool.execute("update team_members set weight = 50 where user_id = $1", harbor.admin.id)
    # Somebody who is away earns nothing, and nothing is due.
    await runtime.pool.execute(
        """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values (gen_random_uuid(), $1, $2, $3, '', $2)""",
        harbor.admin.id,
        TEN - timedelta(hours=2),
        TEN + timedelta(hours=8),
    )
    booking = await book_team(runtime, event_type, TEN)
    path = f"{TEAMS}/{team.id}/event-types/{event_type.id}/ledger"
    away = read_page(await owner.get(path))
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))
    cancelled = read_page(await owner.get(path))

    assert away.rows[-1][3] == "Nobody else was free"
    assert "1 booking · 100% of all · 1 due · 67% by weight" in away.text
    assert "0 bookings · 0% of all · 0 due · 33% by weight" in away.text
    assert "Cancelled" not in away.rows[-1][1]
    assert cancelled.rows[-1][1].endswith("Cancelled")


async def test_the_ledger_names_former_members_and_choices_by_hand(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        event_type, *_ = await hosting.list_team_event_types(work, sales)
    await book_team(runtime, event_type, TEN)
    await runtime.pool.execute("update team_rules set replaces_leavers = false, balance = 'total'")
    await runtime.pool.execute("update assignments set asked = jsonb_set(asked, '{isNamed}', 'true')")
    path = f"{TEAMS}/{sales.id}/event-types/{event_type.id}/ledger"
    totals = read_page(await owner.get(path))
    await owner.post(f"{TEAMS}/{sales.id}/members/{harbor.member.id}/remove")
    left = read_page(await owner.get(path))

    assert "the same number of bookings for their weight" in totals.text
    assert "their share" not in totals.text
    assert "furthest behind" not in totals.text
    assert totals.rows[-1][2:5] == [harbor.member.name, "Chosen by hand", "Nobody"]
    assert left.rows[-1][2] == "a former member"
    assert "Nobody can host this event type" in left.text


@pytest.mark.parametrize(
    ("credit", "words"),
    [
        (0, "Exactly at their share"),
        (4_000, "Exactly at their share"),
        (400_000, "0.4 bookings behind"),
        (-1_250_000, "1.25 bookings ahead"),
        (1_000_000, "1 booking behind"),
        (-1_000_000, "1 booking ahead"),
    ],
)
def test_a_credit_is_said_in_bookings(credit: int, words: str) -> None:
    assert str(write_standing(credit)) == words


async def test_an_event_type_of_a_team_is_created(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team
) -> None:
    path = f"{TEAMS}/{sales.id}/event-types/new"
    form = {"name": "Intro", "slug": "intro", "duration": "45", "owner": harbor.admin.email, "pick": "1"}
    shown = read_page(await owner.get(path))
    everybody = await owner.post(path, data=form)
    listed = await owner.post(path, data={**form, "slug": "listed", "hosts": str(harbor.member.id), "balance": "total"})
    async with runtime.transaction(OPERATOR) as work:
        made = {each.slug: each for each in await hosting.list_team_event_types(work, sales)}
        _, of_all = await hosting.get_hosting(work, made["intro"].id)
        rules, of_listed = await hosting.get_hosting(work, made["listed"].id)

    assert (shown.fields["duration"].value, shown.fields["owner"].value) == ("30", harbor.owner.email)
    assert [everybody.headers["location"], listed.headers["location"]] == [
        f"{TEAMS}/{sales.id}/event-types/{made[slug].id}/hosts?done=created" for slug in ("intro", "listed")
    ]
    assert (made["intro"].duration_minutes, made["intro"].owner_id) == (45, harbor.admin.id)
    assert [(each.pick, each.filter) for each in of_all] == [(1, {})]
    assert [host.user_id for host in of_listed[0].hosts] == [harbor.member.id]
    assert rules.balance is Balance.TOTAL


async def test_faults_of_an_event_type_of_a_team_stand_at_their_fields(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team
) -> None:
    path = f"{TEAMS}/{sales.id}/event-types/new"
    form = {"name": "Intro", "slug": "intro", "duration": "45", "owner": harbor.owner.email, "pick": "1"}
    for field, value in (
        ("name", ""),
        ("slug", "No slug"),
        ("slug", "30min"),
        ("duration", "0"),
        ("owner", "who@harbor.example"),
        ("owner", harbor.foreign_owner.email),
        ("pick", "0"),
        ("balance", "none"),
    ):
        answer = await owner.post(path, data={**form, field: value})
        assert answer.status_code == 400, (field, value)
        assert field in read_page(answer).faults, (field, value, read_page(answer).faults)
    too_many = await owner.post(path, data={**form, "pick": "2", "hosts": str(harbor.member.id)})
    stranger = await owner.post(path, data={**form, "hosts": str(harbor.admin.id)})
    assert "pick" in read_page(too_many).faults
    assert "hosts" in read_page(stranger).faults
    assert await count_changes(runtime) == 0


async def test_hosts_of_a_new_event_type_of_a_large_team_are_typed(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, sales: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openslot.doors.web.organization.team_event_types.MAX_ROWS", 0)
    path = f"{TEAMS}/{sales.id}/event-types/new"
    form = {"name": "Intro", "slug": "intro", "duration": "45", "owner": harbor.owner.email, "pick": "1"}
    shown = read_page(await owner.get(path))
    wrong = await owner.post(path, data={**form, "typed_hosts": harbor.admin.email})
    twice = await owner.post(path, data={**form, "typed_hosts": f"{harbor.member.email}\n{harbor.member.email}"})
    made = await owner.post(path, data={**form, "typed_hosts": f"{harbor.member.email}, 50"})
    async with runtime.transaction(OPERATOR) as work:
        found = {each.slug: each for each in await hosting.list_team_event_types(work, sales)}
        _, (group,) = await hosting.get_hosting(work, found["intro"].id)

    assert "typed_hosts" in shown.fields
    assert "hosts" not in shown.fields
    assert harbor.admin.email in read_page(wrong).faults["typed_hosts"]
    assert read_page(wrong).fields["typed_hosts"].value.strip() == harbor.admin.email
    assert "twice" in read_page(twice).faults["typed_hosts"]
    assert made.status_code == 303
    assert [(host.user_id, host.weight) for host in group.hosts] == [(harbor.member.id, 50)]
