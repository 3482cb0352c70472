"""The demo page: all three modes and a plain link where there is demo data, a kind page where there is none."""

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.demo.offers import make_offers
from openslot.demo.people import HOST
from openslot.demo.seed import seed
from openslot.domains.accounts.models import UserWanted
from openslot.domains.people import operations as people
from openslot.doors.web.widget import DEMO_HOST
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.browsers import open_page
from tests.support.page import read_page
from tests.support.page_checks import AXE, AXE_ON_COLORS, OVERFLOW, PHONE, TOO_SMALL, WIDE, bring_axe, run_axe
from tests.support.page_templates import list_walked_templates, recording_templates


@pytest.fixture
async def demo(client: httpx2.AsyncClient, runtime: Runtime) -> httpx2.AsyncClient:
    """Make what the page needs of the demo data, without the passwords, which take long."""
    async with runtime.transaction(OPERATOR) as work:
        host = await people.welcome_user(work, UserWanted(email=DEMO_HOST, name=HOST.name, username=HOST.username))
        await make_offers(work, host)
    return client


def test_the_demo_page_belongs_to_the_demo_host() -> None:
    assert HOST.email == DEMO_HOST


async def test_without_demo_data_it_says_what_to_do(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/widget-demo")

    assert answer.status_code == 404
    assert "There is no demo here" in read_page(answer).headings
    assert "openslot-booking" in read_page(answer).text


async def test_it_shows_three_modes_and_a_plain_link(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
    answer = await client.get("/widget-demo")

    assert answer.status_code == 200
    assert answer.text.count("<openslot-booking") == 3
    assert 'mode="popup"' in answer.text
    assert 'mode="floating"' in answer.text
    assert '<p><a href="/mara/intro-call">' in answer.text
    assert '<script src="/widget.js"' in answer.text
    assert "frame-src 'self'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "unsafe-inline" not in answer.headers["content-security-policy"]


async def test_axe_finds_no_fault(browser: Browser, demo: httpx2.AsyncClient) -> None:
    page = await open_page(browser, demo, viewport=WIDE, reduced_motion="reduce")
    await bring_axe(page)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    with recording_templates() as rendered:
        await page.goto("/widget-demo")
    assert {rendered["/widget-demo"]} == list_walked_templates("widget")
    await expect(page.locator("[data-log] li")).to_have_count(1)
    await check_colors_too(page, "inline")
    for name in ("Book “Intro call” with Mara Lindqvist", "Book a time"):
        await page.get_by_role("button", name=name).click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await expect(page.frame_locator("dialog[open] iframe").get_by_role("heading", level=1)).to_be_visible()
        await check_colors_too(page, name)
        await page.get_by_role("button", name="Close").click()
    assert faults == []


async def check_colors_too(page: Page, name: str) -> None:
    """Let axe look at the page, light and dark; the pages in the frames have tests of their own."""
    await run_axe(page, AXE, f"{name}, light")
    await page.emulate_media(color_scheme="dark")
    await run_axe(page, AXE_ON_COLORS, f"{name}, dark")
    await page.emulate_media(color_scheme="light")


async def test_it_fits_a_phone_and_a_finger(browser: Browser, demo: httpx2.AsyncClient) -> None:
    context = await browser.new_context(base_url=str(demo.base_url), viewport=PHONE, locale="ar")
    page = await context.new_page()
    await page.goto("/widget-demo")
    await expect(page.locator("[data-log] li")).to_have_count(1)

    assert await page.evaluate(OVERFLOW) <= 0
    assert await page.evaluate(TOO_SMALL) == []


async def test_without_scripts_every_mode_is_a_link(browser: Browser, demo: httpx2.AsyncClient) -> None:
    context = await browser.new_context(base_url=str(demo.base_url), java_script_enabled=False)
    page = await context.new_page()
    await page.goto("/widget-demo")
    await expect(page.get_by_role("link", name="Book “Intro call” with Mara Lindqvist")).to_have_count(4)
