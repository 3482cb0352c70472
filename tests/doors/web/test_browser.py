"""The pages in a real browser: with and without scripts, by keyboard alone, and against a foreign site."""

import shlex
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.browsers import open_page, tab_to
from tests.support.live import serving
from tests.support.passwords import PASSWORD


async def sign_in(page: Page, user: User) -> None:
    """Fill and send the sign-in form."""
    await page.goto("/login")
    await page.get_by_label("Email address").fill(user.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Today")).to_be_visible()
    await page.goto("/account")


async def test_sign_in_make_copy_and_revoke_a_key_sign_out(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    page = await open_page(browser, client, permissions=["clipboard-read", "clipboard-write"])
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    await sign_in(page, user)
    await page.get_by_label("Name of the new key").fill("Website")
    await page.get_by_label("Expires").select_option("After 90 days")
    await page.get_by_role("button", name="Create key").click()
    key = await page.get_by_label("The new key", exact=True).input_value()
    # The button says what it has done for four seconds only.
    copies = {name: page.locator(f"[data-copy={name}]") for name in ("new-key", "first-request")}
    await page.get_by_role("button", name="Copy", exact=True).click()
    await expect(copies["new-key"]).to_have_text("Copied")

    assert await page.evaluate("navigator.clipboard.readText()") == key
    await page.get_by_role("button", name="Copy as curl").click()
    await expect(copies["first-request"]).to_have_text("Copied")
    command = (await page.evaluate("navigator.clipboard.readText()")).replace("\\\n", "")
    program, url, option, header = shlex.split(command)
    assert (program, option, header) == ("curl", "-H", f"Authorization: Bearer {key}")
    me = await client.get(urlsplit(url).path, headers=dict([header.split(": ")]))
    assert me.json()["email"] == user.email
    await page.goto("/account")
    await expect(page.get_by_role("row", name="Website")).to_contain_text("Today")

    await page.get_by_role("link", name="Revoke… Website").click()
    await page.get_by_role("button", name="Revoke this key").click()
    await expect(page.get_by_role("status")).to_contain_text("The key was revoked")
    await expect(page.get_by_role("row", name="Website")).to_contain_text("Revoked")
    await page.locator("#account > summary").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await page.goto("/account")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert faults == []


async def test_everything_works_without_scripts(browser: Browser, client: httpx2.AsyncClient, user: User) -> None:
    page = await open_page(browser, client, java_script_enabled=False)
    await sign_in(page, user)
    await page.get_by_label("Name of the new key").fill("Website")
    await page.get_by_role("button", name="Create key").click()

    assert (await page.get_by_label("The new key", exact=True).input_value()).startswith("svc_live_")
    await expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    await page.get_by_role("link", name="Revoke… Website").click()
    await page.get_by_role("button", name="Revoke this key").click()
    await expect(page.get_by_role("row", name="Website")).to_contain_text("Revoked")
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.get_by_label("New password").fill("another long password")
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_role("status")).to_contain_text("Your password was changed")
    await page.goto("/api/docs")
    await expect(page.get_by_role("heading", name="Limits")).to_be_visible()
    await page.goto("/account")
    await page.locator("#account > summary").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_everything_works_by_keyboard_alone(browser: Browser, client: httpx2.AsyncClient, user: User) -> None:
    page = await open_page(browser, client)
    await page.goto("/login")
    await expect(page.locator("#email")).to_be_focused()
    await page.keyboard.type(user.email)
    await tab_to(page, "#password")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Today")).to_be_visible()
    await page.goto("/account")
    await tab_to(page, ".skip")
    await page.keyboard.press("Enter")
    await tab_to(page, "#name")
    await page.keyboard.type("Website")
    await tab_to(page, "#expires")
    await page.keyboard.press("ArrowDown")
    await tab_to(page, "form[action='/account/keys'] button")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("The new key", exact=True)).to_be_visible()
    await tab_to(page, "#new-key")
    await tab_to(page, "[data-copy]")
    await tab_to(page, "a[href$='/revoke']")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Revoke “Website”?")).to_be_visible()
    await tab_to(page, ".button-bad")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("row", name="Website")).to_contain_text("Revoked")
    await tab_to(page, "#account > summary")
    await page.keyboard.press("Enter")
    await tab_to(page, "form[action='/logout'] button")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_the_set_up_proposes_the_browsers_own_zone(
    browser: Browser, client: httpx2.AsyncClient, link: str
) -> None:
    zones = {
        "Asia/Tokyo": "Tokyo (Japan)",
        "Asia/Kolkata": "Kolkata (India)",
        "America/Argentina/Buenos_Aires": "Argentina, Buenos Aires (Argentina)",
    }
    for zone, label in zones.items():
        page = await open_page(browser, client, timezone_id=zone)
        await page.goto(link)
        # Chromium calls two of them by outdated names.
        await expect(page.get_by_label("Time zone")).to_have_value(label)
    plain = await open_page(browser, client, timezone_id="Asia/Tokyo", java_script_enabled=False)
    await plain.goto(link)
    await expect(plain.get_by_label("Time zone")).to_have_value("")


def evil_site(target: str, email: str) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Make a site that signs its visitors in as somebody else, behind their backs."""
    page = f"""<!doctype html><title>Win a prize</title><form method="post" action="{target}/login">
    <input name="email" value="{email}"><input name="password" value="{PASSWORD}"><button>Win</button></form>"""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": page.encode()})

    return app


async def test_a_foreign_site_signs_nobody_in(
    browser: Browser, client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    target = str(client.base_url).rstrip("/")
    async with serving(evil_site(target, user.email)) as evil:
        for address in (evil, evil.replace("127.0.0.1", "localhost")):
            page = await open_page(browser, client)
            await page.goto(address)
            await page.get_by_role("button", name="Win").click()
            await expect(page.get_by_text("sent from another site")).to_be_visible()
            assert await page.context.cookies() == []
    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
