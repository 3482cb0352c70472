"""Pages of requests: listed at home and beside bookings, confirmed and declined, and nobody else's."""

import httpx2

from openslot.accounts.models import User
from openslot.core.work import Runtime
from tests.bookings.conftest import offer
from tests.bookings.support import book as ask
from tests.support.host import TEN, TWELVE
from tests.support.page import read_page


async def test_a_host_confirms_one_request_and_declines_another(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    first, second = await ask(runtime, asked, TEN, notes="Pricing for 12"), await ask(runtime, asked, TWELVE)

    home = read_page(await member.get("/")).text
    assert "2 requests wait for you" in home
    assert "Requests 2" in read_page(await member.get("/bookings")).text
    assert "Li" in read_page(await member.get("/bookings/requests")).text
    path = f"/bookings/requests/{first.id}"
    assert "Pricing for 12" in read_page(await member.get(path)).text
    assert await runtime.pool.fetchval("select count(*) from booking_requests where state <> 'waiting'") == 0

    confirmed = await member.post(f"{path}/confirm")
    assert confirmed.headers["location"] == f"/bookings/{first.id}?done=confirmed"
    assert "You confirmed this request" in read_page(await member.get(f"/bookings/{first.id}")).text
    assert (await member.get(path)).headers["location"] == f"/bookings/{first.id}"
    other = f"/bookings/requests/{second.id}"
    await member.post(f"{other}/decline", data={"reason": "I travel that day"})
    closed = read_page(await member.get(other)).text
    assert "You declined this request." in closed
    assert "I travel that day" in closed
    late = await member.post(f"{other}/confirm")
    assert late.status_code == 409
    assert "This request is no longer open" in read_page(late).text


async def test_a_request_of_somebody_else_is_not_found(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    theirs = await ask(runtime, await offer(runtime, stranger, "theirs", requires_confirmation=True), TEN)
    for path in ("", "/confirm", "/decline"):
        sent = member.post if path else member.get
        assert (await sent(f"/bookings/requests/{theirs.id}{path}")).status_code == 404
    assert "requests wait" not in read_page(await member.get("/")).text
