"""An event type with a price: invitees get no times and read why, until they can pay; its host books as ever."""

import re
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.domains.event_types.models import EventType, Money
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import offer
from tests.support.host import open_session
from tests.support.page import read_page

TEN = "2026-03-16T10:00:00Z"
DAYS = {"timezone": "UTC", "startDate": "2026-03-16", "endDate": "2026-03-20"}
INVITEE = {"inviteeName": "Li", "inviteeEmail": "li@okafor.example", "inviteeTimezone": "UTC"}
WHY = "Invitees see no times, because it has a price and no account to pay to."


@pytest.fixture
async def paid(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "paid", price=Money(8000, "EUR"))


async def test_the_public_gets_no_times_no_hold_and_no_booking(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType
) -> None:
    slots = await client.get("/api/public/mara/paid/slots", params=DAYS)
    held = await client.post("/api/public/holds", json={"eventTypeId": str(paid.id), "startTime": TEN})
    booked = await client.post("/api/bookings", json={"eventTypeId": str(paid.id), "startTime": TEN, **INVITEE})

    assert (slots.status_code, slots.json()["data"]) == (200, [])
    assert (held.status_code, booked.status_code) == (409, 503)
    assert booked.headers["x-error-code"] == "payment_unavailable"
    assert await runtime.pool.fetchval("select count(*) from claims") == 0
    assert (await client.get("/api/public/mara/30min/slots", params=DAYS)).json()["data"]


@pytest.mark.parametrize("path", ["/mara/paid", f"/mara/paid?start={TEN}", "/mara/paid?month=2026-04"])
async def test_the_page_says_why_there_are_no_times(client: httpx2.AsyncClient, paid: EventType, path: str) -> None:
    page = await client.get(path)
    shown = read_page(page)

    assert "€80.00" in shown.text
    assert "This meeting costs money, and payments are not set up yet, so no times are shown." in shown.text
    assert "Ask Mara Lindqvist for a time." in shown.text
    assert "start" not in shown.fields
    assert "Confirm booking" not in shown.buttons
    assert "Can't be booked online yet" in read_page(await client.get("/mara")).text


async def test_a_host_reads_it_where_they_look_first(member: httpx2.AsyncClient, paid: EventType) -> None:
    for path in ("/event-types", f"/event-types/{paid.id}", "/availability/why?type=paid&day=2026-03-16"):
        assert WHY in read_page(await member.get(path)).text
    assert "Offers no times" in read_page(await member.get("/event-types")).text
    assert WHY not in read_page(await member.get("/availability/why?type=30min&day=2026-03-16")).text
    assert "payments are not set up yet" in read_page(await member.get(f"/event-types/{paid.id}/preview")).text


async def test_the_host_and_their_key_book_as_ever(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str], paid: EventType
) -> None:
    listed = await member.get("/api/v1/availability/paid", params=DAYS, headers=bearer)
    assert listed.json()["data"]
    assert read_page(await member.get("/bookings/new?type=paid&day=2026-03-16")).fields["start"].options
    made = await member.post(
        "/api/v1/bookings", json={"eventTypeSlug": "paid", "startTime": TEN, **INVITEE}, headers=bearer
    )
    assert made.status_code == 200
    member.headers.update(await open_session(runtime, user))
    # Whoever has such a booking can move it.
    manage = f"/manage/{manage_token(runtime, UUID(made.json()['bookingId']))}"
    assert "2026-03-17T09:00:00Z" in (await member.get(f"{manage}/reschedule?date=2026-03-17")).text


async def test_a_day_that_is_pressed_stands_once_in_the_address(client: httpx2.AsyncClient, intro: EventType) -> None:
    page = (await client.get("/mara/30min?date=2026-03-17")).text
    hidden = re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)"', page.partition("data-details")[0])
    assert '<button name="date" value="2026-03-18"' in page
    assert "date" not in dict(hidden)
    assert dict(hidden)["shown"] == "2026-03-17"

    # A press on a day wins over the one that is shown; every other press keeps that.
    for query, day in (("shown=2026-03-17&date=2026-03-18", "2026-03-18"), ("shown=2026-03-17&h=12", "2026-03-17")):
        assert f'name="shown" value="{day}"' in (await client.get(f"/mara/30min?{query}")).text
