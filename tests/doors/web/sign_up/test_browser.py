"""Signing up, new passwords and sessions in a real browser: the mails' links, a phone, no scripts, and for axe."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.doors.web.sign_up.conftest import NEW, ReadMail, path_in
from tests.doors.web.sign_up.others import give_access
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.host import open_session
from tests.support.page_checks import CHECKED, check_pages
from tests.support.passwords import PASSWORD

EMAIL = "noor@haddad.example"


async def open_plain(browser: Browser, client: httpx2.AsyncClient, **options: Any) -> tuple[Page, list[str]]:
    """Open a page without a session, and collect what goes wrong in it."""
    context = await browser.new_context(base_url=str(client.base_url), **options)
    page = await context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    return page, faults


async def fill_sign_up(page: Page) -> None:
    """Fill in the form and send it."""
    await page.get_by_label("Your name").fill("Noor Haddad")
    await page.get_by_label("Email address").fill(EMAIL)
    await page.get_by_label("Password").fill(NEW)
    await page.get_by_role("button", name="Create account").click()


async def sign_in(page: Page, email: str, password: str) -> None:
    """Sign in by the form."""
    await page.goto("/login")
    await page.get_by_label("Email address").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_forgotten_password_is_replaced_by_the_mail_in_the_mailbox(
    browser: Browser, client: httpx2.AsyncClient, user: User, read_mail: ReadMail, *, scripts: bool
) -> None:
    page, faults = await open_plain(browser, client, java_script_enabled=scripts)
    await page.goto("/login")
    await page.get_by_role("link", name="Forgot your password?").click()
    await page.get_by_label("Email address").fill(user.email)
    await page.get_by_role("button", name="Send the link").click()
    await expect(page.get_by_role("heading", name="Ask for the link")).to_be_visible()
    await page.goto(path_in((await read_mail(user.email))[-1], "/password/reset/"))
    await page.get_by_label("New password").fill(NEW)
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_role("status")).to_contain_text("Your password was changed")
    await sign_in(page, user.email, NEW)
    await expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert faults == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_somebody_signs_up_verifies_the_address_and_is_signed_in(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, read_mail: ReadMail, *, scripts: bool
) -> None:
    page, faults = await open_plain(browser, client, java_script_enabled=scripts, timezone_id="Asia/Tokyo")
    await page.goto("/login")
    await page.get_by_role("link", name="Create an account").click()
    if not scripts:
        await page.get_by_label("Time zone").fill("Amman")
    await fill_sign_up(page)
    await expect(page.get_by_role("heading", name="Ask for the link")).to_be_visible()
    await page.goto(path_in((await read_mail(EMAIL))[-1], "/verify/"))
    await expect(page.get_by_text("Noor Haddad")).to_be_visible()
    await page.get_by_role("button", name="Activate account").click()
    await expect(page.locator("#account")).to_be_visible()
    zone = await runtime.pool.fetchval("select zone from users where email = $1", EMAIL)
    assert zone == ("Asia/Tokyo" if scripts else "Asia/Amman")
    assert faults == []


async def test_a_session_is_signed_out_and_the_other_browser_is_asked_to_sign_in(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    here, _ = await open_plain(browser, client)
    there, _ = await open_plain(browser, client, java_script_enabled=False)
    for page in (there, here):
        await sign_in(page, user.email, PASSWORD)
        await expect(page.locator("#account")).to_be_visible()
    await here.goto("/settings/sessions")
    await expect(here.get_by_role("row")).to_have_count(3)
    await here.get_by_role("button", name="Sign out Chrome on").click()
    await expect(here.get_by_role("status")).to_contain_text("The session was signed out")
    await there.goto("/bookings")
    await expect(there.get_by_role("heading", name="Sign in")).to_be_visible()
    await expect(here.get_by_text("This browser")).to_be_visible()


async def visit(
    page: Page, client: httpx2.AsyncClient, runtime: Runtime, read_mail: ReadMail, user: User
) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    await page.goto("/settings/sessions")
    yield "sessions"
    await give_access(runtime, user)
    await page.goto("/settings/access")
    yield "access"
    await page.get_by_role("button", name="End access of what is ticked").click()
    yield "no access"
    await page.context.clear_cookies()
    for path in (
        "/login?done=password",
        "/password/forgot",
        "/password/forgot?done=sent",
        "/password/reset/wrong",
        "/signup",
        "/signup?done=sent",
        "/verify/wrong",
    ):
        await page.goto(path)
        yield path
    await page.goto("/signup")
    await page.evaluate("document.querySelector('form').noValidate = true")
    await page.get_by_role("button", name="Create account").click()
    await page.wait_for_selector(".fault")
    yield "sign-up with faults"
    await fill_sign_up(page)
    await page.wait_for_url("**/signup?done=sent")
    link = path_in((await read_mail(EMAIL))[-1], "/verify/")
    await page.goto(link)
    yield "verify"
    await page.context.clear_cookies()
    await page.goto(link)
    yield "verify in another browser"
    await client.post("/password/forgot", data={"email": user.email})
    await page.goto(path_in((await read_mail(user.email))[-1], "/password/reset/"))
    yield "reset"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail
) -> None:
    await open_session(runtime, user)
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, client, runtime, read_mail, user), "sign up")
    # The browser reports the pages that show a fault or a wrong link, as it should.
    assert [fault for fault in faults if "400 (Bad Request)" not in fault and "403 (Forbidden)" not in fault] == []
