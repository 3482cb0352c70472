"""The pages of assistants in a real browser, with and without scripts: choose, decide, read what was done."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from playwright.async_api import Browser, Page

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import ConnectedAssistant
from tests.support.browsers import open_as
from tests.support.host import Book
from tests.support.page_checks import CHECKED, check_pages

NARROW = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "java_script_enabled": False}
WIDE = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}


@pytest.mark.parametrize("options", [NARROW, WIDE], ids=["narrow", "wide"])
async def test_the_host_chooses_to_be_asked_and_decides(
    browser: Browser,
    assistant: ConnectedAssistant,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    book: Book,
    options: dict[str, object],
) -> None:
    booking = await book()
    page, faults = await open_as(browser, client, runtime, user, **options)
    await page.goto("/account")
    await page.click("section[aria-labelledby=assistants] td.name a")
    await page.select_option("[name=asks_first]", "destructive")
    await page.click("main form button")
    await page.wait_for_selector(".notice")
    await assistant.call("cancel_booking", bookingId=str(booking.id), reason="Ill today, sorry")
    await page.goto("/account/approvals")
    await page.click("td.act a")
    assert "Ill today, sorry" in await page.inner_text("main")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.click("text=Approve and carry out")
    await page.wait_for_selector(".notice")
    assert await runtime.pool.fetchval("select status from bookings") == "CANCELLED"
    await page.goto("/account/activity")
    assert "Cancel a booking" in await page.inner_text("main")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults == []


async def visit(page: Page, assistant: ConnectedAssistant, booking_id: str) -> AsyncIterator[str]:
    """Go through every page about what an assistant may do and has done."""
    await page.goto("/account/approvals")
    yield "nothing waits"
    await page.goto("/account/activity")
    yield "nothing was done"
    await page.goto("/account")
    await page.click("section[aria-labelledby=assistants] td.name a")
    yield "assistant"
    await page.select_option("[name=asks_first]", "destructive")
    await page.click("main form button")
    await page.wait_for_selector(".notice")
    yield "saved"
    await assistant.call("cancel_booking", bookingId=booking_id, reason="Ill today, sorry")
    await page.goto("/account/approvals")
    yield "approvals"
    await page.click("td.act a")
    yield "approval"
    await page.click("text=Approve and carry out")
    await page.wait_for_selector(".notice")
    yield "approved"
    await page.goto("/account/activity")
    yield "activity"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser,
    assistant: ConnectedAssistant,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    book: Book,
) -> None:
    booking = await book()
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, assistant, str(booking.id)), "assistants")
    assert faults == []
