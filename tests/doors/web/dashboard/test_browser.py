"""The dashboard in a real browser: by hand, by key, on a phone, without scripts, and for axe."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx2
import pytest
from playwright.async_api import Browser, Page, Route, expect

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.requests import operations as requests
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import book as ask_for
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.forms import NOBODY
from tests.support.host import ELEVEN, TEN, TWELVE, Book, cancel, fail, listen, move
from tests.support.page_checks import CHECKED, PHONE, check_pages, unfold
from tests.support.teams import book_team, open_team


@pytest.fixture
async def busy(runtime: Runtime, user: User, clock: MovingClock, book: Book) -> str:
    """Give a host all that pages show, and return the address of a booking in which a step has failed."""
    await listen(runtime, user)
    await offer(runtime, user, "a-workshop-with-a-rather-long-name-for-a-phone")
    booking = await book(notes="Pricing for a team of 12", guests=("li@okafor.example",))
    await book(
        TEN + timedelta(days=1), name="Hana Kim With-A-Very-Long-Name-That-Does-Not-Break", email="h@kim.example"
    )
    await cancel(runtime, await book(TWELVE, name="Ivo Horvat", email="ivo@horvat.example"), reason="Ill today")
    await move(runtime, booking, TEN.replace(hour=14))
    await work_off(runtime, clock)
    await fail(runtime, clock)
    return f"/bookings/{booking.id}"


async def ask(runtime: Runtime, user: User, slug: str, start: datetime) -> str:
    """Request a time that the host confirms, and return the address of the request."""
    offered = await offer(runtime, user, slug, requires_confirmation=True)
    booking = await ask_for(runtime, offered, start, notes="Pricing for a team of 12", guests=("li@okafor.example",))
    return f"/bookings/requests/{booking.id}"


async def visit(page: Page, busy: str, requested: str, declined: str, of_team: str) -> AsyncIterator[str]:
    """Go through every page of the dashboard and every state of it that looks different."""
    for path in (
        "/",
        "/bookings",
        "/bookings/requests",
        requested,
        declined,
        "/bookings?view=cancelled",
        "/bookings?view=past",
        "/bookings?q=nobody",
        "/bookings?from=x",
        busy,
        f"{busy}/cancel",
        f"{busy}/reschedule",
        f"{busy}/reschedule?day=2199-01-01",
        of_team,
        f"{of_team}/hand-over",
        "/bookings/new",
        "/bookings/new?type=30min",
        "/analytics",
        "/help",
        "/pages",
        "/bookings/nothing",
        "/search?q=okafor",
        "/search?q=nobody",
        "/account",
    ):
        await page.goto(path)
        await unfold(page, "details.curl")
        yield path
    await page.goto("/bookings")
    await page.get_by_label("Select all on this page").check()
    yield "selected bookings"
    await page.get_by_role("button", name="Cancel…").click()
    yield "cancel selected bookings"
    # As if one of them had been deleted meanwhile.
    await page.locator("[name=ids]").evaluate("(field, id) => { field.value += id; }", f",{NOBODY}")
    await page.get_by_role("button", name="Cancel the bookings").click()
    yield "what could not be cancelled"
    await page.goto("/")
    await page.locator("#account > summary").click()
    yield "account menu"
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await expect(page.locator("#palette")).to_be_visible()
    await page.keyboard.type("jonas")
    await expect(page.locator("#palette").get_by_role("group", name="People")).to_be_visible()
    yield "palette"
    await page.keyboard.press("Escape")
    await expect(page.locator("#palette")).to_be_hidden()
    await page.keyboard.press("?")
    await expect(page.locator("#shortcuts")).to_be_visible()
    yield "shortcuts"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, busy: str
) -> None:
    requested = await ask(runtime, user, "asked", TWELVE + timedelta(days=1))
    declined = await ask(runtime, user, "declined", TWELVE + timedelta(days=2))
    async with runtime.transaction(OPERATOR) as work:
        ref = BookingRef(UUID(declined.rpartition("/")[2]), user.id)
        await requests.decline_booking_request(work, ref, reason="I travel that day")
    team = await open_team(runtime, 4, groups=[(1, [0, 1]), (1, [2, 3])], owner=user)
    of_team = f"/bookings/{(await book_team(runtime, team.event_type, TEN)).id}"
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, busy, requested, declined, of_team), "dashboard")
    # The browser reports the page that shows a wrong filter, as it should.
    assert [fault for fault in faults if "400 (Bad Request)" not in fault and "404 (Not Found)" not in fault] == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_moves_a_booking_and_cancels_it(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, *, scripts: bool
) -> None:
    await book()
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto("/")
    await page.get_by_role("link", name="Jonas Okafor").click()
    await page.get_by_role("link", name="Reschedule").click()
    await page.locator("label.slot", has_text="13:00").first.click()
    await page.get_by_label("Reason (optional)").fill("The train is late")
    await page.get_by_role("button", name="Reschedule the booking").click()
    await expect(page.get_by_role("status")).to_contain_text("The booking was rescheduled")
    await expect(page.get_by_text("13:00 – 13:30", exact=True)).to_be_visible()
    await page.get_by_role("link", name="Cancel…").click()
    await page.get_by_label("Reason (optional)").fill("Ill today, sorry")
    await page.get_by_role("button", name="Cancel this booking").click()
    await expect(page.get_by_role("status")).to_contain_text("The booking was cancelled")
    await expect(page.get_by_role("heading", name="Jonas Okafor", level=1)).to_contain_text("Cancelled")
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Bookings").click()
    await page.get_by_role("link", name="Cancelled", exact=True).click()
    await expect(page.get_by_role("link", name="Jonas Okafor")).to_contain_text("Ill today, sorry")
    assert faults == []


async def test_a_host_books_for_someone_without_scripts(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(browser, client, runtime, user, java_script_enabled=False, viewport=PHONE)
    await page.goto("/bookings")
    await page.get_by_role("link", name="New booking").first.click()
    await page.locator("label.slot", has_text="11:00").first.click()
    await page.get_by_label("Name of the invitee").fill("Priya Raman")
    await page.get_by_label("Email address of the invitee").fill("priya@raman.example")
    await page.get_by_role("button", name="Book", exact=True).click()

    await expect(page.get_by_role("status")).to_contain_text("The booking was created")
    await expect(page.get_by_role("heading", name="Priya Raman")).to_be_visible()


async def test_the_palette_finds_pages_by_key(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, faults = await open_as(browser, client, runtime, user)
    await page.goto("/")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("past")
    await expect(page.get_by_role("option", name="Past bookings")).to_have_attribute("aria-selected", "true")
    await expect(page.locator("#palette [role=option]:visible")).to_have_count(1)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/bookings?view=past")
    await page.keyboard.press("Control+k")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("option", name="Keyboard shortcuts")).to_have_attribute("aria-selected", "true")
    await page.keyboard.type("zzz")
    await expect(page.get_by_text("Nothing found")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#palette")).to_be_hidden()
    assert faults == []


async def test_the_palette_keeps_the_keys_that_are_pressed_while_it_loads(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, faults = await open_as(browser, client, runtime, user)
    pressed = asyncio.Event()

    async def answer_late(route: Route) -> None:
        await pressed.wait()
        await route.continue_()

    await page.route("**/help/palette*", answer_late)
    await page.goto("/")
    for key in ("Control+k", "ArrowDown", "ArrowUp", "ArrowUp"):
        await page.keyboard.press(key)
    pressed.set()
    await expect(page.get_by_role("option", name="Keyboard shortcuts")).to_have_attribute("aria-selected", "true")

    pressed.clear()
    await page.goto("/")
    await page.keyboard.press("Control+k")
    await page.keyboard.press("Escape")
    pressed.set()
    await expect(page.locator("#palette")).to_be_attached()
    await expect(page.locator("#palette")).to_be_hidden()

    pressed.clear()
    await page.goto("/")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("past")
    await page.keyboard.press("Enter")
    pressed.set()
    await page.wait_for_url("**/bookings?view=past")
    assert faults == []


async def test_the_palette_finds_a_person_while_typing_and_asks_once(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    page, faults = await open_as(browser, client, runtime, user)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("8000")[2] or request.url))
    await page.goto("/")
    assert not [url for url in asked if "palette." in url or "/help/palette" in url]
    await page.keyboard.press("Control+k")
    await page.keyboard.type("jonas")
    await expect(page.get_by_role("group", name="People").get_by_role("option")).to_have_count(1)
    await expect(page.get_by_role("group", name="Bookings").get_by_role("option")).to_have_count(1)
    assert len([url for url in asked if "/search/options" in url]) < 5
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/bookings/{booking.id}")
    asked.clear()
    await page.keyboard.press("Control+k")
    await expect(page.locator("#palette")).to_be_visible()
    assert faults == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_cancels_several_bookings_at_once(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, *, scripts: bool
) -> None:
    await book()
    await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto("/bookings")
    cancel_button = page.get_by_role("button", name="Cancel…")
    await expect(cancel_button).to_be_visible(visible=not scripts)
    if scripts:
        await page.get_by_label("Select all on this page").check()
        await expect(page.get_by_role("group", name="Selected bookings")).to_contain_text("2")
        await page.get_by_label("Select all on this page").uncheck()
        await expect(cancel_button).to_be_hidden()
    await page.get_by_label("Select Jonas Okafor").check()
    await page.get_by_label("Select Hana Kim").check()
    async with page.expect_download() as saved:
        await page.get_by_role("button", name="Download CSV").click()
    assert (await saved.value).suggested_filename.startswith("bookings-selected-")
    await cancel_button.click()
    await page.get_by_label("Reason (optional)").fill("Ill today")
    await page.get_by_role("button", name="Cancel the bookings").click()
    await expect(page.get_by_role("status")).to_contain_text("2 bookings were cancelled")
    assert faults == []


async def test_keys_lead_to_pages_and_stay_out_of_fields(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    # Between two keys no time passes, however slow the machine is.
    await page.clock.install()
    await page.goto("/")
    await page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    await page.keyboard.press("g")
    await page.keyboard.press("b")
    await page.wait_for_url("**/bookings")
    await page.keyboard.press("/")
    await page.keyboard.type("g?h")
    await expect(page.get_by_label("Name or email address")).to_have_value("g?h")
    await expect(page.locator("#shortcuts")).to_be_hidden()
    await page.goto("/account")
    await page.keyboard.press("/")
    await page.wait_for_url("**/bookings#q")
    await expect(page.get_by_label("Name or email address")).to_be_focused()
    await page.goto("/")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


async def test_without_scripts_the_palette_is_a_page(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    page, _ = await open_as(browser, client, runtime, user, java_script_enabled=False)
    await page.goto("/")
    await expect(page.locator("#palette")).to_be_hidden()
    await page.get_by_role("link", name="Find…").click()
    await page.get_by_role("main").get_by_role("link", name="Cancelled bookings").click()
    await page.wait_for_url("**/bookings?view=cancelled")
    await page.get_by_role("link", name="Find…").click()
    await page.get_by_label("Name of a person or an event type").fill("okafor")
    await page.get_by_role("button", name="Search").click()
    await page.get_by_role("main").get_by_role("link", name="Jonas Okafor").last.click()
    await page.wait_for_url(f"**/bookings/{booking.id}")


async def test_the_link_and_the_command_are_copied(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(
        browser, client, runtime, user, permissions=["clipboard-read", "clipboard-write"], viewport=PHONE
    )
    await page.goto("/")
    await page.get_by_role("button", name="Copy link").first.click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "http://127.0.0.1:8000/mara"
    await page.goto("/event-types")
    await page.locator("[data-copy]").first.click()
    await expect(page.locator("[data-copy]").first).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "http://127.0.0.1:8000/mara/30min"
    await page.goto("/bookings")
    await page.get_by_text("Copy as curl").click()
    await page.get_by_role("button", name="Copy", exact=True).click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "$OPENSLOT_KEY" in await page.evaluate("navigator.clipboard.readText()")


async def test_a_booking_is_shown_beside_the_list_where_there_is_room(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book(notes="Pricing for a team of 12")
    wide = {"width": 1920, "height": 1080}
    page, faults = await open_as(browser, client, runtime, user, viewport=wide)
    await page.goto("/bookings")
    row = page.get_by_role("link", name="Jonas Okafor")
    await row.click()

    beside = page.get_by_role("complementary", name="Jonas Okafor")
    await expect(beside).to_contain_text("Pricing for a team of 12")
    await expect(beside.get_by_role("button", name="Close")).to_be_focused()
    assert page.url.endswith("/bookings")
    await page.keyboard.press("Escape")
    await expect(beside).to_have_count(0)
    await expect(row).to_be_focused()
    await page.set_viewport_size({"width": 1280, "height": 800})
    await row.click()
    await page.wait_for_url(f"**/bookings/{booking.id}")
    assert faults == []
