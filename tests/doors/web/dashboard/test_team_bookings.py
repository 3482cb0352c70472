"""Each host of a team's booking sees it in their dashboard, and changes it; others do not find it."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import get_organization
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.agenda import store as agenda_store
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.support import AT
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import As, open_session
from tests.support.live import connect
from tests.support.locks import until_waiting
from tests.support.page import read_page
from tests.support.team_bookings import add_people, book_with, hand_over, offer_as_team


@pytest.fixture
async def hosts(runtime: Runtime) -> list[User]:
    return await add_people(runtime, "Ana", "Jim", "Kim")


@pytest.fixture
async def booking(runtime: Runtime, user: User, hosts: list[User]) -> Booking:
    """A booking of Mara's event type that Ana and Jim host; all three of them belong to the organization, and Kim."""
    event_type = await offer_as_team(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        organization = await get_organization(work, "acme-demo")
        for each in (user, *hosts):
            await members.add_organization_member(work, organization, each)
    return await book_with(runtime, event_type, hosts[:2], AT)


@pytest.fixture
async def jim(client: httpx2.AsyncClient, runtime: Runtime, hosts: list[User]) -> AsyncIterator[httpx2.AsyncClient]:
    async with connect(str(client.base_url), headers=await open_session(runtime, hosts[1])) as other:
        yield other


@pytest.fixture
async def kim(client: httpx2.AsyncClient, runtime: Runtime, hosts: list[User]) -> AsyncIterator[httpx2.AsyncClient]:
    async with connect(str(client.base_url), headers=await open_session(runtime, hosts[2])) as other:
        yield other


UPCOMING = re.compile(r'<span class="count">(\d+)</span>')
Leaving = Callable[[Runtime, User], Awaitable[None]]
LISTS = (
    "/",
    "/bookings",
    "/bookings/week?date=2026-03-16",
    "/bookings/day?date=2026-03-16",
    "/bookings/month?date=2026-03-16",
    "/search?q=jonas",
    "/bookings?q=jonas",
)


@pytest.mark.parametrize("path", LISTS)
async def test_a_host_and_the_owner_see_it_and_others_do_not(
    jim: httpx2.AsyncClient, kim: httpx2.AsyncClient, member: httpx2.AsyncClient, booking: Booking, path: str
) -> None:
    # The owner does not host it: it is found by its name, and where meetings of the teams are asked for.
    for client, sees in ((jim, True), (member, path.startswith("/search")), (kim, False)):
        answer = await client.get(path)
        assert answer.status_code == 200
        assert (f"/bookings/{booking.id}" in answer.text) is sees
    if path.startswith("/bookings"):
        answer = await member.get(f"{path}{'&' if '?' in path else '?'}hosts=teams")
        assert f"/bookings/{booking.id}" in answer.text


async def test_an_owner_has_what_colleagues_host_only_where_it_is_asked_for(
    member: httpx2.AsyncClient, jim: httpx2.AsyncClient, runtime: Runtime, booking: Booking
) -> None:
    async def count(client: httpx2.AsyncClient, view: str) -> list[tuple[int, int]]:
        pages = [
            await client.get("/bookings", params={"view": view, "hosts": hosts, "q": searched})
            for searched in ("", "jonas")
            for hosts in ("", "teams")
        ]
        return [
            (page.text.count(f'href="/bookings/{booking.id}"'), int(UPCOMING.findall(page.text)[0])) for page in pages
        ]

    week = await member.get("/bookings/week?date=2026-03-16")
    of_teams = await member.get("/bookings/week?date=2026-03-16&hosts=teams")
    own = await jim.get("/bookings/week?date=2026-03-16")

    assert await count(member, "upcoming") == [(0, 0), (1, 1)] * 2
    assert await count(jim, "upcoming") == [(1, 1), (1, 1)] * 2
    assert "Of my teams, too" in week.text
    assert "Only mine" in of_teams.text
    assert "theirs" in of_teams.text
    assert "· Ana · Jim" in read_page(of_teams).text
    assert "Of my teams, too" not in own.text
    assert "theirs" not in own.text
    assert "Download CSV" not in (await member.get("/bookings?view=past")).text
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))
    assert await count(member, "cancelled") == [(0, 0), (1, 0)] * 2
    assert await count(jim, "cancelled") == [(1, 0), (1, 0)] * 2
    # Neither view counts what it does not show.
    assert "Download CSV" not in (await member.get("/bookings?view=cancelled")).text
    assert "Download CSV" in (await member.get("/bookings?view=cancelled&hosts=teams")).text


