"""What people ask a team for: every host is mailed and can answer, and the others see who was faster."""

import re
from uuid import UUID

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.access import operations as access
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member, end_membership
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages, part
from tests.support.bookings import public_body
from tests.support.browsers import open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import As
from tests.support.page import read_page
from tests.support.page_checks import CHECKED, bring_axe, check_page
from tests.support.teams import HostedTeam, list_hosts, open_account, open_team

TEN, TWELVE = "2026-03-16T10:00:00Z", "2026-03-16T12:00:00Z"


@pytest.fixture
async def team(runtime: Runtime) -> HostedTeam:
    """Two hosts together, whom people ask for a time."""
    return await open_team(runtime, 2, groups=[(1, [0]), (1, [1])], requires_confirmation=True)


async def ask(client: httpx2.AsyncClient, team: HostedTeam, start: str) -> tuple[UUID, str]:
    """Ask for a time as an invitee does, and return the booking and the path of its page."""
    answer = await client.post("/api/bookings", json=public_body(team.event_type, start, inviteeName="Jonas Okafor"))
    assert answer.json()["status"] == "PENDING_CONFIRMATION", answer.text
    return UUID(answer.json()["bookingId"]), httpx2.URL(answer.json()["manageUrl"]).path


async def test_every_host_is_asked_one_answers_and_the_others_see_it(
    client: httpx2.AsyncClient, runtime: Runtime, as_: As, team: HostedTeam, clock: MovingClock
) -> None:
    ana, jim = team.hosts
    first, manage = await ask(client, team, TEN)
    second, manage_second = await ask(client, team, TWELVE)
    await work_off(runtime, clock)
    for host in team.hosts:
        mailed = await messages(runtime, host.email)
        assert [each["subject"].partition(":")[0] for each in mailed] == ["Request", "Request"]
        assert all("Hosts" in part(each, "text/plain") for each in mailed)
    assert await messages(runtime, team.owner.email) == []
    waiting = read_page(await client.get(manage)).text
    assert "The time is kept for you until Host 0, Host 1 answers" in waiting

    async with as_(ana) as ana_asks, as_(jim) as jim_asks, as_(team.owner) as owner_asks:
        for asks in (ana_asks, jim_asks, owner_asks):
            assert "2 requests wait for you" in read_page(await asks.get("/")).text
            listed = read_page(await asks.get("/bookings/requests")).text
            assert listed.count("Jonas Okafor") == 2
            assert "hosted by Host 0 and Host 1" in listed
        path = f"/bookings/requests/{first}"
        assert "Each host can answer, and the first answer counts." in read_page(await jim_asks.get(path)).text
        confirmed = await ana_asks.post(f"{path}/confirm")
        assert confirmed.headers["location"] == f"/bookings/{first}?done=confirmed"
        late = await jim_asks.post(f"{path}/confirm")
        assert late.headers["location"] == f"/bookings/{first}?done=answered"
        seen = read_page(await jim_asks.get(late.headers["location"])).text
        assert "Somebody else has confirmed this request already." in seen
        assert "Host 0 confirmed this request" in seen

        other = f"/bookings/requests/{second}"
        await jim_asks.post(f"{other}/decline", data={"reason": "We travel that day"})
        late = await ana_asks.post(f"{other}/confirm")
        assert late.status_code == 409
        closed = read_page(late).text
        assert "This request is no longer open" in closed
        assert "Host 1 declined this request." in closed
        assert "We travel that day" in closed
        assert "You declined this request." in read_page(await jim_asks.get(other)).text
        for asks in (ana_asks, jim_asks, owner_asks):
            assert "Nobody waits for your answer." in read_page(await asks.get("/bookings/requests")).text
    await work_off(runtime, clock)
    for host in team.hosts:
        assert (await messages(runtime, host.email))[-1]["subject"].startswith("Confirmed: ")
    assert "Your request was declined" in read_page(await client.get(manage_second)).text
    assert "Host 0, Host 1" in read_page(await client.get(manage)).text


async def test_a_host_who_has_left_is_not_asked_and_answers_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, as_: As, team: HostedTeam
) -> None:
    asked, _ = await ask(client, team, TEN)
    ana, jim = team.hosts
    path = f"/bookings/requests/{asked}"
    async with runtime.transaction(OPERATOR) as work:
        await end_membership(work, team.organization, jim)
    async with as_(ana) as ana_asks, as_(jim) as jim_asks:
        listed = [read_page(await asks.get("/bookings/requests")).text for asks in (ana_asks, jim_asks)]
        answers = [
            await jim_asks.get(path),
            await jim_asks.post(f"{path}/confirm"),
            await jim_asks.post(f"{path}/decline", data={"reason": "Mine"}),
            await jim_asks.post(f"/bookings/{asked}/hand-over", data={"place": str(jim.id)}),
        ]
        homes = [read_page(await asks.get("/")).text for asks in (ana_asks, jim_asks)]

    assert ["Jonas Okafor" in text for text in listed] == [True, False]
    assert ["1 request waits for you" in text for text in homes] == [True, False]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert await runtime.pool.fetchval("select state from booking_requests") == "waiting"


async def test_the_api_shows_it_to_the_owner_once_it_is_confirmed_and_to_other_hosts_never(
    client: httpx2.AsyncClient, runtime: Runtime, as_: As, team: HostedTeam
) -> None:
    asked, _ = await ask(client, team, TEN)
    keyed = {}
    users = [team.owner.id, team.hosts[0].id]
    await runtime.pool.execute("update users set plan = $2 where id = any($1)", users, Plan.PRO)
    for user_id in users:
        async with runtime.transaction(OPERATOR) as work:
            user = await accounts.get_user(work, user_id)
            key, _ = await access.create_api_key(work, user, name="Test")
        keyed[user_id] = {"Authorization": f"Bearer {key}"}

    async def get(user: User) -> int:
        return (await client.get(f"/api/v1/bookings/{asked}", headers=keyed[user.id])).status_code

    assert [await get(team.owner), await get(team.hosts[0])] == [404, 404]
    async with as_(team.hosts[0]) as asks:
        await asks.post(f"/bookings/requests/{asked}/confirm")
    assert [await get(team.owner), await get(team.hosts[0])] == [200, 404]


async def test_a_manager_who_does_not_host_answers_from_the_ledger(
    client: httpx2.AsyncClient, runtime: Runtime, as_: As
) -> None:
    team = await open_team(runtime, 2, groups=[(1, [0])], requires_confirmation=True)
    manager = team.hosts[1]
    ledger = f"/organization/teams/{team.id}/event-types/{team.event_type.id}/ledger"
    first, _ = await ask(client, team, TEN)
    second, _ = await ask(client, team, TWELVE)
    async with as_(manager) as asks:
        path = f"/bookings/requests/{first}"
        assert (await asks.get(path)).status_code == 404
        await runtime.pool.execute("update team_members set is_manager = true where user_id = $1", manager.id)
        shown = await asks.get(ledger)
        assert {f"/bookings/requests/{each}" for each in (first, second)} == set(
            re.findall(r"/bookings/requests/[0-9a-f-]{36}", shown.text)
        )
        assert "Waits for an answer" in read_page(shown).text
        assert "Jonas Okafor" in read_page(await asks.get(path)).text
        confirmed = await asks.post(f"{path}/confirm")
        assert confirmed.headers["location"] == f"{ledger}?done=confirmed"
        declined = await asks.post(f"/bookings/requests/{second}/decline")
        assert declined.headers["location"] == f"{ledger}?done=declined"
        seen = read_page(await asks.get(declined.headers["location"])).text
        assert "The request was declined." in seen
        assert "Not confirmed" in seen
        assert (await asks.get(f"/bookings/{first}")).status_code == 404


