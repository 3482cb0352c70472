"""Proving one's email address on the booking page: in a browser, with and without scripts, signed in, and offered."""

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.domains.wait_list.operations import entry_token
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import QUESTIONS, TEN, filled
from tests.doors.web.booking_page.visiting import fill, in_zone, visit
from tests.support.browsers import BOTH_WAYS
from tests.support.email_codes import count_codes, read_code
from tests.support.host import open_session
from tests.support.page_checks import OVERFLOW
from tests.support.wait_list import hand_out, offer_day, wait_for

PAGE = "/mara/proven"
BOOKED = "select count(*) from bookings where status = 'CONFIRMED'"
HELD = "select count(*) from claims where active and kind = 'hold'"


@pytest.fixture
async def proven(runtime: Runtime, host: User) -> EventType:
    """A meeting with questions whose invitees prove their address."""
    return await offer(runtime, host, "proven", requires_email_verification=True, questions=QUESTIONS[:2])


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_book_with_the_code(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, *, scripts: bool
) -> None:
    page = await visit(browser, client, PAGE, java_script_enabled=scripts)
    if scripts:
        await in_zone(page, "Lagos")
        async with page.expect_response("**/api/public/holds"):
            await page.locator(f"button[value='{TEN}']").click()
    else:
        await page.goto(f"{PAGE}?start={TEN}&tz=Africa/Lagos")
    await fill(page)
    await page.get_by_label("What would you like to talk about?").fill("Prices & more")
    await page.get_by_role("button", name="Confirm booking").click()

    field = page.get_by_label("Code from the email")
    await expect(page.get_by_text("the code stays in its mailbox")).to_be_visible()
    await expect(field).to_be_focused()
    await expect(page.get_by_label("What would you like to talk about?")).to_have_value("Prices & more")
    assert await runtime.pool.fetchval(HELD) == int(scripts)
    code = await read_code(runtime)
    await field.fill(f"{(int(code) + 1) % 10**6:06}")
    await page.keyboard.press("Enter")
    await expect(page.locator("#fault-email_code")).to_contain_text("Is wrong")
    await expect(field).to_be_focused()
    await page.get_by_role("button", name="Send a new code").click()
    await expect(page.get_by_text("No new code was sent")).to_be_visible()
    assert await runtime.pool.fetchval("select wrong_tries from email_codes") == 1
    # A moment after the first one nothing more is sent.
    assert await count_codes(runtime) == 1
    assert await runtime.pool.fetchval(HELD) == int(scripts)
    await field.fill(f"{code[:3]} {code[3:]}")
    await page.get_by_role("button", name="Confirm booking").click()
    await page.wait_for_url("**/manage/**")
    assert await runtime.pool.fetchval(BOOKED) == 1
    assert await runtime.pool.fetchval("select answers ->> 'topic' from bookings") == "Prices & more"
    assert await runtime.pool.fetchval(HELD) == 0


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")], ids=["desk, light", "phone, dark"])
@pytest.mark.parametrize("language", ["en", "ar"])
async def test_the_form_with_the_code_fits(
    browser: Browser,
    client: httpx2.AsyncClient,
    proven: EventType,
    width: int,
    theme: str,
    language: str,
) -> None:
    viewport = {"width": width, "height": 900}
    path = f"{PAGE}?start={TEN}&tz=Africa/Lagos&lang={language}"
    page = await visit(browser, client, path, viewport=viewport, color_scheme=theme)
    await page.locator("#name").fill("Jonas Okafor")
    await page.locator("#email").fill("jonas@okafor.example")
    await page.locator(".button-main").click()
    await expect(page.locator("#email_code")).to_be_visible()
    assert await page.evaluate(OVERFLOW) <= 0


async def test_whoever_is_signed_in_with_the_address_needs_no_code(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, host: User
) -> None:
    cookie = await open_session(runtime, host)
    mine = await client.post(PAGE, data=filled(email=host.email.upper()), headers=cookie)
    assert mine.status_code == 303, mine.text
    other = await client.post(PAGE, data=filled("2026-03-16T11:00:00Z", email="jonas@okafor.example"), headers=cookie)
    assert other.status_code == 403
    assert await count_codes(runtime) == 1


async def test_what_was_offered_by_mail_needs_no_code(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    day = await offer_day(runtime, host, "day", requires_email_verification=True)
    await runtime.pool.execute("update event_types set requires_email_verification = false")
    full = await client.post("/mara/day", data=filled("2026-03-17T08:00:00Z", email="first@x.example"))
    assert full.status_code == 303
    await runtime.pool.execute("update event_types set requires_email_verification = true")
    (entry,) = await wait_for(runtime, day, "li@wei.example")
    await client.post(full.headers["location"].partition("?")[0] + "/cancel", data={})
    await hand_out(runtime)
    page = f"/wait-list/{entry_token(runtime, entry)}"
    shown = await client.get(page)
    assert "A time is free for you" in shown.text
    form = {"start": "2026-03-17T08:00:00Z", "name": "Li", "email": "other@wei.example", "tz": "UTC"}
    booked = await client.post(page, data=form)

    assert booked.status_code == 303, booked.text
    assert booked.headers["location"].startswith("/manage/")
    emails = await runtime.pool.fetch("select invitee_email from bookings where status = 'CONFIRMED'")
    assert [row["invitee_email"] for row in emails] == ["li@wei.example"]
    assert await count_codes(runtime) == 0


async def test_pages_for_assistants_say_it(client: httpx2.AsyncClient, runtime: Runtime, proven: EventType) -> None:
    written = (await client.get(f"{PAGE}.md")).text
    assert "emailCode" in written
    await runtime.pool.execute("update event_types set requires_email_verification = false")
    assert "emailCode" not in (await client.get(f"{PAGE}.md")).text
