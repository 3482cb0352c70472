"""From an empty installation to the first booking: the one-time link, first steps, a test booking, an invitee."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.access import operations as access
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.page import read_page

PERSON = {"name": "Mara Lindqvist", "email": "mara@lindqvist.example", "password": "a long first password"}


def next_month() -> str:
    """Name the month after this one, as the page's links do: this month's first start may be too near."""
    first = datetime.now(UTC).replace(day=1) + timedelta(days=31)
    return f"{first:%Y-%m}"


@pytest.fixture
async def token(runtime: Runtime) -> str:
    """The set-up link's token, as the first start prints it."""
    async with runtime.transaction(OPERATOR) as work:
        made = await access.create_setup_link(work)
    assert made is not None
    return made


async def choose_first_time(page: Page) -> None:
    await page.goto(f"{page.url}{'&' if '?' in page.url else '?'}month={next_month()}")
    await page.locator("[name=start], a[href*='start=']").first.click()


def find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, pattern
    return found[1]


async def fits(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_new_installation_gets_its_first_bookings(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, token: str, width: int
) -> None:
    contexts = [
        await browser.new_context(
            base_url=str(client.base_url),
            viewport={"width": width, "height": 844},
            locale="en-GB",
            timezone_id="Europe/Berlin",
        )
        for _ in range(2)
    ]
    host, invitee = [await context.new_page() for context in contexts]
    await host.goto("/")
    await expect(host.get_by_role("heading", name="There is no account yet")).to_be_visible()
    await host.goto(f"/setup?token={token}")
    for label, field in (("Your name", "name"), ("Email address", "email"), ("Password", "password")):
        await host.get_by_label(label).fill(PERSON[field])
    await expect(host.get_by_label("Time zone")).to_have_value("Berlin (Germany)")
    await host.get_by_role("button", name="Create account").click()
    await expect(host.get_by_text("The times are in the time zone Europe/Berlin.")).to_be_visible()
    await host.get_by_role("button", name="Continue").click()
    await expect(host.get_by_label("Calendar URL")).to_be_visible()
    assert await fits(host)
    await host.get_by_role("button", name="Continue without a calendar").click()
    link = await host.locator("#first-link").inner_text()
    await host.get_by_role("link", name="Continue", exact=True).click()

    await host.get_by_role("link", name="Open your booking page").click()
    await choose_first_time(host)
    await expect(host.get_by_label("Email address", exact=True)).to_have_value(PERSON["email"])
    await host.locator("form[data-form] button.button-main").click()
    await host.get_by_role("link", name="See what came of it").click()
    await expect(host.get_by_role("heading", name="What came of your booking")).to_be_visible()
    assert await fits(host)
    await host.get_by_role("button", name="Cancel the test booking").click()
    await expect(host.get_by_role("status").filter(has_text="The booking was cancelled")).to_be_visible()
    await host.get_by_role("button", name="Finish").click()
    await expect(host.get_by_role("heading", name="Needs attention")).to_be_visible()
    assert link.endswith("/mara-lindqvist/30min")

    await invitee.goto("/mara-lindqvist/30min")
    await choose_first_time(invitee)
    await invitee.get_by_label("Your name").fill("Jonas Okafor")
    await invitee.get_by_label("Email address", exact=True).fill("jonas@okafor.example")
    await invitee.locator("form[data-form] button.button-main").click()
    await expect(invitee.get_by_role("heading", level=1)).to_contain_text("Your meeting is confirmed")
    await host.goto("/bookings")
    await expect(host.get_by_role("link", name="Jonas Okafor")).to_be_visible()
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 1


async def test_without_scripts_the_way_is_the_same(client: httpx2.AsyncClient, runtime: Runtime, token: str) -> None:
    async def post(path: str, **form: str) -> httpx2.Response:
        done = await client.post(path, data={**form, "csrf": csrf}, follow_redirects=True)
        assert done.status_code == 200, done.text
        return done

    csrf = ""
    hours = await post(f"/setup?token={token}", **PERSON, timezone="Asia/Tokyo")
    assert "The times are in the time zone Asia/Tokyo." in read_page(hours).text
    csrf, version = (read_page(hours).fields[name].values[0] for name in ("csrf", "version"))
    week = {"works.0": "on", "d0.0.start": "09:00", "d0.0.end": "17:00"}
    calendar = await post("/welcome/hours", **week, act="save", version=version)
    assert {"url", "server"} <= read_page(calendar).fields.keys()
    assert 'href="/welcome/try"' in (await post("/welcome/calendar/skip")).text
    step = (await client.get("/welcome/try")).text

    own = unescape(find(r'href="(/mara-lindqvist/30min\?[^"]+)"', step))
    start = find(r'name="start" value="([^"]+)"', (await client.get(f"{own}&month={next_month()}")).text)
    asked = read_page(await client.get(own, params={**dict(parse_qsl(urlsplit(own).query)), "start": start}))
    sent = {name: field.values[0] for name, field in asked.fields.items() if field.values}
    confirmed = await post(own, **{**sent, **{name: PERSON[name] for name in ("name", "email")}})
    assert 'href="/welcome/try"' in confirmed.text
    came = await client.get("/welcome/try")
    assert "Not written: no calendar is connected." in read_page(came).text
    cancelled = await post(find(r'action="(/welcome/try/[^"]+/cancel)"', came.text))
    assert "The booking was cancelled" in read_page(cancelled).notices[0]
    assert "First steps" not in read_page(await post("/welcome/finish")).text
    assert await runtime.pool.fetchval("select array_agg(status) from bookings") == ["CANCELLED"]
