"""Every page, light and dark: no fault for axe, nothing wider than a phone, nothing too small for a finger."""

from collections.abc import AsyncIterator
from typing import Any, Literal

import httpx2
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, ViewportSize

from openslot.access import operations as access
from openslot.access.passwords import hash_password
from openslot.accounts import operations as accounts
from openslot.accounts.invitations import invitation_url, invite
from openslot.accounts.models import UserWanted
from openslot.accounts.plans import Plan
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from openslot.people import operations as people
from tests.conftest import PASSWORD

PHONE = ViewportSize(width=390, height=844)
WIDE = ViewportSize(width=1280, height=800)
TOO_SMALL = """() => [...document.querySelectorAll('a, button, input, select, textarea, summary')]
  .filter(one => one.checkVisibility() && getComputedStyle(one).display !== 'inline' && !one.matches('.skip'))
  .filter(one => { const box = one.getBoundingClientRect(); return box.width < 24 || box.height < 24; })
  .map(one => one.outerHTML)"""
AXE = {"rules": {"target-size": {"enabled": True}}, "resultTypes": ["violations"]}
AXE_ON_COLORS = {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations"]}
# The same page in the dark differs by its colors alone.
SCHEMES: dict[Literal["light", "dark"], dict[str, Any]] = {"light": AXE, "dark": AXE_ON_COLORS}
OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"


async def visit(page: Page, runtime: Runtime) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    async with runtime.transaction(OPERATOR) as work:
        token = await access.create_setup_link(work)
    for path in (f"/setup?token={token}", "/setup?token=x", "/nothing", "/api/docs"):
        await page.goto(path)
        yield path
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="mara@lindqvist.example", name="Mara Lindqvist", plan=Plan.PRO)
        user = await people.welcome(work, wanted, password_hash=await hash_password(PASSWORD))
        organization = await accounts.add_organization(work, name="Harbor Studio", slug="harbor", plan=Plan.BUSINESS)
        joiner = await people.welcome(work, UserWanted(email="li@harbor.example", name="Li Wen"))
        links = []
        for invited in (user, joiner):
            await accounts.add_member(work, organization, invited)
            links.append(invitation_url(work.runtime, await invite(work, organization, invited)))
    for link, name in zip(links, ("accept", "first password"), strict=True):
        await page.goto("/invite/" + link.rpartition("/")[2])
        yield name
    await page.fill("#password", "short")
    await page.click(".button-main")
    await page.wait_for_selector(".fault")
    yield "wrong first password"
    await page.goto("/login")
    yield "sign-in"
    await page.fill("#email", user.email)
    await page.fill("#password", "wrong")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("[role=alert]")
    yield "wrong sign-in"
    await page.fill("#password", PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#today")
    yield "first screen"
    await page.goto("/account")
    yield "account without keys"
    await page.fill("#name", "Website with a rather long name for a key")
    await page.click("form[action='/account/keys'] button")
    await page.wait_for_selector("#new-key")
    yield "new key"
    await page.click("a[href$='/revoke']")
    await page.wait_for_selector(".button-bad")
    yield "revoke"
    await page.click(".button-bad")
    await page.wait_for_selector("[role=status]")
    yield "revoked"
    await page.fill("#current", "x")
    await page.fill("#password", "short")
    await page.click("form[action='/account/password'] button")
    await page.wait_for_selector(".fault")
    yield "wrong password"


async def test_axe_finds_no_fault_on_any_page(browser: Browser, client: httpx2.AsyncClient, runtime: Runtime) -> None:
    # Without motion the colors are those of the other scheme at once.
    context = await browser.new_context(base_url=str(client.base_url), viewport=WIDE, reduced_motion="reduce")
    page = await context.new_page()
    async for name in visit(page, runtime):
        for scheme, options in SCHEMES.items():
            await page.emulate_media(color_scheme=scheme)
            found = await Axe().run(page, options=options)
            assert found.violations_count == 0, f"{name}, {scheme}: {found.generate_report()}"


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
async def test_every_page_fits_a_phone_and_a_finger(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, direction: str
) -> None:
    context = await browser.new_context(base_url=str(client.base_url), viewport=PHONE)
    page = await context.new_page()
    async for name in visit(page, runtime):
        await page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
        assert await page.evaluate(OVERFLOW) <= 0, name
        assert await page.evaluate(TOO_SMALL) == [], name


async def test_nothing_moves_for_those_who_asked_for_it(browser: Browser, client: httpx2.AsyncClient) -> None:
    context = await browser.new_context(base_url=str(client.base_url), reduced_motion="reduce")
    page = await context.new_page()
    await page.goto("/login")

    assert await page.evaluate("getComputedStyle(document.querySelector('button')).transitionDuration") == "0s"
