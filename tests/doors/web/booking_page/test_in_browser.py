"""The booking page in a real browser: book, reschedule, cancel, in any zone, direction and size, by hand and by key."""

import json
import re
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import DEPENDING, PAGE, TEN
from tests.doors.web.booking_page.visiting import confirm, fill, in_zone, visit
from tests.support.browsers import BOTH_WAYS, open_page, tab_to
from tests.support.page_checks import OVERFLOW, PHONE, TOO_SMALL

LIVE_HOLDS = "select count(*) from claims where active and kind = 'hold'"
# On a busy machine half of the page may be painted before the rest has arrived; 0.1 counts as good.
PAINTED_IN_PARTS = 0.005
BOOKED = "select to_char(starts_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') from bookings where status = 'CONFIRMED'"
LISTEN = """() => {
  window.heard = [];
  for (const name of ["slotSelected", "booked", "rescheduled", "cancelled", "error"])
    document.addEventListener(`openslot:${name}`, (event) => window.heard.push([name, event.detail]));
}"""
SHIFTS = """() => new Promise((resolve) => {
  const seen = [];
  new PerformanceObserver((list) => seen.push(...list.getEntries())).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(seen.filter((one) => !one.hadRecentInput).reduce((sum, one) => sum + one.value, 0)), 300);
})"""


@pytest.mark.daily
async def test_book_reschedule_and_cancel(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client, f"{PAGE}?utm_source=Newsletter")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(f"{request.method} {request.url.partition('/api')[2]}"))
    await in_zone(page, "Lagos")
    await page.get_by_role("button", name="Tuesday 17 March, 16 times").click()
    await page.get_by_role("button", name="13:00", exact=True).click()
    await expect(page.get_by_role("heading", name="Tuesday 17 March, 13:00")).to_be_visible()
    await expect(page.get_by_label("Your name")).to_be_focused()
    await fill(page)
    await confirm(page)

    assert await runtime.pool.fetchval(BOOKED) == "2026-03-17 12:00"
    assert [each for each in requests if each.startswith("POST")] == ["POST /public/holds", "POST /bookings"]
    assert await runtime.pool.fetchval("select invitee_zone from bookings") == "Africa/Lagos"
    assert await runtime.pool.fetchval("select source from bookings") == "newsletter"
    assert await runtime.pool.fetchval(LIVE_HOLDS) == 0
    await page.get_by_role("link", name="Reschedule").click()
    await page.get_by_role("button", name="Wednesday 18 March, 16 times").click()
    await page.get_by_role("button", name="09:00", exact=True).click()
    await page.get_by_role("button", name="Reschedule", exact=True).click()
    await expect(page.get_by_role("heading", name="Your meeting has a new time")).to_be_visible()
    assert await runtime.pool.fetchval(BOOKED) == "2026-03-18 08:00"
    await page.get_by_role("link", name="Cancel…").click()
    await page.get_by_label("Reason").fill("Ill today, sorry")
    await page.get_by_role("button", name="Cancel the meeting").click()
    await expect(page.get_by_role("heading", name="Your meeting is cancelled")).to_be_visible()
    assert await runtime.pool.fetchval(BOOKED) is None


async def test_other_months_zones_and_clocks_come_without_leaving_the_page(
    browser: Browser, client: httpx2.AsyncClient, intro: EventType
) -> None:
    page = await visit(browser, client)
    await in_zone(page, "Lagos")
    await page.evaluate("() => { window.same = true; }")
    await page.get_by_role("button", name="Next month").click()
    await expect(page.get_by_role("heading", name="April 2026")).to_be_visible()
    await page.get_by_role("button", name="Time zone: Lagos").click()
    await page.get_by_label("Search for a city").fill("são pau")
    await page.keyboard.press("Enter")
    await in_zone(page, "Sao Paulo")
    await expect(page.get_by_role("heading", name="April 2026")).to_be_visible()
    await expect(page.get_by_role("button", name="04:00", exact=True)).to_be_visible()
    await page.get_by_role("button", name="12 h").click()
    await expect(page.get_by_role("button", name="4:00 am", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="12 h")).to_be_focused()
    await page.get_by_role("button", name="4:00 am", exact=True).click()
    await expect(page.get_by_text("Sao Paulo time")).to_be_visible()
    assert await page.evaluate("() => window.same")


async def test_the_week_between_two_clock_changes(
    browser: Browser, client: httpx2.AsyncClient, intro: EventType
) -> None:
    page = await visit(browser, client, timezone_id="America/New_York")
    await in_zone(page, "New York")
    for day, first in (("Friday 27 March", "04:00"), ("Monday 30 March", "03:00")):
        await page.get_by_role("button", name=f"{day}, 16 times").click()
        times = await page.locator(".day:not([hidden]) button").all_inner_texts()
        assert times[0] == first


async def test_faults_that_the_api_finds_stand_at_their_fields(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, asking: EventType
) -> None:
    page = await visit(browser, client, "/mara/asking")
    await in_zone(page, "Lagos")
    async with page.expect_response("**/api/public/holds"):
        await page.locator(f"button[value='{TEN}']").click()
    await fill(page)
    await page.get_by_label("I have read the terms").check()
    await page.get_by_label("Your phone number").fill("12")
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_text("Must begin with + and the country code")).to_be_visible()

    await expect(page.get_by_role("heading", name="Monday 16 March, 11:00")).to_be_visible()
    await expect(page.get_by_label("Your phone number")).to_be_focused()
    await page.get_by_label("Your phone number").fill("+49 30 123456")
    await page.get_by_text("Add guests").click()
    await page.get_by_label("Email addresses of guests").fill("li@okafor.example\nana@okafor.example")
    await confirm(page)
    assert await runtime.pool.fetchval("select cardinality(guests) from bookings") == 2
    assert await runtime.pool.fetchval(LIVE_HOLDS) == 0


async def test_questions_appear_with_the_answers_they_depend_on(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    await offer(runtime, host, "depending", questions=DEPENDING)
    page = await visit(browser, client, "/mara/depending")
    await in_zone(page, "Lagos")
    await page.locator(f"button[value='{TEN}']").click()
    await fill(page)
    await expect(page.get_by_label("Why Friday?")).to_be_hidden()
    await expect(page.get_by_label("In which language?")).to_be_hidden()
    await page.get_by_role("checkbox", name="Friday").check()
    await page.get_by_label("Why Friday?").fill("It is free")
    await page.get_by_label("I need a guide").check()
    await page.get_by_label("In which language?").select_option("de")
    await page.get_by_label("I need a guide").uncheck()
    await expect(page.get_by_label("In which language?")).to_be_hidden()
    await page.get_by_label("I agree to the terms").check()
    assert await page.evaluate(OVERFLOW) <= 0
    await confirm(page)

    stored = json.loads(await runtime.pool.fetchval("select answers::jsonb from bookings"))
    assert stored == {"days": ["Friday"], "why": "It is free", "terms": True}


async def test_a_lost_connection_is_said_and_sent_again_once(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client, f"{PAGE}?tz=Africa/Lagos")
    await page.locator(f"button[value='{TEN}']").click()
    await fill(page)
    keys: list[str] = []

    async def lose(route: Any) -> None:
        keys.append(route.request.headers["idempotency-key"])
        await route.fetch()
        await route.abort()

    await page.route("**/api/bookings", lose)
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_text("Check your connection and try again.")).to_be_visible()
    await page.unroute("**/api/bookings")
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible()
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1
    assert len(keys) == 1


async def test_right_to_left(browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType) -> None:
    page = await visit(browser, client, f"{PAGE}?date=2026-03-17", locale="ar", viewport=PHONE)
    await page.wait_for_selector("[data-city=لاغوس]")
    assert await page.evaluate("() => document.documentElement.dir") == "rtl"
    chosen = page.locator("td button[aria-pressed=true]")
    following = page.locator("td button[value='2026-03-18']")
    here, there = await chosen.bounding_box(), await following.bounding_box()
    assert here is not None
    assert there is not None
    assert there["x"] < here["x"]
    await chosen.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(following).to_be_focused()
    assert await page.evaluate(OVERFLOW) <= 0
    await page.locator(".day:not([hidden]) button").first.click()
    await page.fill("#name", "ليلى")
    await page.fill("#email", "layla@okafor.example")
    assert await page.evaluate(OVERFLOW) <= 0
    await page.locator("[data-form] .button-main").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("تم تأكيد اجتماعك")
    assert await runtime.pool.fetchval("select invitee_locale from bookings") == "ar"


async def test_on_a_phone(browser: Browser, client: httpx2.AsyncClient, asking: EventType, intro: EventType) -> None:
    page = await visit(browser, client, viewport=PHONE, has_touch=True, is_mobile=True)
    await in_zone(page, "Lagos")
    for state in ("calendar", "form", "confirmed"):
        await page.wait_for_load_state()
        assert await page.evaluate(OVERFLOW) <= 0, state
        assert await page.evaluate(TOO_SMALL) == [], state
        if state == "calendar":
            await page.get_by_role("button", name="Friday 20 March, 16 times").tap()
            await page.get_by_role("button", name="10:00", exact=True).tap()
            await expect(page.get_by_role("heading", name="Friday 20 March, 10:00")).to_be_focused()
        elif state == "form":
            await fill(page)
            await confirm(page)


async def test_everything_works_without_scripts(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client, "/mara", java_script_enabled=False)
    await page.get_by_role("link", name="Intro-Call").click()
    await page.get_by_role("button", name="Time zone: Berlin").click()
    await page.get_by_label("Search for a city").fill("lagos")
    await page.get_by_role("button", name="Search").click()
    await page.get_by_role("button", name="Lagos").click()
    await in_zone(page, "Lagos")
    await page.get_by_role("button", name="Next month").click()
    await page.get_by_role("button", name="Thursday 2 April, 16 times").click()
    await page.get_by_role("button", name="12 h").click()
    await page.get_by_role("button", name="Thursday 2 April, 16 times").click()
    await page.get_by_role("button", name="1:00 pm", exact=True).click()
    await expect(page.get_by_role("heading", name="Thursday 2 April, 1:00 pm")).to_be_visible()
    await fill(page)
    await confirm(page)
    assert await runtime.pool.fetchval(BOOKED) == "2026-04-02 12:00"
    await page.get_by_role("link", name="Reschedule").click()
    await page.locator(".day:not([hidden]) button").nth(3).click()
    await page.get_by_role("button", name="Reschedule", exact=True).click()
    await expect(page.get_by_role("heading", name="Your meeting has a new time")).to_be_visible()
    await page.get_by_role("link", name="Cancel…").click()
    await page.get_by_role("button", name="Cancel the meeting").click()
    await expect(page.get_by_role("heading", name="Your meeting is cancelled")).to_be_visible()
    assert await runtime.pool.fetchval(BOOKED) is None


async def test_keys_move_through_the_grid(browser: Browser, client: httpx2.AsyncClient, intro: EventType) -> None:
    page = await visit(browser, client, f"{PAGE}?date=2026-03-18&tz=Africa/Lagos")
    await page.locator("td button[aria-pressed=true]").focus()
    for key, label in (
        ("ArrowRight", "Thursday 19 March, 16 times"),
        ("ArrowLeft", "Wednesday 18 March, 16 times"),
        ("ArrowDown", "Wednesday 25 March, 16 times"),
        ("ArrowUp", "Wednesday 18 March, 16 times"),
        ("End", "Sunday 22 March, no times"),
        ("Home", "Monday 16 March, 16 times"),
        ("PageDown", "Thursday 16 April, 16 times"),
        ("PageUp", "Monday 16 March, 16 times"),
        ("ArrowUp", "Monday 9 March, no times"),
        ("ArrowUp", "Monday 2 March, no times"),
        ("ArrowUp", "Monday 2 March, no times"),
    ):
        await page.keyboard.press(key)
        await page.wait_for_function("label => document.activeElement.getAttribute('aria-label') === label", arg=label)
    assert await page.locator("td[tabindex='0'], td button[tabindex='0']").count() == 1


