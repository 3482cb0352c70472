"""Calendars, exports and deletion in a real browser: by hand, on a phone, without scripts, and for axe."""

import io
import zipfile
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.exports import operations as exports
from openslot.domains.people.deletions import advance_deletions
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import Connect
from tests.doors.web.calendars.support import EVENT, lose, spoil_password
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_google import FakeGoogle
from tests.support.google_host import EMAIL, google, settings
from tests.support.host import ELEVEN, Book
from tests.support.page_checks import CHECKED, PHONE, check_pages
from tests.support.passwords import PASSWORD as OWN_PASSWORD
from tests.support.radicale import PASSWORD, USER, Radicale

__all__ = ["google", "settings"]


@pytest.fixture
async def busy(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, connect: Connect, radicale: Radicale
) -> list[str]:
    """Give a host all that these pages show, and return their addresses."""
    good = await connect(await radicale.add_calendar("A calendar with a rather long name for a narrow phone"))
    bad = await connect(await radicale.add_calendar("Family"))
    await spoil_password(runtime, bad)
    booking = await book(name="Hana Kim With-A-Very-Long-Name-That-Does-Not-Break")
    await book(ELEVEN, name="Ivo Horvat", email="ivo@horvat.example")
    await lose(runtime, good, booking.id)
    async with runtime.transaction(OPERATOR) as work:
        await exports.request_data_export(work, user)
    await work_off(runtime, clock)
    clock.now += timedelta(minutes=6)
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await exports.request_data_export(work, user)
    await runtime.pool.execute(
        """update calendar_connections set failing_since = $1, failures = 1,
            last_error = 'calendars.sign_in_refused' where id = $2""",
        clock.now,
        bad.id,
    )
    return [
        "/settings/calendars",
        "/settings/calendars/connect",
        "/settings/calendars/missing",
        f"/settings/calendars/{good.id}",
        f"/settings/calendars/{bad.id}",
        f"/settings/calendars/{good.id}/disconnect",
        "/settings/data",
        "/settings/data/delete",
    ]


async def visit(page: Page, addresses: list[str]) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    for path in addresses:
        await page.goto(path)
        yield path
    await page.goto("/settings/calendars/connect")
    await page.get_by_role("button", name="Connect Google").click()
    await expect(page.get_by_role("link", name="Continue to Google")).to_be_visible()
    yield "what Google will ask for"
    await page.get_by_role("link", name="Continue to Google").click()
    await page.get_by_label("Email").fill(EMAIL)
    await page.get_by_role("button", name="continue").click()
    await expect(page.get_by_text("This was not allowed:")).to_be_visible()
    yield "what was not allowed"
    await page.goto("/settings/calendars")
    await page.get_by_role("button", name="Create a link").click()
    await page.wait_for_url("**/settings/calendars/feed")
    yield "a new link"
    await page.goto("/settings/calendars/feed/end")
    yield "end the link"
    await page.goto("/settings/calendars/connect")
    await page.get_by_label("Calendar URL").fill("ftp://calendar.example")
    await page.get_by_role("button", name="Connect this calendar").click()
    await expect(page.locator("#fault-url")).to_be_visible()
    yield "a fault"
    await page.goto("/settings/data/delete")
    await page.get_by_label("Your password").fill(OWN_PASSWORD)
    await page.get_by_role("button", name="Delete my account").click()
    await expect(page.get_by_role("heading", name="Your account is being deleted")).to_be_visible()
    yield "goodbye"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, google: FakeGoogle, busy: list[str]
) -> None:
    google.consents.sends_to = str(client.base_url).rstrip("/")
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, busy), "calendars")
    expected = ("400 (Bad Request)", "403 (Forbidden)")
    assert [fault for fault in faults if not any(each in fault for each in expected)] == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_connects_a_calendar_and_a_time_closes(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    *,
    scripts: bool,
) -> None:
    await radicale.put(f"{work_calendar}dentist.ics", EVENT.replace("\n", "\r\n"))
    page, faults = await open_as(
        browser, client, runtime, user, java_script_enabled=scripts, timezone_id="Europe/Berlin"
    )
    booking_page = "/mara/30min?day=2026-03-16&timezone=Europe%2FBerlin"
    # Eleven o'clock in Berlin.
    taken = page.locator('button[name=start][value^="2026-03-16T10:00"]')
    await page.goto(booking_page)
    await expect(taken).to_be_visible()
    await page.goto("/account")
    await page.get_by_role("link", name="Calendars", exact=True).click()
    await page.get_by_role("main").get_by_role("link", name="Connect a calendar").click()
    await page.get_by_label("Provider").select_option("Another CalDAV server")
    await page.get_by_label("Server address").fill(work_calendar)
    await page.get_by_label("User name").fill(USER)
    await page.get_by_label("App password").fill("wrong")
    await page.get_by_role("button", name="Connect", exact=True).click()
    await expect(page.locator("#fault-password")).to_contain_text("Was refused")
    await expect(page.get_by_label("Server address")).to_have_value(work_calendar)
    await page.get_by_label("App password").fill(PASSWORD)
    await page.get_by_role("button", name="Connect", exact=True).click()
    await expect(page.get_by_role("status")).to_contain_text("The calendar is connected")
    await work_off(runtime, clock)
    await page.goto(booking_page)
    await expect(page.locator('button[name=start][value^="2026-03-16T09:30"]')).to_be_visible()
    await expect(taken).to_have_count(0)
    await page.goto("/settings/calendars")
    await page.get_by_role("button", name="Test now").click()
    await expect(page.get_by_role("status")).to_contain_text("The connection works. The server shows 1 calendar.")
    await page.get_by_role("checkbox").uncheck()
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await page.wait_for_url("**?done=saved")
    await page.goto(booking_page)
    await expect(taken).to_be_visible()
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []


async def test_the_form_shows_only_what_the_provider_needs(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    await page.goto("/settings/calendars/connect")
    await expect(page.get_by_label("Server address")).to_be_hidden()
    await expect(page.get_by_text("app-specific password")).to_be_visible()
    await page.get_by_label("Provider").select_option("Nextcloud")
    await expect(page.get_by_label("Server address")).to_be_visible()
    await expect(page.get_by_text("app-specific password")).to_be_hidden()


async def test_an_export_is_followed_and_downloaded(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    book: Book,
    tmp_path: Path,
) -> None:
    await book()
    page, faults = await open_as(browser, client, runtime, user)
    await page.goto("/settings/data")
    await page.get_by_role("button", name="Request an export").click()
    await expect(page.get_by_role("progressbar")).to_be_visible()
    await work_off(runtime, clock)
    # The page notices by itself.
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="Download", exact=True).click(timeout=20_000)
    await (await downloading.value).save_as(tmp_path / "data.zip")
    file = zipfile.ZipFile(io.BytesIO((tmp_path / "data.zip").read_bytes()))
    assert b"Jonas Okafor" in file.read("bookings.csv")
    assert faults == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_deletes_the_account(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    book: Book,
    *,
    scripts: bool,
) -> None:
    booking = await book()
    page, _ = await open_as(browser, client, runtime, user, java_script_enabled=scripts, viewport=PHONE)
    await page.goto("/settings/data")
    await page.get_by_role("link", name="Delete your account…").click()
    await expect(page.get_by_text("Jonas Okafor")).to_be_visible()
    await page.get_by_label("Message to the invitees (optional)").fill("I am retiring. Thank you!")
    await page.get_by_label("Your password").fill("not my password")
    await page.get_by_role("button", name="Delete my account").click()
    await expect(page.locator("#fault-password")).to_be_visible()
    await expect(page.get_by_label("Message to the invitees (optional)")).to_have_value("I am retiring. Thank you!")
    await page.get_by_label("Your password").fill(OWN_PASSWORD)
    await page.get_by_role("button", name="Delete my account").click()
    await expect(page.get_by_role("heading", name="Your account is being deleted")).to_be_visible()
    await page.goto("/bookings")
    await expect(page.get_by_label("Password")).to_be_visible()
    answer = await page.goto("/mara")
    assert answer is not None
    assert answer.status == 404
    await advance_deletions(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select cancel_reason from bookings where id = $1", booking.id) == (
        "I am retiring. Thank you!"
    )
    for _ in range(3):
        await work_off(runtime, clock)
        await advance_deletions(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from users") == 0