async def test_a_manager_answers_requests_for_single_seats_of_a_session(
    client: httpx2.AsyncClient, runtime: Runtime, as_: As, browser: Browser
) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0, 1])], requires_confirmation=True, seats=3)
    manager = team.hosts[2]
    await runtime.pool.execute("update team_members set is_manager = true where user_id = $1", manager.id)
    ledger = f"/organization/teams/{team.id}/event-types/{team.event_type.id}/ledger"
    first, second, third = [(await ask(client, team, TEN))[0] for _ in range(3)]
    page, faults = await open_as(browser, client, runtime, manager, **CHECKED)
    await bring_axe(page)
    await page.goto(ledger)
    await check_page(page, "a ledger with requests")
    assert faults == []
    async with as_(manager) as asks:
        shown = await asks.get(ledger)
        assert {f"/bookings/requests/{each}" for each in (first, second, third)} == set(
            re.findall(r"/bookings/requests/[0-9a-f-]{36}", shown.text)
        )
        assert "Waits for an answer" in read_page(shown).text
        assert "Not booked" not in read_page(shown).text
        confirmed = await asks.post(f"/bookings/requests/{first}/confirm")
        assert confirmed.headers["location"] == f"{ledger}?done=confirmed"
        await asks.post(f"/bookings/requests/{second}/decline")
        shown = await asks.get(ledger)
        assert re.findall(r"/bookings/requests/([0-9a-f-]{36})", shown.text) == [str(third)]
        # What is confirmed is handed over with the whole session.
        (path,) = re.findall(r"/bookings/[0-9a-f-]{36}/hand-over\?place=[0-9a-f-]{36}", shown.text)
        assert path.startswith(f"/bookings/{first}/")
        assert (await asks.get(path)).status_code == 200


async def test_an_administrator_who_does_not_manage_the_team_sees_no_requests_in_the_ledger(
    client: httpx2.AsyncClient, runtime: Runtime, as_: As, team: HostedTeam
) -> None:
    admin = await open_account(runtime, "Admin")
    async with runtime.transaction(OPERATOR) as work:
        await add_organization_member(work, team.organization, admin, role=Role.ADMIN)
    await ask(client, team, TEN)
    async with as_(admin) as asks:
        shown = await asks.get(f"/organization/teams/{team.id}/event-types/{team.event_type.id}/ledger")
    assert shown.status_code == 200
    assert "Waits for an answer" in shown.text
    assert "/bookings/requests/" not in shown.text
    assert "Jonas" not in shown.text


async def test_a_request_is_handed_over_on_a_page_and_the_new_host_is_asked(
    client: httpx2.AsyncClient, runtime: Runtime, as_: As, clock: MovingClock
) -> None:
    team = await open_team(runtime, 2, requires_confirmation=True)
    asked, _ = await ask(client, team, TEN)
    (host_id,) = await list_hosts(runtime, asked)
    host, other = sorted(team.hosts, key=lambda each: each.id != host_id)
    path = f"/bookings/requests/{asked}"
    async with as_(host) as host_asks, as_(other) as other_asks:
        assert (await other_asks.get(f"/bookings/{asked}/hand-over")).status_code == 404
        assert "Hand over…" in read_page(await host_asks.get(path)).text
        shown = read_page(await host_asks.get(f"/bookings/{asked}/hand-over")).text
        assert "Hand over the request of Jonas Okafor" in shown
        assert f"At the moment this is {other.name}" in shown
        sent = await host_asks.post(f"/bookings/{asked}/hand-over", data={"place": str(host.id), "to": ""})
        assert sent.headers["location"] == "/bookings/requests?done=request-handed-over"
        assert "The request was handed over." in read_page(await host_asks.get(sent.headers["location"])).text
        assert (await host_asks.get(path)).status_code == 404
        await work_off(runtime, clock)
        assert [each["subject"].partition(":")[0] for each in await messages(runtime, other.email)] == ["Request"]
        assert (await other_asks.post(f"{path}/confirm")).headers["location"] == f"/bookings/{asked}?done=confirmed"
        history = read_page(await other_asks.get(f"/bookings/{asked}")).text
        assert f"New: {other.name}, instead of {host.name}" in history
        assert f"{host.name} handed this request over" in history


async def test_a_host_answers_in_the_browser(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, team: HostedTeam
) -> None:
    for start in (TEN, TWELVE):
        await ask(client, team, start)
    page, faults = await open_as(browser, client, runtime, team.hosts[1], **CHECKED)
    await bring_axe(page)
    await page.goto("/bookings/requests")
    await check_page(page, "requests of a team")
    await page.get_by_role("region", name="Requests").get_by_role("link").first.click()
    await check_page(page, "a request of a team")
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("status")).to_contain_text("The request was confirmed")
    await page.goto("/bookings/requests")
    await page.get_by_role("region", name="Requests").get_by_role("link").first.click()
    await page.get_by_role("button", name="Decline").click()
    await expect(page.get_by_role("status")).to_contain_text("The request was declined")
    assert faults == []
