"""The booking page over HTTP: what it shows once something was booked, and in the host's own color."""

import httpx2

from openslot.domains.accounts.models import ChosenBrand, User
from openslot.domains.accounts.profiles import operations as profiles
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN, book, starts_in
from tests.support.page import read_page


async def test_seats_show_what_is_left(client: httpx2.AsyncClient, group: EventType) -> None:
    await book(client, "/mara/group")
    page = (await client.get("/mara/group", params={"tz": "UTC"})).text

    assert f'value="{TEN}">10:00 <small>2 seats left</small>' in page
    assert page.count("3 seats left") == len(starts_in(page)) - 1


async def test_only_booking_pages_may_be_framed(client: httpx2.AsyncClient, intro: EventType) -> None:
    manage = await book(client)
    for path in ("/mara", PAGE, f"{PAGE}?start={TEN}", manage, f"{manage}/reschedule", f"{manage}/cancel"):
        policy = (await client.get(path)).headers["content-security-policy"]
        assert "frame-ancestors *" in policy, path
        assert "unsafe-inline" not in policy, path
    for path in ("/login", "/nobody", "/mara/nothing", "/manage/x", "/api/docs"):
        assert "frame-ancestors 'none'" in (await client.get(path)).headers["content-security-policy"], path


async def test_the_hosts_color_is_that_of_the_brand(
    client: httpx2.AsyncClient, runtime: Runtime, host: User, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await profiles.choose_brand(work, host, ChosenBrand(color="#15803d"))

    for path in ("/mara", PAGE):
        assert "/static/accent/15803d.css" in (await client.get(path)).text


async def test_a_time_that_was_taken_offers_the_three_nearest(client: httpx2.AsyncClient, intro: EventType) -> None:
    await book(client)
    page = await client.get(PAGE, params={"start": TEN})

    assert page.status_code == 409
    assert "This time was just taken" in read_page(page).headings
    assert starts_in(page.text) == ["2026-03-16T09:00:00Z", "2026-03-16T09:30:00Z", "2026-03-16T10:30:00Z"]
