"""A visitor of another site books, reschedules and cancels in the widget, and the site hears of it."""

import re

import httpx2
import pytest
from playwright.async_api import Browser, FrameLocator, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import Location, LocationAsks, LocationKind
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.widget.sites import MODES, open_site, page_with, press_escape, site, wait_for_event
from tests.support.email_codes import read_code
from tests.support.host import open_session
from tests.support.page import read_page

TIME = re.compile(r"^\d\d:\d\d$")
# Visits of programs are not counted, and a browser of tests names itself as one.
PERSON = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"


# The window leaves the site, so what it hears is read from its console.
TELL = """<script nonce="site">
document.addEventListener("booked", (event) => console.log(`booked ${event.detail.bookingId}`), true);
</script>"""


def element(service: str, mode: str, slug: str = "30min") -> str:
    """Write the element for an event type of the host."""
    return f'<openslot-booking mode="{mode}"><a href="{service}/mara/{slug}">Book a call</a></openslot-booking>'


async def expect_script(frame: FrameLocator) -> None:
    """Wait until the framed page has its script; before, a button opens a new page, as it does without scripts."""
    await expect(frame.get_by_role("grid")).to_be_visible()


async def book(page: Page, frame: FrameLocator) -> None:
    """Choose the first open time and, once it is held, fill in the form."""
    await expect_script(frame)
    async with page.expect_response(lambda response: response.url.endswith("/api/public/holds")):
        await frame.get_by_role("button", name=TIME).first.click()
    await frame.get_by_label("Your name").fill("Jonas Okafor")
    await frame.get_by_label("Email address", exact=True).fill("jonas@okafor.example")
    await frame.get_by_role("button", name="Confirm booking").click()
    await expect(frame.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible()


async def test_book_reschedule_and_cancel_on_another_site(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    service = str(client.base_url).rstrip("/")
    pages = {f"/{mode}": page_with(element(service, mode), service=service) for mode in MODES}
    async with site(browser, pages, service=service) as address:
        page, faults = await open_site(browser, f"{address}/inline", locale="en-GB", timezone_id="Europe/Berlin")
        for mode in MODES:
            await page.goto(f"{address}/{mode}")
            if mode != "inline":
                await page.get_by_role("button", name="Book a call").click()
            frame = page.frame_locator("openslot-booking iframe")
            await wait_for_event(page, "ready")
            await book(page, frame)
            selected, booked = await wait_for_event(page, "slotSelected"), await wait_for_event(page, "booked")
            assert selected.keys() == {"eventTypeId", "startTime"}, mode
            assert booked.keys() == {"bookingId", "startTime", "endTime"}, mode
            assert booked["startTime"] == selected["startTime"], mode

            await frame.get_by_role("link", name="Reschedule").click()
            await expect_script(frame)
            await frame.get_by_role("button", name=TIME).last.click()
            await frame.get_by_role("button", name="Reschedule", exact=True).click()
            rescheduled = await wait_for_event(page, "rescheduled")
            assert rescheduled["bookingId"] == booked["bookingId"], mode
            assert rescheduled["startTime"] != booked["startTime"], mode

            await frame.get_by_role("link", name="Cancel…").click()
            await frame.get_by_role("button", name="Cancel the meeting").click()
            assert await wait_for_event(page, "cancelled") == rescheduled, mode
            kinds = await page.evaluate("() => seen.map(([kind]) => kind)")
            assert kinds == ["ready", "slotSelected", "booked", "slotSelected", "rescheduled", "cancelled"], mode
            told = await page.evaluate("() => JSON.stringify([seen, messages])")
            assert "Okafor" not in told, mode
            assert "okafor" not in told, mode
            assert "/manage/" not in told, mode
            assert await page.context.cookies() == [], mode
            assert faults == [], mode


async def test_a_refused_booking_is_an_error_that_the_site_hears_of(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    service = str(client.base_url).rstrip("/")
    pages = {"/": page_with(element(service, "inline"), service=service)}
    async with site(browser, pages, service=service) as address:
        page, _ = await open_site(browser, address, locale="en-GB", timezone_id="Europe/Berlin")
        frame = page.frame_locator("openslot-booking iframe")
        await expect_script(frame)
        await frame.get_by_role("button", name=TIME).first.click()
        await frame.get_by_label("Your name").fill("Jonas Okafor")
        await frame.get_by_label("Email address", exact=True).fill("jonas@nowhere")
        await frame.get_by_role("button", name="Confirm booking").click()
        assert await wait_for_event(page, "error") == {"code": "invalid_request"}
        await expect(frame.locator(".fault")).to_be_visible()
        await expect(frame.get_by_label("Your name")).to_have_value("Jonas Okafor")


async def test_a_visitor_chooses_a_location_and_is_sent_where_the_host_wants(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    room, call = Location(LocationKind.IN_PERSON, "Room 2"), Location(LocationKind.PHONE, asks=LocationAsks.PHONE)
    thanks = "https://shop.example/thanks?from=widget#top"
    await offer(runtime, user, "talk", location=room, locations=(room, call), redirect_url=thanks)
    service = str(client.base_url).rstrip("/")
    pages = {"/": page_with(TELL + element(service, "inline", "talk"), service=service)}
    async with site(browser, pages, service=service) as address:
        page, faults = await open_site(browser, address, locale="en-GB", timezone_id="Europe/Berlin")
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text))
        await page.context.route("https://shop.example/**", lambda route: route.fulfill(body="Thanks"))
        frame = page.frame_locator("openslot-booking iframe")
        await expect_script(frame)
        await frame.get_by_role("button", name=TIME).first.click()
        await frame.get_by_label("Your name").fill("Jonas Okafor")
        await frame.get_by_label("Email address", exact=True).fill("jonas@okafor.example")
        number = frame.get_by_label("Your phone number")
        await expect(number).to_be_hidden()
        await frame.get_by_label("Mara Lindqvist will call you").check()
        await frame.get_by_role("button", name="Confirm booking").click()
        await expect(frame.locator("#fault-place-phone")).to_have_text("Is required")
        assert await wait_for_event(page, "error") == {"code": "invalid_request"}
        await expect(number).to_be_focused()
        await number.fill("+49 30 12345678")
        async with page.expect_request("https://shop.example/**") as asked:
            await frame.get_by_role("button", name="Confirm booking").click()
        await page.wait_for_url("https://shop.example/**")
        row = await runtime.pool.fetchrow(
            "select id, location ->> 'id' chosen, location ->> 'value' number from bookings"
        )
        assert row is not None
        assert page.url == f"https://shop.example/thanks?from=widget&bookingId={row['id']}#top"
        assert "/manage/" not in (await (await asked.value).all_headers()).get("referer", "")
        assert [each for each in told if each.startswith("booked")] == [f"booked {row['id']}"]
        assert (row["chosen"], row["number"]) == ("phone", "+493012345678")
        assert [each for each in faults if "400 (Bad Request)" not in each and "autofocus" not in each] == []


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")], ids=["desk, light", "phone, dark"])
async def test_a_visitor_enters_the_code_in_the_frame(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, width: int, theme: str
) -> None:
    await offer(runtime, user, "talk", requires_email_verification=True)
    service = str(client.base_url).rstrip("/")
    framed = element(service, "inline", "talk").replace("<openslot-booking ", f'<openslot-booking theme="{theme}" ')
    pages = {"/": page_with(framed, service=service)}
    async with site(browser, pages, service=service) as address:
        viewport = {"width": width, "height": 900}
        page, faults = await open_site(browser, address, locale="en-GB", timezone_id="Europe/Berlin", viewport=viewport)
        frame = page.frame_locator("openslot-booking iframe")
        await expect_script(frame)
        await frame.get_by_role("button", name=TIME).first.click()
        await frame.get_by_label("Your name").fill("Jonas Okafor")
        await frame.get_by_label("Email address", exact=True).fill("jonas@okafor.example")
        await frame.get_by_role("button", name="Confirm booking").click()
        field = frame.get_by_label("Code from the email")
        await expect(field).to_be_focused()
        assert await wait_for_event(page, "error") == {"code": "email_verification_required"}
        assert await runtime.pool.fetchval("select count(*) from claims where active and kind = 'hold'") == 1
        await field.fill(await read_code(runtime))
        await frame.get_by_role("button", name="Confirm booking").click()
        booked = await wait_for_event(page, "booked")
        assert booked["bookingId"] == str(await runtime.pool.fetchval("select id from bookings"))
        assert [each for each in faults if "403 (Forbidden)" not in each and "autofocus" not in each] == []


async def test_escape_closes_what_is_open_in_the_frame_before_the_popup(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    service = str(client.base_url).rstrip("/")
    pages = {"/": page_with(element(service, "popup"), service=service)}
    async with site(browser, pages, service=service) as address:
        page, _ = await open_site(browser, address, locale="en-GB", timezone_id="Europe/Berlin")
        await page.get_by_role("button", name="Book a call").click()
        frame, popup = page.frame_locator("openslot-booking iframe"), page.locator("openslot-booking dialog")
        await expect_script(frame)
        await frame.get_by_role("button", name="Time zone:").click()
        await expect(frame.get_by_role("dialog")).to_be_visible()
        await press_escape(page)
        await expect(frame.get_by_role("dialog")).to_be_hidden()
        await expect(popup).to_be_visible()
        await press_escape(page)
        await expect(popup).to_be_hidden()


async def test_the_framed_page_follows_the_sites_language_and_colors(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    service = str(client.base_url).rstrip("/")
    shown = f'<openslot-booking theme="dark" accent="#aa3300" url="{service}/mara/30min"></openslot-booking>'
    markup = f'<div lang="de">{shown}</div>'
    async with site(browser, {"/": page_with(markup, service=service)}, service=service) as address:
        page, _ = await open_site(browser, address, locale="en-GB")
        frame = page.frame_locator("openslot-booking iframe")
        await wait_for_event(page, "ready")
        await expect(frame.locator("html")).to_have_attribute("lang", "de")
        await expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
        await expect(frame.locator("link[href*='accent/aa3300']")).to_have_count(1)


async def test_only_booking_pages_can_be_framed(client: httpx2.AsyncClient, user: User) -> None:
    for path in ("/mara", "/mara/30min", "/mara/30min?embed=1"):
        assert "frame-ancestors *" in (await client.get(path)).headers["content-security-policy"]
    for path in ("/login", "/account", "/widget-demo", "/mara/30min/qr", "/api/docs", "/nobody"):
        assert "frame-ancestors 'none'" in (await client.get(path)).headers["content-security-policy"]


async def test_a_booking_in_the_widget_counts_for_the_site_that_shows_it(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    service = str(client.base_url).rstrip("/")
    pages = {"/": page_with(element(service, "inline"), service=service)}
    async with site(browser, pages, service=service, name="studio.localhost") as address:
        page, faults = await open_site(browser, address, timezone_id="Europe/Berlin", user_agent=PERSON)
        await book(page, page.frame_locator("openslot-booking iframe"))
    client.headers.update(await open_session(runtime, user))
    rows = read_page(await client.get("/analytics")).rows

    # Names that people choose are written so that no program makes a link of them.
    assert ["studio.\u2060localhost", "1", "1", "100%"] in rows
    assert faults == []
