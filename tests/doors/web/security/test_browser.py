"""Two-factor authentication in a real browser: with and without scripts, on a phone, and for axe."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.access.two_factor.operations import code_at, step_of
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.security.oidc.conftest import provider as provider_fixture
from tests.doors.web.security.oidc.conftest import settings as settings_with_provider
from tests.support.browsers import BOTH_WAYS
from tests.support.clocks import MovingClock
from tests.support.oidc_provider import FakeProvider
from tests.support.page_checks import CHECKED, check_pages
from tests.support.passwords import PASSWORD

HERE = "/settings/security"

provider, settings = provider_fixture, settings_with_provider


async def open_page(browser: Browser, client: httpx2.AsyncClient, **options: object) -> tuple[Page, list[str]]:
    """Open a page as a stranger, and collect what goes wrong in it."""
    context = await browser.new_context(base_url=str(client.base_url), accept_downloads=True, **options)  # type: ignore[arg-type]
    page = await context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    return page, faults


async def enter_password(page: Page, user: User) -> None:
    await page.goto("/login")
    await page.get_by_label("Email address").fill(user.email)
    await page.get_by_label("Password").fill(PASSWORD)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Sign in").click()


async def enter_code(page: Page, code: str) -> None:
    await page.get_by_label("Code", exact=True).fill(code)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Sign in").click()


async def turn_on(page: Page, runtime: Runtime) -> tuple[str, list[str]]:
    """Turn it on by hand; return the secret and the recovery codes that the pages show."""
    await page.goto(HERE)
    await page.locator("#current").fill(PASSWORD)
    await page.get_by_role("button", name="Turn on…").click()
    secret = (await page.get_by_label("Or enter this secret").input_value()).replace(" ", "")
    await page.get_by_label("Code", exact=True).fill(code_at(secret, step_of(runtime.clock())))
    await page.get_by_role("button", name="Turn on").click()
    await expect(page.get_by_text("Two-factor authentication is on.")).to_be_visible()
    return secret, (await page.get_by_role("textbox", name="Recovery codes").input_value()).split()


async def sign_out(page: Page) -> None:
    await page.locator("#account > summary").click()
    await page.get_by_role("button", name="Sign out").click()
    await page.wait_for_url("**/login")


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_user_turns_it_on_signs_in_both_ways_and_turns_it_off(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    host: User,
    tmp_path: Path,
    *,
    scripts: bool,
) -> None:
    page, faults = await open_page(browser, client, java_script_enabled=scripts)
    await enter_password(page, host)
    secret, codes = await turn_on(page, runtime)
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download").click()
    await (await download.value).save_as(tmp_path / "codes.txt")
    assert (tmp_path / "codes.txt").read_text().split()[-10:] == codes
    await page.get_by_role("link", name="I have saved them").click()
    await sign_out(page)

    await enter_password(page, host)
    await expect(page.get_by_label("Code", exact=True)).to_be_focused()
    await page.goto("/bookings")
    await page.wait_for_url("**/login?next=/bookings")
    await enter_password(page, host)
    clock.pass_time(seconds=30)
    await enter_code(page, code_at(secret, step_of(clock.now)))
    await expect(page.locator("#account")).to_be_visible()
    await sign_out(page)

    await enter_password(page, host)
    await enter_code(page, codes[0])
    await page.goto(HERE)
    await expect(page.get_by_text("9", exact=True)).to_be_visible()
    await page.get_by_role("link", name="Turn off…").click()
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.get_by_label("Code", exact=True).fill(codes[0])
    await page.get_by_role("button", name="Turn off").click()
    await expect(page.get_by_text("Is wrong, has expired or was already used")).to_be_visible()
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.get_by_label("Code", exact=True).fill(codes[1])
    await page.get_by_role("button", name="Turn off").click()
    await expect(page.get_by_text("You sign in with your password alone")).to_be_visible()
    await sign_out(page)
    await enter_password(page, host)
    await expect(page.locator("#account")).to_be_visible()
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []


async def visit(page: Page, runtime: Runtime, user: User) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    await page.goto("/login")
    yield "sign-in with a provider"
    await enter_password(page, user)
    await page.goto(HERE)
    yield "off"
    await page.locator("#password").fill(PASSWORD)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Connect").click()
    yield "connect"
    await page.goto(f"{HERE}/provider/disconnect")
    yield "disconnect"
    await page.goto(HERE)
    await page.locator("#current").fill("wrong")
    await page.get_by_role("button", name="Turn on…").click()
    await page.wait_for_selector("#fault-current")
    yield "wrong password"
    await page.locator("#current").fill(PASSWORD)
    await page.get_by_role("button", name="Turn on…").click()
    await page.wait_for_selector("#secret")
    yield "set-up"
    await turn_on(page, runtime)
    yield "recovery codes"
    await runtime.pool.execute("update recovery_codes set used_at = now()")
    for path in (HERE, f"{HERE}/recovery-codes", f"{HERE}/two-factor/off"):
        await page.goto(path)
        yield path
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.get_by_label("Code", exact=True).fill("123123")
    await page.get_by_role("button", name="Turn off").click()
    await page.wait_for_selector("#fault-code")
    yield "wrong code"
    await sign_out(page)
    await enter_password(page, user)
    yield "second step"
    await page.goto("/login/oidc/callback")
    yield "refused"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    page, _ = await open_page(browser, client, **CHECKED)
    await check_pages(page, visit(page, runtime, host), "security")


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_user_signs_in_through_the_provider(
    browser: Browser,
    client: httpx2.AsyncClient,
    settings: Settings,
    provider: FakeProvider,
    host: User,
    *,
    scripts: bool,
) -> None:
    provider.person["email"] = host.email
    provider.sends_to = str(client.base_url).rstrip("/")
    page, faults = await open_page(browser, client, java_script_enabled=scripts)
    await page.goto("/login?next=/account")
    await page.get_by_role("link", name=f"Continue with {settings.oidc_name}").click()
    await page.wait_for_url("**/account")
    await expect(page.get_by_text(host.email)).to_be_visible()
    assert faults == []
