"""Each host of a team's booking sees it in their dashboard, and changes it; others do not find it."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.bookings.models import Booking
from openslot.core.work import Runtime
from tests.bookings.support import AT
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import open_session
from tests.support.live import connect
from tests.support.team_bookings import add_people, book_with, hand_over, offer_as_team


@pytest.fixture
async def hosts(runtime: Runtime) -> list[User]:
    return await add_people(runtime, "Ana", "Jim", "Kim")


@pytest.fixture
async def booking(runtime: Runtime, user: User, hosts: list[User]) -> Booking:
    """A booking of Mara's event type that Ana and Jim host."""
    return await book_with(runtime, await offer_as_team(runtime, user), hosts[:2], AT)


@pytest.fixture
async def jim(client: httpx2.AsyncClient, runtime: Runtime, hosts: list[User]) -> AsyncIterator[httpx2.AsyncClient]:
    async with connect(str(client.base_url), headers=await open_session(runtime, hosts[1])) as other:
        yield other


@pytest.fixture
async def kim(client: httpx2.AsyncClient, runtime: Runtime, hosts: list[User]) -> AsyncIterator[httpx2.AsyncClient]:
    async with connect(str(client.base_url), headers=await open_session(runtime, hosts[2])) as other:
        yield other


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
    for client, sees in ((jim, True), (member, True), (kim, False)):
        answer = await client.get(path)
        assert answer.status_code == 200
        assert (f"/bookings/{booking.id}" in answer.text) is sees


async def test_the_list_names_the_team_and_the_other_hosts(
    jim: httpx2.AsyncClient, member: httpx2.AsyncClient, booking: Booking
) -> None:
    assert "Sales, with Ana" in (await jim.get("/bookings")).text
    assert "Sales, with Ana and Jim" in (await member.get("/bookings")).text


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
