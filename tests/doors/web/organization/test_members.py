"""Members: found, invited, given roles, suspended, reinstated and removed, with what is cancelled shown before."""

import re

import httpx2
import pytest

from openslot.domains.accounts.models import Role
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.doors.web.conftest import read_csrf_token
from tests.doors.web.organization.conftest import Harbor, add_user, join
from tests.doors.web.organization.driving import set_stage
from tests.doors.web.organization.support import MEMBERS, invite, read_form, state_of
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TEN, Book, cancel
from tests.support.name_server import FakeResolver
from tests.support.page import read_page


async def test_members_are_found_by_name_role_and_state(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await invite(owner, "guest@elsewhere.example", name="Guest")
    await owner.post(f"{MEMBERS}/{harbor.id_of(harbor.admin)}/suspend")
    everyone = {"olga@", "anna@", "mara@", "guest@elsewhere"}
    for query, shown in (
        ("", everyone),
        ("q=MARA", {"mara@"}),
        ("q=anna@harbor", {"anna@"}),
        ("role=owner", {"olga@"}),
        ("state=suspended", {"anna@"}),
        ("state=invited", {"guest@elsewhere"}),
        ("state=active&role=member", {"mara@"}),
        ("q=guest", {"guest@elsewhere"}),
        ("q=%25", set()),
        ("page=2", set()),
    ):
        text = (await owner.get(f"{MEMBERS}?{query}")).text.partition('id="invite"')[0]
        assert {each for each in everyone if each in text} == shown, query
    assert "No member matches" in read_page(await owner.get(f"{MEMBERS}?q=nobody")).text
    for odd in (
        "page=0",
        "page=x",
        "page=99999999999",
        "q=%00",
        "role=%00",
        "role=x",
        "state=%00",
        "state=%F0%9F%98%80",
    ):
        assert (await owner.get(f"{MEMBERS}?{odd}")).status_code == 200


async def test_pages_of_members_turn(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    await runtime.pool.execute(
        """with made as (
            insert into users (id, email, name, username, plan, zone, locale, is_admin, created_at, updated_at)
            select lpad(n::text, 32, '0')::uuid, 'u' || n || '@x.example', 'User ' || lpad(n::text, 3, '0'),
                'user' || n, 'FREE', 'UTC', 'en', false, now(), now() from generate_series(1, 60) n returning id)
        insert into memberships (id, organization_id, user_id, role, active, created_at, updated_at)
        select id, $1, id, 'member', true, now(), now() from made""",
        harbor.organization.id,
    )
    pages = [(await owner.get(f"{MEMBERS}?page={number}")).text for number in (1, 2, 3)]
    names = [re.findall(r"User \d{3}", page) for page in pages]

    assert [len(each) for each in names] == [22, 25, 13]
    assert [name for page in names for name in page] == [f"User {n:03}" for n in range(60, 0, -1)]
    assert "Page 2 of 3" in pages[1]


async def test_a_removed_member_no_longer_waits_for_a_decision(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    stage = await set_stage(runtime, harbor, resolver, book)
    member_id = await runtime.pool.fetchval("select id from memberships where user_id = $1", stage.held)
    assert (await owner.post(f"{MEMBERS}/{member_id}/remove")).status_code == 303

    assert await runtime.pool.fetchval("select count(*) from held_departures") == 0


async def test_the_last_owner_keeps_the_role(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    path = f"{MEMBERS}/{harbor.id_of(harbor.owner)}/role"
    refused = await owner.post(path, data={"role": "member"})
    assert (refused.status_code, "This is the only owner" in read_page(refused).notices[0]) == (409, True)
    # An owner who can't sign in is none.
    otto = await join(runtime, harbor.organization, await add_user(runtime, "otto", password_hash), Role.OWNER)
    await runtime.pool.execute("update users set disabled_at = now() where username = 'otto'")
    assert (await owner.post(path, data={"role": "admin"})).status_code == 409
    await runtime.pool.execute("update users set disabled_at = null where username = 'otto'")
    await runtime.pool.execute("update memberships set active = false where id = $1", otto)
    assert (await owner.post(path, data={"role": "admin"})).status_code == 409
    await runtime.pool.execute("update memberships set active = true where id = $1", otto)
    assert (await owner.post(path, data={"role": "member"})).status_code == 303
    assert (await owner.get(MEMBERS)).status_code == 404


async def test_a_removal_that_cancels_nothing_does_not_speak_of_bookings(
    owner: httpx2.AsyncClient, harbor: Harbor
) -> None:
    path = f"{MEMBERS}/{harbor.id_of(harbor.member)}/remove"
    answer = await owner.post(path, data=read_form((await owner.get(path)).text))
    said = (await owner.get(answer.headers["location"])).text

    assert '<p class="notice" role="status">The member was removed.</p>' in said


async def test_the_preview_shows_what_is_cancelled_and_the_invitees_are_told(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book, clock: MovingClock
) -> None:
    await book()
    await book(ELEVEN, name="Priya Raman", email="priya@raman.example")
    path = f"{MEMBERS}/{harbor.id_of(harbor.member)}/remove"
    shown = await owner.get(path)
    assert "2 bookings will be cancelled" in read_page(shown).headings
    assert "Monday 16 March, 11:00 – 11:30" in read_page(shown).text
    assert "Jonas Okafor" in read_page(shown).text
    answer = await owner.post(path, data=read_form(shown.text))
    said = (await owner.get(answer.headers["location"])).text

    assert "The member was removed. 2 bookings were cancelled." in said
    assert "The list has changed" not in said
    rows = await runtime.pool.fetch("select status, cancelled_by from bookings")
    assert {(row["status"], row["cancelled_by"]) for row in rows} == {("CANCELLED", "organization")}
    await work_off(runtime, clock)
    for email in ("jonas@okafor.example", "priya@raman.example"):
        assert any("ancel" in mail["subject"] for mail in await messages(runtime, email)), email


async def test_what_has_changed_since_the_preview_is_said(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    first = await book()
    path = f"{MEMBERS}/{harbor.id_of(harbor.member)}/remove"
    shown = await owner.get(path)
    await cancel(runtime, first)
    await book(ELEVEN)
    await book(TEN)
    answer = await owner.post(path, data=read_form(shown.text))
    said = (await owner.get(answer.headers["location"])).text

    assert "2 bookings were cancelled" in said
    assert "2 more were booked, 1 were cancelled or over" in said
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 0


async def test_nothing_of_an_account_that_is_not_managed_is_shown_or_cancelled(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    await book(host=harbor.foreign_owner)
    bo = await join(runtime, harbor.organization, harbor.foreign_owner)
    shown = await owner.get(f"{MEMBERS}/{bo}/remove")

    assert "Jonas Okafor" not in shown.text
    assert "does not manage this account" in read_page(shown).text
    assert (await owner.post(f"{MEMBERS}/{bo}/remove", data=read_form(shown.text))).status_code == 303
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_suspended_member_comes_back(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book, *, keeps: bool
) -> None:
    await book()
    await owner.post("/organization/settings/departures", data={"share": "20", **({"keeps": "on"} if keeps else {})})
    mara = harbor.id_of(harbor.member)
    shown = await owner.get(f"{MEMBERS}/{mara}/suspend")
    assert ("Upcoming bookings stay" in shown.text) == keeps
    answer = await owner.post(f"{MEMBERS}/{mara}/suspend", data=read_form(shown.text))
    notice = (await owner.get(answer.headers["location"])).text
    assert "The member was suspended." in notice
    assert ("1 booking was cancelled." in notice) != keeps
    assert await state_of(owner, mara) == "Suspended"
    assert (await owner.get("/mara/30min")).status_code == 404
    assert await runtime.pool.fetchval("select status from bookings") == ("CONFIRMED" if keeps else "CANCELLED")
    assert (await owner.post(f"{MEMBERS}/{mara}/reinstate")).status_code == 303

    assert await state_of(owner, mara) == "Active"
    assert (await owner.get("/mara/30min")).status_code == 200


async def test_the_last_administrator_of_the_platform_is_not_suspended(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    ada = await join(runtime, harbor.organization, harbor.platform)
    answer = await owner.post(f"{MEMBERS}/{ada}/suspend")

    assert (answer.status_code, "This is the only administrator" in read_page(answer).notices[0]) == (409, True)
    assert await state_of(owner, ada) == "Active"


async def test_a_form_acts_on_the_organization_it_was_shown_for(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await join(runtime, harbor.other, harbor.owner, Role.ADMIN)
    shown = await owner.get(MEMBERS)
    assert "Beacon" in shown.text.partition("<main")[2].partition('<ul class="rows">')[0]
    switched = await owner.post("/organization/switch", data={"organization": str(harbor.organization.id)})
    chosen = {"cookie": f"{owner.headers['cookie']}; {switched.headers['set-cookie'].partition(';')[0]}"}
    there = await owner.get("/organization/domains", headers=chosen)
    assert "harbor.example" in read_page(there).text
    # Meanwhile, another tab has chosen Beacon.
    switched = await owner.post("/organization/switch", data={"organization": str(harbor.other.id)})
    chosen = {"cookie": f"{owner.headers['cookie']}; {switched.headers['set-cookie'].partition(';')[0]}"}
    assert "beacon.example" in read_page(await owner.get("/organization/domains", headers=chosen)).text
    form = {**read_form(there.text, "/organization/domains"), "domain": "mine.example"}
    assert (await owner.post("/organization/domains", data=form, headers=chosen)).status_code == 303
    owned = await runtime.pool.fetchval("select organization_id from domains where domain = 'mine.example'")

    assert owned == harbor.organization.id


async def test_the_token_of_a_page_is_in_every_form(owner: httpx2.AsyncClient, harbor: Harbor) -> None:
    shown = await owner.get(f"{MEMBERS}/{harbor.id_of(harbor.member)}")
    owner.headers.pop("x-csrf-token")
    data = {"csrf": read_csrf_token(shown.text), "role": "member", "organization": str(harbor.organization.id)}

    assert (await owner.post(f"{MEMBERS}/{harbor.id_of(harbor.member)}/role", data=data)).status_code == 303


@pytest.mark.parametrize(("role", "word"), [("admin", "administrator"), ("owner", "owner")])
async def test_more_power_in_an_organization_is_asked_about_first(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, role: str, word: str
) -> None:
    member = harbor.id_of(harbor.member)
    path, read = f"{MEMBERS}/{member}/role", "select role from memberships where id = $1"
    asked = await owner.post(path, data={"role": role})

    assert (asked.status_code, f"Make {harbor.member.name} an {word}?" in read_page(asked).text) == (200, True)
    assert await runtime.pool.fetchval(read, member) == "member"

    assert (await owner.post(path, data=read_form(asked.text, path))).status_code == 303
    assert await runtime.pool.fetchval(read, member) == role

    # Less power, or the same, is not asked about.
    assert (await owner.post(path, data={"role": "member"})).status_code == 303
    assert await runtime.pool.fetchval(read, member) == "member"
