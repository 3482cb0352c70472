"""HubSpot in a real browser: connect it, choose fields, book, and see what the portal refuses."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.crm.models import CrmConnection
from openslot.domains.event_types.models import Question
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_hubspot import TOKEN, FakeHubSpot
from tests.support.host import ELEVEN, TWELVE, Book, cancel, move
from tests.support.page_checks import CHECKED, check_pages

LONG = "What would you like to talk about, and what have you tried so far to make it work without us?"


async def visit(page: Page, path: str, hubspot: FakeHubSpot) -> AsyncIterator[str]:
    """Go through every state of the page of fields."""
    await page.goto(path)
    await expect(page.get_by_text("Enter only lower-case letters")).to_be_visible()
    yield "fields, one of which was refused"
    await page.get_by_label("Company").fill("shoe_size")
    await page.get_by_role("button", name="Save").first.click()
    await expect(page.locator("#fault-company")).to_be_visible()
    yield "a fault"
    await page.get_by_label("Company").fill("company")
    await page.get_by_role("button", name="Save").first.click()
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


async def connect_on_page(page: Page, token: str) -> None:
    await page.goto("/settings/crm")
    await page.get_by_role("link", name="HubSpot").click()
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Connect", exact=True).click()


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_connects_hubspot_and_follows_bookings_there(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    hubspot: FakeHubSpot,
    book: Book,
    *,
    scripts: bool,
) -> None:
    portal = hubspot.portal
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await connect_on_page(page, "pat-eu1-not-this-one")
    await expect(page.locator("#fault-secret")).to_contain_text("Was refused")
    await connect_on_page(page, TOKEN)
    await expect(page.get_by_role("status")).to_contain_text("The CRM is connected")
    await expect(page.get_by_role("main")).to_contain_text("HubSpot 145911")
    assert TOKEN not in await page.content()
    await page.get_by_role("link", name="Fields").click()
    await page.get_by_label("Last name").fill("")
    await page.get_by_label("First name").fill("jobtitle")
    await page.get_by_label("Outcome").select_option("Rescheduled")
    await page.get_by_role("button", name="Save").first.click()
    await expect(page.get_by_role("status")).to_contain_text("Saved")
    moved, cancelled = await book(), await book(TWELVE)
    await work_off(runtime, clock)
    await move(runtime, moved, ELEVEN)
    await cancel(runtime, cancelled)
    await work_off(runtime, clock)
    assert portal.contacts == [{"email": "jonas@okafor.example", "jobtitle": "Jonas"}]
    assert sorted(each["hs_meeting_outcome"] for each in portal.meetings) == ["CANCELED", "RESCHEDULED"]
    clock.now = ELEVEN + timedelta(hours=1)
    await page.goto(f"/bookings/{moved.id}")
    await page.get_by_role("button", name="no-show").click()
    await work_off(runtime, clock)
    assert sorted(each["hs_meeting_outcome"] for each in portal.meetings) == ["CANCELED", "NO_SHOW"]
    portal.allow_only("contacts", "jobtitle", "[a-z]+", "Enter only lower-case letters")
    refused = await book(TWELVE + timedelta(days=1), email="hana@kim.example", name="Hana Kim")
    await work_off(runtime, clock)
    await page.goto(f"/bookings/{refused.id}")
    await expect(page.get_by_role("main")).to_contain_text("Enter only lower-case letters (jobtitle)")
    await page.goto("/settings/crm")
    await expect(page.get_by_role("main")).to_contain_text("Enter only lower-case letters (jobtitle)")
    await page.get_by_role("link", name="Fields").click()
    await expect(page.locator("[id='refusal-first_name']")).to_contain_text("Enter only lower-case letters")
    await page.goto("/settings/crm")
    await page.get_by_role("link", name="Disconnect").click()
    await page.get_by_role("button", name="Disconnect").click()
    await expect(page.get_by_role("status")).to_contain_text("The CRM is disconnected")
    assert await runtime.pool.fetchval("select count(*) from crm_connections") == 0
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []
