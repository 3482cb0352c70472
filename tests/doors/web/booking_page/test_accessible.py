"""Every state of the booking pages, light and dark: no fault for axe, nothing wider than a phone, nothing too small."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
from playwright.async_api import Browser, Page

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.domains.event_types.operations import get_event_type_by_slug
from openslot.domains.reminders.operations import set_reminders
from openslot.domains.wait_list.operations import entry_token
from openslot.doors.web.shared.views import VIEWS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import PAGE, TEN, book
from tests.doors.web.booking_page.visiting import confirm, fill, in_zone, open_pages
from tests.support.browsers import open_page
from tests.support.founding import add_event_type, found_team
from tests.support.messaging import insert_number
from tests.support.page_checks import CHECKED, check_pages
from tests.support.wait_list import NINE, TUESDAY, book_day, cancel_day, get_offered, offer_day

ROOM, CALL = Location(LocationKind.IN_PERSON, "Room 2"), Location(LocationKind.PHONE, asks=LocationAsks.PHONE)


async def _send_messages(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        host = await get_user_by_email(work, "mara@lindqvist.example")
        await insert_number(runtime, user_id=host.id)
        await set_reminders(work, host, None, (60,), channels=["email", "sms"])


async def _agree(page: Page) -> AsyncIterator[str]:
    """Book with messages."""
    await page.goto(f"{PAGE}?start=2026-03-19T10:00:00Z")
    await fill(page)
    await page.get_by_label("Send me reminders").check()
    yield "messages"
    await page.get_by_label("Phone number").fill("12345")
    await page.get_by_role("button", name="Confirm booking").click()
    await page.wait_for_selector(".fault")
    yield "wrong phone number"
    await page.get_by_label("Phone number").fill("+4915112345678")
    await page.get_by_role("button", name="Confirm booking").click()
    await page.get_by_text("You agreed to get messages").wait_for()
    yield "booked with messages"


async def _choose(page: Page, client: httpx2.AsyncClient) -> AsyncIterator[str]:
    """Choose a duration, a location and a number of weeks, of which one is not free, and book the others."""
    # The host's clock is turned on 29 March.
    await book(client, "/mara/choosing", start="2026-03-31T09:00:00Z", location="in_person", email="ana@ruiz.example")
    await page.goto("/mara/choosing?date=2026-03-24&tz=UTC")
    yield "durations"
    await page.get_by_role("button", name="10:00", exact=True).click()
    await fill(page)
    await page.get_by_label("Mara Lindqvist will call you").check()
    await page.get_by_label("Your phone number").fill("+493012345678")
    await page.get_by_label("Repeat weekly").select_option("3")
    await page.get_by_role("button", name="Confirm booking").click()
    await page.wait_for_selector("#fault-weeks")
    yield "locations, and a week that is not free"
    await page.get_by_label("If a week is not free, book the other weeks").check()
    await confirm(page)
    await page.get_by_role("region", name="All dates").wait_for()
    yield "booked weekly"
    await page.get_by_role("link", name="Cancel…").click()
    await page.get_by_label("All 2 dates that are still to come").check()
    yield "cancel a series"


async def _request(page: Page) -> AsyncIterator[str]:
    """Request a time, and withdraw it."""
    await page.goto("/mara/confirmed?start=2026-03-18T10:00:00Z")
    await fill(page)
    yield "request"
    await page.get_by_role("button", name="Request this time").click()
    await page.get_by_role("heading", name="Your request was sent").wait_for()
    yield "requested"
    await page.get_by_role("button", name="Withdraw the request").click()
    await page.get_by_role("heading", name="Your request was withdrawn").wait_for()
    yield "withdrawn"


async def make_closed_link(runtime: Runtime) -> str | None:
    """Revoke a link of the page, and return its token."""
    async with runtime.transaction(OPERATOR) as work:
        host = await get_user_by_email(work, "mara@lindqvist.example")
        found = await get_event_type_by_slug(work, host, PAGE.rpartition("/")[2])
        _, made = await links.create_booking_link(work, host, found.id)
        await links.revoke_booking_link(work, host, made.link.id)
    return made.token


async def _wait(page: Page, client: httpx2.AsyncClient, runtime: Runtime) -> AsyncIterator[str]:
    """Join the wait list of a full day, confirm it, and book what is offered."""
    day = await get_offered(runtime, "full")
    booking = await book_day(runtime, day, NINE - timedelta(hours=1))
    await page.goto(f"/mara/full?date={TUESDAY}&tz=Europe/Berlin")
    yield "full day"
    await page.get_by_role("link", name="Join the wait list").click()
    yield "join"
    await page.get_by_label("Your name").fill("Li Wei")
    await page.get_by_label("Email address").fill("li@wei.example")
    await page.get_by_role("button", name="Join the wait list").click()
    await page.get_by_role("heading", name="Confirm your email address").wait_for()
    yield "joined"
    entry = await runtime.pool.fetchval("select id from wait_list_entries")
    link = f"/wait-list/{entry_token(runtime, entry)}"
    await page.goto(link)
    yield "unproven"
    await page.get_by_role("button", name="Confirm").click()
    await page.get_by_role("heading", name="You are on the wait list").wait_for()
    yield "waiting"
    await cancel_day(runtime, booking)
    await page.goto(link)
    yield "offered"
    await page.get_by_role("button", name="Confirm booking").click()
    await page.get_by_role("heading", name="Your meeting is confirmed").wait_for()
    await page.goto(link)
    yield "booked from the wait list"


async def _prove(page: Page) -> AsyncIterator[str]:
    """Be asked for the code of a mail, and enter a wrong one."""
    await page.goto(f"/mara/proven?start={TEN}")
    await fill(page)
    await page.get_by_role("button", name="Confirm booking").click()
    await page.get_by_label("Code from the email").wait_for()
    yield "code of a mail"
    await page.get_by_label("Code from the email").fill("12345")
    await page.get_by_role("button", name="Confirm booking").click()
    await page.wait_for_selector(".fault")
    yield "wrong code of a mail"


async def visit_all(page: Page, client: httpx2.AsyncClient, runtime: Runtime) -> AsyncIterator[str]:
    """Go through every state of every booking page."""
    manage = await book(client, start="2026-03-20T10:00:00Z")
    await _send_messages(runtime)
    for path in (
        "/mara",
        "/team/sales",
        "/team/sales/demo",
        f"{PAGE}?month=2027-01",
        "/mara/group",
        f"{PAGE}?view=zones",
        f"{PAGE}?embed=1",
    ):
        await page.goto(path)
        yield path
    await page.goto(PAGE)
    await in_zone(page, "Lagos")
    yield "calendar"
    await page.get_by_role("button", name="Time zone: Lagos").click()
    await page.wait_for_selector("dialog[open]")
    yield "zones"
    await page.keyboard.press("Escape")
    await page.goto("/mara/asking")
    await in_zone(page, "Lagos")
    await page.locator(f"button[value='{TEN}']").click()
    await page.wait_for_selector("[data-details]:not([hidden])")
    yield "form"
    await fill(page)
    await page.get_by_text("Add guests").click()
    await page.get_by_label("Email addresses of guests").fill("nobody")
    await page.get_by_label("I have read the terms").check()
    await page.get_by_role("button", name="Confirm booking").click()
    await page.wait_for_selector(".fault")
    yield "faults"
    async for state in _agree(page):
        yield state
    await page.goto(f"{PAGE}?start=2026-03-20T10:00:00Z")
    await page.wait_for_selector(".taken")
    yield "taken"
    for path, name in ((f"{manage}?done=booked", "booked"), (f"{manage}/reschedule", "reschedule")):
        await page.goto(path)
        yield name
    await page.locator(".day:not([hidden]) button").first.click()
    yield "new time"
    await page.goto(f"{manage}/cancel")
    yield "cancel"
    await page.get_by_role("button", name="Cancel the meeting").click()
    await page.wait_for_selector(".mark.bad")
    yield "cancelled"
    for walk in (_choose(page, client), _request(page), _prove(page)):
        async for state in walk:
            yield state
    async for state in _wait(page, client, runtime):
        yield state
    await page.goto(f"{PAGE}/qr")
    yield "code"
    await page.goto(f"{PAGE}?token={await make_closed_link(runtime)}")
    yield "closed link"
    await open_pages(runtime, VIEWS.max_)
    await page.goto(PAGE)
    yield "too many"


async def test_every_state_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    intro: EventType,
    asking: EventType,
    group: EventType,
    host: User,
) -> None:
    await offer(runtime, host, "confirmed", requires_confirmation=True)
    await offer(runtime, host, "proven", requires_email_verification=True)
    locations = (ROOM, CALL)
    await offer(runtime, host, "choosing", durations=(30, 60), location=ROOM, locations=locations, recurring_weeks=4)
    await offer_day(runtime, host, "full")
    await add_event_type(runtime, await found_team(runtime))
    page = await open_page(browser, client, timezone_id="Africa/Lagos", locale="en-GB", **CHECKED)
    await check_pages(page, visit_all(page, client, runtime), "booking page")


async def test_nothing_moves_for_those_who_asked_for_it(
    browser: Browser, client: httpx2.AsyncClient, intro: EventType
) -> None:
    context = await browser.new_context(base_url=str(client.base_url), reduced_motion="reduce")
    page = await context.new_page()
    await page.goto(PAGE)

    durations = "[...document.querySelectorAll('button, a')].map(one => getComputedStyle(one).transitionDuration)"
    assert set(await page.evaluate(durations)) == {"0s"}
