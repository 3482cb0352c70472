"""Where invitees are sent when they have booked: which addresses a host can set, and how people get there."""

from uuid import UUID

import httpx2
import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.rules import edition_of, find_event_type_faults, write_redirect
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.event_types.support import TALK
from tests.doors.web.booking_page.conftest import PAGE, filled
from tests.doors.web.booking_page.visiting import fill, in_zone, visit
from tests.support.browsers import BOTH_WAYS

THANKS = "https://shop.example/thanks?from=page&x=1#top"
ID = UUID(int=7)


@pytest.fixture
async def intro(runtime: Runtime, host: User) -> EventType:
    """A call after which people are sent to a shop."""
    return await offer(runtime, host, "intro-call", redirect_url=THANKS)


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://shop.example", f"https://shop.example?bookingId={ID}"),
        ("https://shop.example/a#top", f"https://shop.example/a?bookingId={ID}#top"),
        ("https://shop.example/a?b=1&c=%26#top", f"https://shop.example/a?b=1&c=%26&bookingId={ID}#top"),
    ],
)
def test_the_id_is_added_to_what_is_there(url: str, written: str) -> None:
    assert write_redirect(url, ID) == written


@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop.example",
        "//shop.example",
        "/thanks",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://shop.example",
        "https://",
        "https:///thanks",
        "https://mara:secret@shop.example",
        "https://bank.example@shop.example/",
        "https://shop.example\\@bank.example",
        "https://shop.example/a b",
        "https://shop.example/\r\nx: y",
        "https://shop.example/\x00",
        "https://[shop",
        "https://shop.example:99999/",
        "https://shöp.example/",
        f"https://shop.example/{'a' * 2048}",
    ],
)
def test_what_is_no_such_link_is_refused(url: str) -> None:
    assert list(find_event_type_faults(replace(TALK, redirect_url=url))) == ["redirectUrl"]


async def test_an_address_without_https_must_be_of_this_installation(
    runtime: Runtime, host: User, intro: EventType
) -> None:
    own = f"{runtime.settings.public_url}/mara"
    for url, is_taken in (("http://shop.example", False), (own, True), (None, True)):
        async with runtime.transaction(OPERATOR) as work:
            edited = replace(await event_types.get_event_type(work, host, intro.id), redirect_url=url)
            edition = edition_of(await event_types.get_event_type(work, host, intro.id))
            if is_taken:
                await event_types.edit_event_type(work, host, edited, edition=edition)
                continue
            with pytest.raises(Invalid) as refused:
                await event_types.edit_event_type(work, host, edited, edition=edition)
            assert list(refused.value.faults) == ["redirectUrl"]
    with pytest.raises(Invalid):
        await offer(runtime, host, "other", redirect_url="http://shop.example")


async def test_a_form_leads_there_once_with_the_id_and_no_token(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await client.get(f"{PAGE}?start=2026-03-16T10:00:00Z")
    assert "form-action 'self' https:" in page.headers["content-security-policy"]
    booked = await client.post(PAGE, data=filled())
    manage = booked.headers["location"]
    answer = await client.get(manage)

    booking_id = await runtime.pool.fetchval("select id from bookings")
    assert answer.status_code == 303
    assert answer.headers["location"] == f"https://shop.example/thanks?from=page&x=1&bookingId={booking_id}#top"
    assert manage.partition("?")[0].rpartition("/")[2] not in answer.headers["location"]
    # The link of the emails shows the booking.
    assert (await client.get(manage.partition("?")[0])).status_code == 200
    assert (await client.get(manage.replace("done=booked", "done=rescheduled"))).status_code == 200


async def test_a_cancelled_booking_leads_nowhere(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    manage = (await client.post(PAGE, data=filled())).headers["location"]
    await client.post(f"{manage.partition('?')[0]}/cancel", data={})
    assert (await client.get(manage)).status_code == 200


async def test_the_widget_says_that_it_is_booked_and_leads_the_whole_window_there(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    manage = (await client.post(f"{PAGE}?embed=1", data=filled())).headers["location"]
    answer = await client.get(manage)
    booking_id = await runtime.pool.fetchval("select id from bookings")
    assert answer.status_code == 200
    assert 'data-done="booked"' in answer.text
    target = f"https://shop.example/thanks?from=page&amp;x=1&amp;bookingId={booking_id}#top"
    assert f'href="{target}" target="_top" rel="noopener noreferrer" data-opens' in answer.text


async def test_the_detail_has_it_and_invitees_do_not_see_it_before(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    assert "shop.example" not in (await client.get("/api/public/mara/intro-call")).text
    assert "shop.example" not in (await client.get(PAGE)).text


@pytest.mark.parametrize("has_scripts", BOTH_WAYS)
async def test_browsers_go_there(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, has_scripts: bool
) -> None:
    path = f"{PAGE}?date=2026-03-17&tz=UTC"
    page = await visit(browser, client, path, java_script_enabled=has_scripts)
    await in_zone(page, "UTC")
    await page.get_by_role("button", name="12:00", exact=True).click()
    await expect(page.get_by_label("Your name")).to_be_visible()
    await fill(page)
    async with page.expect_request("https://shop.example/**") as asked:
        await page.get_by_role("button", name="Confirm booking").click()
    request = await asked.value
    assert request.url.partition("#")[0].endswith(f"bookingId={await runtime.pool.fetchval('select id from bookings')}")
    assert "manage" not in (await request.all_headers()).get("referer", "")