async def test_everything_works_by_keyboard_alone(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client)
    await in_zone(page, "Lagos")
    await tab_to(page, "td button")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Tuesday 17 March", exact=True)).to_be_visible()
    await tab_to(page, "button[name=view]")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Choose your time zone")).to_be_visible()
    await page.keyboard.type("tokyo")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await in_zone(page, "Tokyo")
    await expect(page.get_by_role("button", name="Time zone: Tokyo")).to_be_focused()
    await tab_to(page, "button[name=start]")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Your name")).to_be_focused()
    await page.keyboard.type("Jonas Okafor")
    await tab_to(page, "#email")
    await page.keyboard.type("jonas@okafor.example")
    await tab_to(page, ".button-main")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_focused()
    assert await runtime.pool.fetchval(BOOKED) == "2026-03-16 15:00"


async def test_nothing_shifts_and_nothing_is_asked_of_others(
    browser: Browser, client: httpx2.AsyncClient, intro: EventType
) -> None:
    asked: list[str] = []
    faults: list[str] = []
    here: dict[str, Any] = {"timezone_id": "Africa/Lagos", "locale": "en-GB"}
    for options in ({}, {"viewport": PHONE}, {"timezone_id": "America/New_York"}):
        page = await open_page(browser, client, **{**here, **options})
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        await page.goto(PAGE)
        await page.wait_for_load_state("networkidle")
        assert await page.evaluate(SHIFTS) < PAINTED_IN_PARTS, options
        assert asked, options
        assert [url for url in asked if not url.startswith(str(client.base_url))] == [], options
        assert faults == [], options
        asked.clear()


async def test_a_page_around_it_is_told_ids_and_times_only(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    page = await visit(browser, client, f"{PAGE}?tz=Africa/Lagos")
    await page.context.add_init_script(f"({LISTEN})()")
    await page.reload()
    await page.locator(f"button[value='{TEN}']").click()
    assert await page.evaluate("() => window.heard") == [
        ["slotSelected", {"eventTypeId": str(intro.id), "startTime": TEN}]
    ]
    await fill(page)
    await confirm(page)
    booking_id = str(await runtime.pool.fetchval("select id from bookings"))
    times = {"bookingId": booking_id, "startTime": TEN, "endTime": "2026-03-16T10:30:00Z"}
    # The script tells it, and then takes the word from the address.
    await expect(page).not_to_have_url(re.compile("done="))
    assert await page.evaluate("() => window.heard") == [["booked", times]]
    await page.reload()
    assert await page.evaluate("() => window.heard") == []
    await page.get_by_role("link", name="Cancel…").click()
    await page.get_by_role("button", name="Cancel the meeting").click()
    await expect(page.get_by_role("heading", name="Your meeting is cancelled")).to_be_visible()
    await expect(page).not_to_have_url(re.compile("done="))
    assert await page.evaluate("() => window.heard") == [["cancelled", times]]


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_request_a_time_and_withdraw_it(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, host: User, *, scripts: bool
) -> None:
    await offer(runtime, host, "confirmed", requires_confirmation=True)
    page = await visit(browser, client, f"/mara/confirmed?start={TEN}&tz=Africa/Lagos", java_script_enabled=scripts)
    await expect(page.get_by_text("Mara Lindqvist confirms each request")).to_be_visible()
    if scripts:
        await page.add_init_script(f"({LISTEN.replace('booked', 'requested')})()")
    await fill(page)
    await page.get_by_role("button", name="Request this time").click()
    await expect(page.get_by_role("heading", name="Your request was sent")).to_be_visible()
    if scripts:
        assert [name for name, _ in await page.evaluate("window.heard")] == ["requested"]
    assert await runtime.pool.fetchval("select state from booking_requests") == "waiting"
    await page.get_by_role("button", name="Withdraw the request").click()
    await expect(page.get_by_role("heading", name="Your request was withdrawn")).to_be_visible()
    await page.get_by_role("link", name="Choose another time").click()
    await expect(page.get_by_role("heading", name="Confirmed")).to_be_visible()
    assert await runtime.pool.fetchval("select state from booking_requests") == "withdrawn"
    assert not await runtime.pool.fetchval("select count(*) from claims where active and kind <> 'hold'")
