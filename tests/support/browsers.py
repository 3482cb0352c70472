"""A real browser: the system's headless Chromium where there is one, else Playwright's own."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.host import open_session

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # No page lives long enough to win back what its optimizing compilers take.
    "--js-flags=--no-opt --no-maglev",
)
TIMEOUT_MS = 60_000
"""Milliseconds that a page or the browser itself may take on a loaded machine."""

BOTH_WAYS = (
    pytest.param(True, id="with scripts"),
    pytest.param(False, id="without scripts", marks=pytest.mark.rest("the same journey without scripts")),
)

FOCUS = """selector => { const focused = document.activeElement, { outlineStyle } = getComputedStyle(focused);
  return { isBody: focused === document.body, isThere: focused.matches(selector), outlineStyle }; }"""


def find_executable() -> str | None:
    """Find the system's Chromium; the one without windows takes a third less processor time."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """Start a browser, and close it in the end."""
    expect.set_options(timeout=TIMEOUT_MS)
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=find_executable(), args=ARGUMENTS, timeout=TIMEOUT_MS)
        yield opened
        await opened.close()


async def open_as(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, **options: Any
) -> tuple[Page, list[str]]:
    """Open a page as the host, and collect what goes wrong in it."""
    base_url = str(client.base_url)
    context = await browser.new_context(base_url=base_url, **options)
    name, _, value = (await open_session(runtime, user))["cookie"].partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": base_url}])
    page = await context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    return page, faults


async def open_page(browser: Browser, client: httpx2.AsyncClient, **options: Any) -> Page:
    """Open a page in a fresh context of the browser."""
    context = await browser.new_context(base_url=str(client.base_url), **options)
    return await context.new_page()


async def tab_to(page: Page, selector: str) -> None:
    """Press Tab until this has the focus, and see the focus at every stop."""
    # The outline comes with the stylesheets, and some of the stops with the scripts.
    await page.wait_for_load_state()
    for _ in range(40):
        await page.keyboard.press("Tab")
        focus = await page.evaluate(FOCUS, selector)
        assert focus["isBody"] or focus["outlineStyle"] == "solid"
        if focus["isThere"]:
            return
    pytest.fail(f"{selector} can't be reached by Tab")
