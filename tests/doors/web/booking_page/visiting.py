"""How tests visit the booking page: open it, wait for a zone, fill in the form, confirm."""

from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.access.limits import operations as limits
from openslot.doors.web.shared.views import VIEWS
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE
from tests.support.browsers import open_page


async def open_pages(runtime: Runtime, count: int, address: str = "127.0.0.1") -> None:
    """Open so many pages, as far as the log knows."""
    await limits.take_from_buckets(runtime.pool, [f"{VIEWS.name}:{address}"] * count, VIEWS.max_)


async def visit(browser: Browser, client: httpx2.AsyncClient, path: str = PAGE, **options: Any) -> Page:
    """Open a page that must not report an error."""
    page = await open_page(browser, client, **{"timezone_id": "Africa/Lagos", "locale": "en-GB", **options})
    page.on("pageerror", lambda fault: pytest.fail(f"the page failed: {fault}"))
    await page.goto(path)
    return page


async def in_zone(page: Page, city: str) -> None:
    """Wait until the times are those of a city."""
    await expect(page.get_by_role("button", name=f"Time zone: {city}")).to_be_visible()


async def fill(page: Page, name: str = "Jonas Okafor") -> None:
    """Fill in what every form asks for."""
    await page.get_by_label("Your name").fill(name)
    await page.get_by_label("Email address", exact=True).fill("jonas@okafor.example")


async def confirm(page: Page) -> None:
    """Book, and wait for the confirmation."""
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible()
