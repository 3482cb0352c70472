"""HubSpot in a real browser: connect it, choose fields, book, and see what the portal refuses."""

from collections.abc import AsyncIterator

import httpx2
from playwright.async_api import Browser, Page, expect

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.crm.models import CrmConnection
from openslot.event_types.models import Question
from tests.bookings.conftest import offer
from tests.support.browsers import open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_hubspot import FakeHubSpot
from tests.support.host import Book
from tests.support.page_checks import CHECKED, check_pages

LONG = "What would you like to talk about, and what have you tried so far to make it work without us?"


async def visit(page: Page, path: str, hubspot: FakeHubSpot) -> AsyncIterator[str]:
    """Go through every state of the page of fields."""
    await page.goto(path)
    await expect(page.get_by_text("Enter only lower-case letters")).to_be_visible()
    yield "fields, one of which was refused"
    await page.get_by_label("Company").fill("shoe_size")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#fault-company")).to_be_visible()
    yield "a fault"
    await page.get_by_label("Company").fill("company")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").first).to_contain_text("Saved")
    yield "saved"
    hubspot.is_down = True
    await page.goto(path)
    await expect(page.get_by_role("alert")).to_contain_text("could not be read from HubSpot")
    yield "no answer"


async def test_the_page_of_fields_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    connection: CrmConnection,
    hubspot: FakeHubSpot,
    book: Book,
) -> None:
    await offer(runtime, user, "asking", questions=(Question("topic", LONG), Question("budget", "Budget")))
    hubspot.portal.allow_only("contacts", "firstname", "[a-z]+", "Enter only lower-case letters")
    hubspot.portal.require("contacts", "jobtitle")
    await book()
    await work_off(runtime, clock)
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)

    await check_pages(page, visit(page, f"/settings/crm/{connection.id}/fields", hubspot), "HubSpot")

    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []
