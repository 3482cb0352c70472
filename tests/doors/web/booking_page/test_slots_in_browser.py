"""A chosen slot in a real browser: held while its form is open, taken by another, released when it is left."""

import asyncio

import httpx2
import pytest
from playwright.async_api import Browser, Route, expect

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN, book, filled
from tests.doors.web.booking_page.visiting import confirm, fill, in_zone, visit
from tests.support.browsers import BOTH_WAYS

LIVE_HOLDS = "select count(*) from claims where active and kind = 'hold'"
BOOKED = "select to_char(starts_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') from bookings where status = 'CONFIRMED'"


async def test_a_slot_taken_before_the_form_opens_offers_others(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client)
    await in_zone(page, "Lagos")
    await book(client)
    await page.locator(f"button[value='{TEN}']").click()
    await expect(page.get_by_role("heading", name="This time was just taken")).to_be_visible()
    await expect(page.get_by_role("radio").first).to_be_focused()
    await page.keyboard.press("Space")
    await fill(page, "Ana Ruiz")
    await confirm(page)

    assert await runtime.pool.fetchval(f"{BOOKED} and invitee_name = 'Ana Ruiz'") == "2026-03-16 09:00"


@pytest.mark.parametrize("with_scripts", BOTH_WAYS)
async def test_a_slot_taken_under_the_eyes_keeps_what_was_typed(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, with_scripts: bool
) -> None:
    page = await visit(browser, client, f"{PAGE}?tz=Africa/Lagos", java_script_enabled=with_scripts)
    await page.route("**/api/public/holds", lambda route: route.fulfill(status=429, body="{}"))
    await page.locator(f"button[value='{TEN}']").click()
    await fill(page, "Ana Ruiz")
    await page.get_by_label("Notes").fill("Two words")
    await book(client)
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_role("heading", name="This time was just taken")).to_be_visible()

    await expect(page.get_by_role("radio")).to_have_count(3)
    if with_scripts:
        await expect(page.get_by_role("radio").first).to_be_focused()
    await expect(page.get_by_label("Your name")).to_have_value("Ana Ruiz")
    await expect(page.get_by_label("Notes")).to_have_value("Two words")
    await page.get_by_role("radio").nth(2).check()
    await confirm(page)
    assert await runtime.pool.fetchval(f"{BOOKED} and invitee_name = 'Ana Ruiz'") == "2026-03-16 10:30"


async def test_a_held_slot_is_booked_though_others_want_it(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client)
    await in_zone(page, "Lagos")
    async with page.expect_response("**/api/public/holds"):
        await page.locator(f"button[value='{TEN}']").click()
    refused = await client.post(PAGE, data=filled(name="Ana Ruiz"))
    await fill(page)
    await confirm(page)

    assert refused.status_code == 409
    assert await runtime.pool.fetchval(f"{BOOKED} and invitee_name = 'Jonas Okafor'") == "2026-03-16 10:00"


async def test_a_form_sent_before_its_hold_is_answered_books_with_that_hold(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client)
    answers: list[int] = []
    page.on("response", lambda one: answers.append(one.status) if one.url.endswith("/api/bookings") else None)

    is_sent = asyncio.Event()

    async def answer_late(route: Route) -> None:
        answer = await route.fetch()
        await is_sent.wait()
        await route.fulfill(response=answer)

    await page.route("**/api/public/holds", answer_late)
    await page.get_by_role("button", name="11:00", exact=True).click()
    await fill(page)
    await page.get_by_role("button", name="Confirm booking").click()
    is_sent.set()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible()

    assert answers == [200]
    assert await runtime.pool.fetchval(LIVE_HOLDS) == 0


async def test_a_time_that_is_chosen_again_is_booked_without_a_hold(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client)
    await in_zone(page, "Lagos")
    async with page.expect_response("**/api/public/holds"):
        await page.locator(f"button[value='{TEN}']").click()
    async with page.expect_response("**/api/public/holds/*"):
        await page.go_back()
    async with page.expect_response("**/api/public/holds") as again:
        await page.locator(f"button[value='{TEN}']").click()
    refused = (await again.value).status
    await fill(page)
    await confirm(page)

    assert refused == 429
    assert await runtime.pool.fetchval(f"{BOOKED} and invitee_name = 'Jonas Okafor'") == "2026-03-16 10:00"


async def test_a_slot_is_released_when_the_form_is_left(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client)
    await in_zone(page, "Lagos")
    eleven, twelve = (TEN.replace("T10", hour) for hour in ("T11", "T12"))
    for start, leave in ((TEN, page.go_back), (eleven, page.get_by_role("link", name="Choose another time").click)):
        async with page.expect_response("**/api/public/holds"):
            await page.locator(f"button[value='{start}']").click()
        assert await runtime.pool.fetchval(LIVE_HOLDS) == 1
        async with page.expect_response("**/api/public/holds/*"):
            await leave()
        assert await runtime.pool.fetchval(LIVE_HOLDS) == 0
        await expect(page.locator(f"button[value='{start}']")).to_be_focused()
    async with page.expect_response("**/api/public/holds"):
        await page.locator(f"button[value='{twelve}']").click()
    await page.goto("/mara")
    await expect(page.get_by_role("heading", name="Mara Lindqvist")).to_be_visible()
    async with asyncio.timeout(60):
        while await runtime.pool.fetchval(LIVE_HOLDS) > 0:
            await page.wait_for_timeout(20)
