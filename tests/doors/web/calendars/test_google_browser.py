"""Google Calendar in a real browser: connect, choose, book, move it at Google, see it move here, disconnect."""

from datetime import timedelta

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_google import FakeGoogle
from tests.support.google_host import EMAIL, allow, google, settings
from tests.support.host import TEN, TWELVE, Book

__all__ = ["google", "settings"]

HALF = timedelta(minutes=30)


async def go_to_google(page: Page) -> None:
    """Press the buttons that lead to Google's page."""
    await page.goto("/settings/calendars")
    await page.get_by_role("main").get_by_role("link", name="Connect a calendar").click()
    await page.get_by_role("button", name="Connect Google").click()
    await page.get_by_role("link", name="Continue to Google").click()
    await page.get_by_label("Email").fill(EMAIL)


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_connects_google_and_moves_a_booking_there(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    google: FakeGoogle,
    book: Book,
    *,
    scripts: bool,
) -> None:
    google.consents.sends_to = str(client.base_url).rstrip("/")
    account = google.accounts[EMAIL]
    account.add_calendar("Family")
    page, faults = await open_as(
        browser, client, runtime, user, java_script_enabled=scripts, timezone_id="Europe/Berlin"
    )
    await go_to_google(page)
    for box in await page.get_by_role("checkbox").all():
        await box.check()
    await page.get_by_role("button", name="continue").click()
    await expect(page.get_by_role("status")).to_contain_text("The calendar is connected")
    await work_off(runtime, clock)
    await page.goto("/settings/calendars")
    await page.get_by_role("link", name=EMAIL).first.click()
    await page.get_by_role("checkbox", name="Family").uncheck()
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await expect(page.get_by_role("checkbox", name="Family")).not_to_be_checked()
    booking = await book(TEN)
    await work_off(runtime, clock)
    times = {"start": {"dateTime": TWELVE.isoformat()}, "end": {"dateTime": (TWELVE + HALF).isoformat()}}
    account.edit(EMAIL, booking.id.hex, **times)
    connection_id = await runtime.pool.fetchval("select id from calendar_connections")
    assert await sync_connection(runtime, connection_id) is None
    # Noon in London is one o'clock in Berlin.
    await page.goto(f"/bookings/{booking.id}")
    await expect(page.get_by_role("main")).to_contain_text("13:00")
    await page.goto(f"/settings/calendars/{connection_id}/disconnect")
    await page.get_by_role("main").get_by_role("button", name="Disconnect").click()
    await expect(page.get_by_role("status")).to_contain_text("The calendar is disconnected")
    assert await runtime.pool.fetchval("select count(*) from oauth_grants") == 0
    assert faults == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_lets_google_invite(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    google: FakeGoogle,
    book: Book,
    *,
    scripts: bool,
) -> None:
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    await work_off(runtime, clock)
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto(f"/settings/calendars/{made.id}")
    box = page.get_by_role("checkbox", name="Invite people from this calendar")
    await expect(box).not_to_be_checked()
    await box.check()
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await expect(page.get_by_role("status")).to_contain_text("Your choices are saved")
    await expect(box).to_be_checked()

    booking = await book(TEN)
    await work_off(runtime, clock)
    assert [(each.to, each.kind) for each in google.accounts[EMAIL].mails] == [(booking.invitee_email, "invitation")]
    (told,) = await messages(runtime, booking.invitee_email)
    assert [each.get_content_type() for each in told.walk() if not each.is_multipart()] == ["text/plain", "text/html"]

    await box.uncheck()
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await expect(page.get_by_role("status")).to_contain_text("Your choices are saved")
    await expect(box).not_to_be_checked()
    await book(TWELVE)
    await work_off(runtime, clock)
    assert len(google.accounts[EMAIL].mails) == 1
    assert "text/calendar" in str((await messages(runtime, booking.invitee_email))[-1])
    assert faults == []


async def test_a_consent_that_is_refused_half_way_names_what_is_missing(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, google: FakeGoogle
) -> None:
    google.consents.sends_to = str(client.base_url).rstrip("/")
    page, _ = await open_as(browser, client, runtime, user)
    await go_to_google(page)
    await page.get_by_role("checkbox").first.check()
    await page.get_by_role("button", name="continue").click()
    await expect(page.get_by_role("alert")).to_contain_text("Not everything that is needed was allowed")
    await expect(page.get_by_role("main").get_by_role("listitem")).to_have_text(
        ["See and edit the events of your calendars"]
    )
    await page.get_by_role("button", name="Try again").click()
    await page.get_by_role("link", name="Continue to Google").click()
    await page.get_by_label("Email").fill(EMAIL)
    await page.get_by_role("button", name="cancel").click()

    await expect(page.get_by_role("alert")).to_contain_text("You cancelled")
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0