async def test_a_bounded_number_of_what_colleagues_host_is_looked_at(runtime: Runtime, booking: Booking) -> None:
    counted = [
        await runtime.pool.fetchval(f"select {agenda_store.write_colleagues('CONFIRMED', most=most)}", booking.host_id)
        for most in (0, 1)
    ]

    assert counted == [0, 1]


async def test_the_list_names_the_team_and_the_other_hosts(
    jim: httpx2.AsyncClient, member: httpx2.AsyncClient, booking: Booking
) -> None:
    assert "Sales, with Ana" in (await jim.get("/bookings")).text
    assert "Sales, with Ana and Jim" in (await member.get("/bookings?hosts=teams")).text


async def test_the_owner_reads_which_host_was_written_to(
    runtime: Runtime, clock: MovingClock, member: httpx2.AsyncClient, hosts: list[User], booking: Booking
) -> None:
    await work_off(runtime, clock)
    page = (await member.get(f"/bookings/{booking.id}")).text
    for each in hosts[:2]:
        assert f"Confirmation to {each.email}" in page
    assert "Confirmation to you" not in page


async def test_the_page_of_a_booking_shows_a_host_who_hosts_it_and_nothing_of_the_owners(
    jim: httpx2.AsyncClient, kim: httpx2.AsyncClient, member: httpx2.AsyncClient, runtime: Runtime, booking: Booking
) -> None:
    await runtime.pool.execute("update bookings set private_notes = 'Wants a discount'")
    seen, own, missing = [await client.get(f"/bookings/{booking.id}") for client in (jim, member, kim)]

    assert missing.status_code == 404
    assert "Ana and Jim" in seen.text
    for hidden in ("Wants a discount", "/contacts/", "/event-types/", "Copy as curl", "Private notes"):
        assert (hidden in seen.text, hidden in own.text) == (False, True), hidden
    assert f"/bookings/{booking.id}/reschedule" in seen.text
    refused = await jim.post(f"/bookings/{booking.id}/notes", data={"private_notes": "Mine"})
    assert refused.status_code == 404


async def test_a_host_marks_a_no_show_and_cancels_and_others_can_not(
    jim: httpx2.AsyncClient, kim: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, booking: Booking
) -> None:
    clock.now = AT
    path = f"/bookings/{booking.id}"
    for client, status in ((kim, 404), (jim, 303)):
        assert (await client.post(f"{path}/no-show", data={"no_show": "yes"})).status_code == status
    assert await runtime.pool.fetchval("select no_show from bookings")
    for client, status in ((kim, 404), (jim, 303)):
        assert (await client.post(f"{path}/cancel", data={"reason": "Ill"})).status_code == status
    assert await runtime.pool.fetchval("select status from bookings") == "CANCELLED"
    assert "Jonas" in (await jim.get("/bookings?view=cancelled")).text


async def test_a_host_who_has_handed_it_over_does_not_see_it_any_more(
    jim: httpx2.AsyncClient, kim: httpx2.AsyncClient, runtime: Runtime, hosts: list[User], booking: Booking
) -> None:
    await hand_over(runtime, booking, [hosts[0], hosts[2]], reason="On holiday")

    assert (await jim.get(f"/bookings/{booking.id}")).status_code == 404
    seen = (await kim.get(f"/bookings/{booking.id}")).text
    assert "handed this booking over" in seen
    assert "On holiday" in seen


async def leave(runtime: Runtime, user: User) -> None:
    """End somebody's membership, as if a provider had removed them with many others: their bookings wait."""
    async with runtime.transaction(OPERATOR) as work:
        await members.end_membership(work, await get_organization(work, "acme-demo"), user)


async def be_removed(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, await get_organization(work, "acme-demo"), user)


async def be_suspended(runtime: Runtime, user: User) -> None:
    """Let a membership count no longer, of an account that stays open because the organization does not manage it."""
    await runtime.pool.execute("update memberships set active = false where user_id = $1", user.id)


