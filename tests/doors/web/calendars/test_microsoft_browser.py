"""Microsoft 365 in a real browser: connect, choose, book, move it there, see it move here, cancel, disconnect."""

from datetime import timedelta

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_microsoft import FakeMicrosoft, Mailbox
from tests.support.fake_microsoft.events import EventChanges, GraphTime
from tests.support.host import TEN, TWELVE, Book
from tests.support.microsoft_host import EMAIL, mailbox, microsoft, settings

__all__ = ["mailbox", "microsoft", "settings"]

HALF = timedelta(minutes=30)


async def go_to_microsoft(page: Page) -> None:
    """Press the buttons that lead to Microsoft's page."""
    await page.goto("/settings/calendars")
    await page.get_by_role("main").get_by_role("link", name="Connect a calendar").click()
    await page.get_by_role("button", name="Connect Microsoft 365").click()
    await decide(page, "accept")


async def decide(page: Page, decision: str) -> None:
    await page.get_by_role("link", name="Continue to Microsoft").click()
    await page.get_by_label("Email").fill(EMAIL)
    await page.get_by_role("button", name=decision).click()


@pytest.fixture(autouse=True)
def sent_back(microsoft: FakeMicrosoft, client: httpx2.AsyncClient) -> None:
    """Let Microsoft send the browser back to where the service listens."""
    microsoft.login.sends_to = str(client.base_url).rstrip("/")


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_connects_microsoft_and_moves_a_booking_there(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    mailbox: Mailbox,
    book: Book,
    *,
    scripts: bool,
) -> None:
    mailbox.add_calendar("Family")
    page, faults = await open_as(
        browser, client, runtime, user, java_script_enabled=scripts, timezone_id="Europe/Berlin"
    )
    await go_to_microsoft(page)
    await expect(page.get_by_role("status")).to_contain_text("The calendar is connected")
    await work_off(runtime, clock)
    await page.goto("/settings/calendars")
    await page.get_by_role("link", name=EMAIL).first.click()
    await page.get_by_role("checkbox", name="Family").uncheck()
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await expect(page.get_by_role("checkbox", name="Family")).not_to_be_checked()
    booking = await book(TEN)
    await work_off(runtime, clock)
    (item,) = mailbox.calendars[mailbox.default].items
    start, end = (GraphTime(f"{at:%Y-%m-%dT%H:%M:%S}") for at in (TWELVE, TWELVE + HALF))
    mailbox.change(mailbox.default, item, EventChanges(start=start, end=end))
    connection_id = await runtime.pool.fetchval("select id from calendar_connections")
    assert await sync_connection(runtime, connection_id) is None
    # Noon in London is one o'clock in Berlin.
    await page.goto(f"/bookings/{booking.id}")
    await expect(page.get_by_role("main")).to_contain_text("13:00")
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))
    await work_off(runtime, clock)
    assert mailbox.calendars[mailbox.default].items == []
    # Nobody has got a mail from Microsoft.
    assert mailbox.mails == []
    await page.goto(f"/settings/calendars/{connection_id}/disconnect")
    await page.get_by_role("main").get_by_role("button", name="Disconnect").click()
    await expect(page.get_by_role("status")).to_contain_text("The calendar is disconnected")
    assert await runtime.pool.fetchval("select count(*) from oauth_grants") == 0
    assert faults == []


async def test_a_consent_that_is_refused_connects_nothing(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    await page.goto("/settings/calendars/connect")
    await page.get_by_role("button", name="Connect Microsoft 365").click()
    await decide(page, "cancel")

    await expect(page.get_by_role("alert")).to_contain_text("You cancelled")
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0
    await page.get_by_role("button", name="Try again").click()
    await decide(page, "accept")
    await expect(page.get_by_role("status")).to_contain_text("The calendar is connected")


@pytest.mark.parametrize("code", [65001, 90094])
async def test_that_only_an_administrator_can_allow_it_is_said_plainly(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, microsoft: FakeMicrosoft, code: int
) -> None:
    microsoft.login.people[EMAIL].admin_needed = code
    page, _ = await open_as(browser, client, runtime, user)
    await go_to_microsoft(page)
    await page.get_by_role("link", name="Return to the application without granting consent").click()

    await expect(page.get_by_role("alert")).to_contain_text("lets only its administrators allow new applications")
    await expect(page.get_by_role("main")).not_to_contain_text("AADSTS")
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0
    # Once one of them has allowed it, the same button works.
    microsoft.login.people[EMAIL].admin_needed = None
    await page.get_by_role("button", name="Try again").click()
    await decide(page, "accept")
    await expect(page.get_by_role("status")).to_contain_text("The calendar is connected")
