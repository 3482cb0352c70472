"""A booking of a team is handed over on a page that says who could take it, and why the others can't."""

from contextlib import nullcontext
from datetime import timedelta
from uuid import UUID

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.support import AT
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.host import As, open_session
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.page_checks import CHECKED, bring_axe, check_page
from tests.support.statements import MAX_STATEMENTS, CountingPool, count_statements
from tests.support.teams import HostedTeam, book_alone, book_team, list_hosts, open_account, open_team


@pytest.fixture
async def team(runtime: Runtime) -> HostedTeam:
    return await open_team(runtime, 4)


@pytest.fixture
async def booking(runtime: Runtime, team: HostedTeam) -> Booking:
    return await book_team(runtime, team.event_type, AT)


async def get_host(runtime: Runtime, team: HostedTeam, booking: Booking) -> User:
    (host_id,) = await list_hosts(runtime, booking.id)
    return find_user(team, host_id)


def find_user(team: HostedTeam, user_id: UUID) -> User:
    return next(each for each in team.hosts if each.id == user_id)


async def make_manager(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update team_members set is_manager = true where user_id = $1", user.id)


def path_of(booking: Booking) -> str:
    return f"/bookings/{booking.id}/hand-over"


def path_of_ledger(team: HostedTeam) -> str:
    return f"/organization/teams/{team.id}/event-types/{team.event_type.id}/ledger"


async def test_the_page_says_who_could_take_it_and_why_the_others_can_not(
    runtime: Runtime, as_: As, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    busy, away, free = (each for each in team.hosts if each != host)
    await book_alone(runtime, busy, AT)
    await runtime.pool.execute(
        """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values (gen_random_uuid(), $1, $2, $3, '', $2)""",
        away.id,
        AT,
        AT + timedelta(hours=8),
    )
    async with as_(host) as client:
        assert f'href="{path_of(booking)}"' in (await client.get(f"/bookings/{booking.id}")).text
        shown = await client.get(path_of(booking))

    assert shown.status_code == 200
    for each, is_offered in ((free, True), (busy, False), (away, False)):
        assert (f'value="{each.id}"' in shown.text) is is_offered
    text = read_page(shown).text
    assert f"At the moment this is {free.name}" in text
    for sentence in (f"{busy.name} is in a meeting", f"{away.name} is out of office"):
        assert sentence in text


async def test_limits_are_a_reason_and_being_ahead_hinders_nobody_who_is_named(runtime: Runtime, as_: As) -> None:
    limited = await open_team(runtime, 2, host_per_day=1)
    await book_team(runtime, limited.event_type, AT - timedelta(hours=1))
    booking = await book_team(runtime, limited.event_type, AT)
    host = await get_host(runtime, limited, booking)
    (other,) = (each for each in limited.hosts if each != host)
    async with as_(host) as client:
        text = read_page(await client.get(path_of(booking))).text
    assert f"{other.name} has reached a limit per day" in text
    assert "Nobody else of the group is free at this time" in text

    strict = await open_team(runtime, 2, balance="total", max_lead=0)
    first = await book_team(runtime, strict.event_type, AT)
    host = await get_host(runtime, strict, first)
    (other,) = (each for each in strict.hosts if each != host)
    second = await book_team(runtime, strict.event_type, AT + timedelta(hours=1))
    third = await book_team(runtime, strict.event_type, AT + timedelta(hours=2))
    assert [await list_hosts(runtime, second.id), await list_hosts(runtime, third.id)] == [[other.id], [host.id]]
    async with as_(other) as client:
        shown = await client.get(path_of(second))
        assert f"{host.name} is 1 ahead" in read_page(shown).text
        assert "The next one by the team" not in read_page(shown).text
        named = {"place": str(other.id), "to": str(host.id)}
        assert (await client.post(path_of(second), data=named)).status_code == 303
    assert await list_hosts(runtime, second.id) == [host.id]


async def test_a_host_hands_their_place_over_and_does_not_find_the_booking_any_more(
    runtime: Runtime, as_: As, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    to = next(each for each in reversed(team.hosts) if each != host)
    async with as_(host) as client:
        sent = {"place": str(host.id), "to": str(to.id), "reason": "Ill today"}
        answer = await client.post(path_of(booking), data=sent)
        assert (answer.status_code, answer.headers["location"]) == (303, "/bookings?done=handed-over")
        assert "The booking was handed over" in read_page(await client.get(answer.headers["location"])).text
        assert (await client.get(f"/bookings/{booking.id}")).status_code == 404
        assert (await client.get(path_of(booking))).status_code == 404
    assert await list_hosts(runtime, booking.id) == [to.id]
    async with as_(to) as client:
        assert "Ill today" in read_page(await client.get(f"/bookings/{booking.id}")).text


async def test_the_page_of_a_booking_says_who_hosts_it_instead_of_whom(
    runtime: Runtime, as_: As, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    to = team.hosts[-1]
    async with as_(host) as client:
        await client.post(path_of(booking), data={"place": str(host.id), "to": str(to.id)})
    for somebody in (team.owner, to):
        async with as_(somebody) as client:
            text = read_page(await client.get(f"/bookings/{booking.id}")).text
        assert f"{host.name} handed this booking over" in text
        assert f"New: {to.name}, instead of {host.name}" in text

    # A new time at which the host is not free is told the same way.
    await book_alone(runtime, to, AT + timedelta(hours=1))
    async with as_(team.owner) as client:
        start = (AT + timedelta(hours=1)).isoformat()
        await client.post(f"/bookings/{booking.id}/reschedule", data={"start": start})
        text = read_page(await client.get(f"/bookings/{booking.id}")).text
    (now,) = await list_hosts(runtime, booking.id)
    assert f"New: {find_user(team, now).name}, instead of {to.name}" in text


async def test_nobody_named_means_the_next_one_by_the_rule(
    runtime: Runtime, as_: As, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    async with as_(team.owner) as client:
        answer = await client.post(path_of(booking), data={"place": str(host.id), "to": ""})
        assert answer.headers["location"] == f"/bookings/{booking.id}?done=handed-over"
        assert "The booking was handed over" in read_page(await client.get(answer.headers["location"])).text
    (now,) = await list_hosts(runtime, booking.id)
    assert now == team.hosts[1].id
    named = await runtime.pool.fetchval("select asked ->> 'isNamed' from assignments order by no desc limit 1")
    assert named is None


async def test_a_host_who_became_busy_is_refused_at_the_field(
    runtime: Runtime, as_: As, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    to = next(each for each in team.hosts if each != host)
    async with as_(host) as client:
        assert f'value="{to.id}"' in (await client.get(path_of(booking))).text
        await book_alone(runtime, to, AT)
        sent = {"place": str(host.id), "to": str(to.id), "reason": "Ill today"}
        refused = await client.post(path_of(booking), data=sent)

    assert refused.status_code == 409
    assert 'aria-describedby="fault-to"' in refused.text
    assert "This host is not free at this time" in read_page(refused).text
    assert f"{to.name} is in a meeting" in read_page(refused).text
    assert "Ill today" in refused.text
    assert await list_hosts(runtime, booking.id) == [host.id]


async def test_where_nobody_is_free_nothing_can_be_sent(
    runtime: Runtime, as_: As, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    for each in team.hosts:
        if each != host:
            await book_alone(runtime, each, AT)
    async with as_(host) as client:
        shown = await client.get(path_of(booking))
        assert "Nobody else of the group is free at this time" in read_page(shown).text
        assert 'name="to"' not in shown.text
        refused = await client.post(path_of(booking), data={"place": str(host.id)})
        assert refused.status_code == 409
        assert "No other host is free at this time" in read_page(refused).text
    assert await list_hosts(runtime, booking.id) == [host.id]


async def test_a_manager_hands_over_from_the_ledger_without_seeing_who_has_booked(
    runtime: Runtime, as_: As, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    manager = next(each for each in team.hosts if each != host)
    await make_manager(runtime, manager)
    async with as_(manager) as client:
        ledger = await client.get(path_of_ledger(team))
        assert f'href="{path_of(booking)}?place={host.id}"' in ledger.text
        shown = await client.get(f"{path_of(booking)}?place={host.id}")
        assert shown.status_code == 200
        assert "Hand over the booking with" not in read_page(shown).text
        answer = await client.post(path_of(booking), data={"place": str(host.id), "to": str(team.hosts[-1].id)})
        assert answer.headers["location"] == f"{path_of_ledger(team)}?done=handed-over"
        after = await client.get(answer.headers["location"])
        assert "The booking was handed over" in read_page(after).text
        # The newer choice says who hosts it now.
        assert f"{path_of(booking)}?place={team.hosts[-1].id}" in after.text
        assert f"{path_of(booking)}?place={host.id}" not in after.text
        # Whoever takes it themselves finds it.
        mine = await client.post(path_of(booking), data={"place": str(team.hosts[-1].id), "to": str(manager.id)})
        assert mine.headers["location"] == f"/bookings/{booking.id}?done=handed-over"
    assert await list_hosts(runtime, booking.id) == [manager.id]


async def test_others_do_not_find_the_page(runtime: Runtime, as_: As, team: HostedTeam, booking: Booking) -> None:
    host = await get_host(runtime, team, booking)
    colleague, suspended, _ = (each for each in team.hosts if each != host)
    await make_manager(runtime, suspended)
    await runtime.pool.execute("update memberships set active = false where user_id = $1", suspended.id)
    for somebody in (colleague, suspended, await open_account(runtime, "Stranger")):
        async with as_(somebody) as client:
            assert (await client.get(path_of(booking))).status_code == 404
            answer = await client.post(path_of(booking), data={"place": str(host.id), "to": str(somebody.id)})
            assert answer.status_code == 404
    assert await list_hosts(runtime, booking.id) == [host.id]


async def test_each_place_is_handed_over_within_its_own_group(runtime: Runtime, as_: As) -> None:
    team = await open_team(runtime, 4, groups=[(1, [0, 1]), (1, [2, 3])])
    booking = await book_team(runtime, team.event_type, AT)
    first, second = await list_hosts(runtime, booking.id)
    async with as_(team.owner) as client:
        for place, group in ((first, team.hosts[:2]), (second, team.hosts[2:])):
            shown = await client.get(f"{path_of(booking)}?place={place}")
            assert f'name="place" value="{place}"' in shown.text
            for each in team.hosts:
                assert (f'name="to" value="{each.id}"' in shown.text) is (each in group and each.id != place)
    async with as_(find_user(team, second)) as client:
        # A host may give their own place alone, whichever the address names.
        shown = await client.get(f"{path_of(booking)}?place={first}")
        assert f'name="place" value="{second}"' in shown.text
        assert (await client.post(path_of(booking), data={"place": str(first)})).status_code == 404
        gone = await client.post(path_of(booking), data={"place": "nobody"})
        assert gone.status_code == 400
    async with as_(team.owner) as client:
        wrong = await client.post(path_of(booking), data={"place": str(team.owner.id)})
        assert wrong.status_code == 400
        assert "The hosts have changed meanwhile" in read_page(wrong).text
    assert await list_hosts(runtime, booking.id) == [first, second]


async def test_what_is_over_can_not_be_handed_over(
    runtime: Runtime, as_: As, clock: MovingClock, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    clock.now = AT + timedelta(hours=1)
    async with as_(host) as client:
        assert path_of(booking) not in (await client.get(f"/bookings/{booking.id}")).text
        assert (await client.get(path_of(booking))).headers["location"] == f"/bookings/{booking.id}"
        refused = await client.post(path_of(booking), data={"place": str(host.id)})
        assert refused.status_code == 409
        assert "This booking is in the past" in read_page(refused).text


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_hands_over_in_a_browser(
    *,
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    team: HostedTeam,
    booking: Booking,
    scripts: bool,
) -> None:
    to = team.hosts[-1]
    page, faults = await open_as(browser, client, runtime, team.owner, java_script_enabled=scripts)
    await page.goto(f"/bookings/{booking.id}")
    await page.get_by_role("link", name="Hand over…").click()
    await expect(page.get_by_role("radio", name="The next one by the team's rule")).to_be_checked()
    await page.get_by_role("radio", name=to.name).check()
    await page.get_by_label("Reason (optional)").fill("Speaks Japanese")
    await page.get_by_role("button", name="Hand over").click()
    await expect(page.get_by_role("status")).to_contain_text("The booking was handed over")
    await expect(page.get_by_text("Speaks Japanese")).to_be_visible()
    assert faults == []
    assert await list_hosts(runtime, booking.id) == [to.id]


async def test_the_page_takes_five_statements_for_whoever_may_open_it(
    settings: Settings, runtime: Runtime, team: HostedTeam, booking: Booking
) -> None:
    host = await get_host(runtime, team, booking)
    manager = next(each for each in team.hosts if each != host)
    await make_manager(runtime, manager)
    sessions = [await open_session(runtime, each) for each in (team.owner, manager, host)]
    runtime.pool = pool = CountingPool(runtime.pool)
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url:
        for session in sessions:
            async with connect(url, headers=session) as asking:
                assert await count_statements(asking, pool, path_of(booking)) == (200, MAX_STATEMENTS), pool.asked


async def test_the_page_fits_a_phone_and_axe_finds_no_fault_in_its_states(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, team: HostedTeam, booking: Booking
) -> None:
    page, _ = await open_as(browser, client, runtime, team.owner, **CHECKED)
    await bring_axe(page)
    await page.goto(path_of(booking))
    for each in team.hosts[1:3]:
        await book_alone(runtime, each, AT)
    await page.get_by_role("radio", name=team.hosts[1].name).last.check()
    await page.get_by_role("button", name="Hand over").click()
    await check_page(page, "a host who became busy")
    await book_alone(runtime, team.hosts[3], AT)
    await page.goto(path_of(booking))
    await check_page(page, "nobody is free")