async def write_contact(runtime: Runtime) -> None:
    await runtime.pool.execute("update contacts set phone = '+493012345678', company = 'Okafor Ltd'")


@pytest.mark.parametrize("leaves", [be_removed, be_suspended])
async def test_who_has_left_reads_what_they_hosted_without_the_contact_and_changes_nothing(
    runtime: Runtime, clock: MovingClock, as_: As, hosts: list[User], booking: Booking, leaves: Leaving
) -> None:
    path, jim = f"/bookings/{booking.id}", hosts[1]
    await write_contact(runtime)
    clock.now = AT + timedelta(hours=1)
    async with as_(jim) as client:
        before = read_page(await client.get(path))
    await leaves(runtime, jim)
    async with as_(jim) as client:
        after = read_page(await client.get(path))
        listed = await client.get("/bookings?view=past")
        marked = [
            await client.post(f"{path}/no-show", data={"no_show": "yes"}),
            await client.post(f"/home/no-show/{booking.id}", data={"no_show": "yes"}),
            await client.post("/bookings/selected/no-show", data={"id": str(booking.id)}),
        ]

    assert path in listed.text
    for page, belongs in ((before, True), (after, False)):
        assert "Jonas Okafor" in page.text
        assert "Ana and Jim" in page.text
        assert ("Mark as no-show" in page.buttons) is belongs
        for kept in ("+493012345678", "Okafor Ltd"):
            assert (kept in page.text) is belongs, kept
    assert [answer.status_code for answer in marked] == [404, 404, 200]
    assert read_page(marked[2]).notices == ["No booking was marked as a no-show."]
    assert not await runtime.pool.fetchval("select no_show from bookings")


async def test_who_has_left_and_whose_bookings_wait_changes_none_of_them(
    runtime: Runtime, as_: As, hosts: list[User], booking: Booking
) -> None:
    path, jim = f"/bookings/{booking.id}", hosts[1]
    await leave(runtime, jim)
    async with as_(jim) as client:
        page = read_page(await client.get(path))
        answers = [
            await client.get(f"{path}/cancel"),
            await client.get(f"{path}/reschedule"),
            await client.get(f"{path}/hand-over"),
            await client.post(f"{path}/cancel", data={"reason": "Mine"}),
            await client.post(f"{path}/reschedule", data={"start": "2026-03-16T15:00:00Z"}),
            await client.post(f"{path}/hand-over", data={"place": str(jim.id)}),
        ]
        selected = await client.post("/bookings/selected/cancel/confirm", data={"ids": str(booking.id)})
        shown = read_page(await client.get(f"/bookings/day?date=2026-03-16&booking={booking.id}"))

    assert [answer.status_code for answer in answers] == [404] * 6
    assert "Jonas Okafor" in page.text
    for addresses in (page.addresses, shown.addresses):
        assert not [each for each in addresses if each.startswith(f"{path}/")]
    assert "Booking not found" in read_page(selected).text
    row = await runtime.pool.fetchrow("select status, starts_at from bookings")
    assert row is not None
    assert (row["status"], row["starts_at"]) == ("CONFIRMED", booking.starts_at)


async def test_who_hands_a_selected_booking_over_meanwhile_does_not_change_it(
    runtime: Runtime, jim: httpx2.AsyncClient, hosts: list[User], booking: Booking
) -> None:
    lock = "select take_turn(3, r.no) from team_rules r where r.event_type_id = $1"
    replaced = "update booking_hosts set user_id = $2 where booking_id = $1 and user_id = $3"
    async with runtime.transaction(OPERATOR) as work:
        # What was selected has been read, and waits to be cancelled.
        await work.db.execute(lock, booking.event_type_id)
        confirm = jim.post("/bookings/selected/cancel/confirm", data={"ids": str(booking.id)})
        cancelling = asyncio.create_task(confirm)
        await until_waiting(runtime, 1)
        await work.db.execute(replaced, booking.id, hosts[2].id, hosts[1].id)
    page = read_page(await cancelling)

    assert "Jonas Okafor" in page.text
    assert "Booking not found" in page.text
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"
