"""The booking page while answers are slow: what was done last counts, and a time is told in the zone it names."""

import asyncio

import httpx2
import pytest
from playwright.async_api import Browser, Page, Route, expect

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN
from tests.doors.web.booking_page.visiting import confirm, fill, in_zone
from tests.support.browsers import open_page

PAINTED = "() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"


async def visit_from(zone: str, browser: Browser, client: httpx2.AsyncClient, let_go: asyncio.Event) -> Page:
    """Open the page for a visitor whose zone is guessed, and keep the times in that zone back until told."""

    async def keep_back(route: Route) -> None:
        answer = await route.fetch()
        if is_guess(route.request.url):
            await let_go.wait()
        await route.fulfill(response=answer)

    page = await open_page(browser, client, timezone_id=zone, locale="en-GB")
    await page.route(f"**{PAGE}?*", keep_back)
    await page.goto(PAGE)
    await expect(page.get_by_role("grid")).to_be_visible()
    return page


def is_guess(url: str) -> bool:
    """Tell the question for the first month in another zone from that for the next month."""
    return "tz=" in url and "month=2026-04" not in url


async def release(page: Page, let_go: asyncio.Event) -> None:
    """Let the times in the visitor's zone arrive."""
    async with page.expect_response(lambda answer: is_guess(answer.url)) as coming:
        let_go.set()
    await (await coming.value).finished()
    await page.evaluate(PAINTED)


async def test_a_time_chosen_before_the_visitors_zone_is_known_is_told_in_that_zone(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    let_go = asyncio.Event()
    page = await visit_from("Asia/Tokyo", browser, client, let_go)
    await page.locator(f"button[value='{TEN}']").click()
    await expect(page.get_by_role("heading", name="Monday 16 March, 11:00")).to_be_visible()
    await release(page, let_go)

    await expect(page.get_by_role("heading", name="Monday 16 March, 19:00")).to_be_visible()
    await expect(page.get_by_text("Tokyo time")).to_be_visible()
    await fill(page)
    await confirm(page)
    assert await runtime.pool.fetchval("select invitee_zone from bookings") == "Asia/Tokyo"


async def test_a_time_that_is_in_another_month_in_the_visitors_zone_stays_as_it_was_chosen(
    browser: Browser, client: httpx2.AsyncClient, intro: EventType
) -> None:
    let_go = asyncio.Event()
    page = await visit_from("Pacific/Auckland", browser, client, let_go)
    await page.get_by_role("button", name="Tuesday 31 March, 16 times").click()
    await page.get_by_role("button", name="16:00", exact=True).click()
    await release(page, let_go)

    await expect(page.get_by_role("heading", name="Tuesday 31 March, 16:00")).to_be_visible()
    await expect(page.get_by_text("Berlin time")).to_be_visible()


@pytest.mark.parametrize("key", ["Enter", "PageDown"], ids=["button", "key"])
async def test_the_month_that_was_asked_for_last_stays(
    browser: Browser, client: httpx2.AsyncClient, intro: EventType, key: str
) -> None:
    let_go = asyncio.Event()
    page = await visit_from("Asia/Tokyo", browser, client, let_go)
    place = page.get_by_role("button", name="Next month") if key == "Enter" else page.locator("td [tabindex='0']")
    await place.first.press(key)
    await expect(page.get_by_role("heading", name="April 2026")).to_be_visible()
    await release(page, let_go)

    await expect(page.get_by_role("heading", name="April 2026")).to_be_visible()
    await in_zone(page, "Tokyo")
    await expect(page.locator("[data-picker]")).to_have_attribute("aria-busy", "false")
