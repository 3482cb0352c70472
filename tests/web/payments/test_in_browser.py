"""Journeys through the checkout: paid, declined and tried again, given up, without scripts, and from another site."""

import httpx2
from playwright.async_api import Browser, FrameLocator, Page, expect

from openslot.accounts.models import User
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from tests.payments.support import book_and_pay
from tests.support.browsers import open_as, open_page
from tests.support.fake_stripe import Books
from tests.web.payments.conftest import PAGE
from tests.web.widget.sites import open_site, page_with, site

START = f"{PAGE}?start=2026-03-20T10:00:00Z"


async def arrive(page: Page, books: Books, client: httpx2.AsyncClient, settings: Settings) -> None:
    """Wait for the checkout, and let it lead back to the server of the test."""
    await page.get_by_role("button", name="Pay", exact=True).wait_for()
    for each in books.objects.values():
        for name in ("success_url", "cancel_url"):
            if name in each:
                each[name] = each[name].replace(settings.public_url, str(client.base_url).rstrip("/"))


async def fill(page: Page | FrameLocator) -> None:
    await page.get_by_label("Your name").fill("Jonas Okafor")
    await page.get_by_label("Email address", exact=True).fill("jonas@okafor.example")
    await page.get_by_role("button", name="Continue to payment · €49.00").click()


async def test_declined_tried_again_and_paid(
    browser: Browser, client: httpx2.AsyncClient, settings: Settings, paid: EventType, books: Books
) -> None:
    page = await open_page(browser, client)
    await page.goto(START)
    await fill(page)
    await arrive(page, books, client, settings)
    await page.get_by_role("button", name="Pay with a card that is declined").click()
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible(timeout=20_000)
    await expect(page.get_by_text("€49.00 paid")).to_be_visible()


async def test_without_scripts_the_form_leads_to_the_checkout_back_and_to_it_again(
    browser: Browser, client: httpx2.AsyncClient, settings: Settings, paid: EventType, books: Books
) -> None:
    page = await open_page(browser, client, java_script_enabled=False)
    await page.goto(START)
    await fill(page)
    await arrive(page, books, client, settings)
    await page.reload()
    await page.get_by_role("link", name="Back").click()
    await expect(page.get_by_role("heading", name="Pay to confirm your booking")).to_be_visible()
    await page.get_by_role("link", name="Continue to payment").click()
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible(timeout=20_000)


async def test_from_another_site_the_checkout_opens_in_the_whole_window(
    browser: Browser, client: httpx2.AsyncClient, settings: Settings, paid: EventType, books: Books
) -> None:
    service = str(client.base_url).rstrip("/")
    element = f'<openslot-booking><a href="{service}{PAGE}">Book</a></openslot-booking>'
    async with site(browser, {"/": page_with(element, service=service)}, service=service) as address:
        page, _ = await open_site(browser, address, timezone_id="UTC")
        inside = page.frame_locator("openslot-booking iframe")
        await inside.locator("button[name=start]:visible").first.click()
        await fill(inside)
        await arrive(page, books, client, settings)
        await page.get_by_role("button", name="Pay", exact=True).click()
        await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible(timeout=20_000)


async def test_the_payment_is_shown_beside_the_list_of_bookings(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    page, _ = await open_as(browser, client, runtime, user, viewport={"width": 1920, "height": 1080})
    await page.goto("/bookings")
    await page.get_by_role("link", name="Jonas Okafor").click()
    beside = page.get_by_role("complementary", name="Jonas Okafor")
    await expect(beside).to_contain_text("€49.00 paid")
    await expect(beside).to_contain_text("Test mode")
    await beside.get_by_role("link", name="Refund…").click()
    await page.wait_for_url(f"**/payments/{payment.id}/refund")
