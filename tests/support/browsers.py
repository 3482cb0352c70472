"""A real browser: the system's headless Chromium where there is one, else Playwright's own."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright, expect

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
LOCK_RETRIES = 60_000
"""Milliseconds that a page or the browser itself may take on a loaded machine."""


def find_executable() -> str | None:
    """Find the system's Chromium; the one without windows takes a third less processor time."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """Start a browser, and close it in the end."""
    expect.set_options(timeout=LOCK_RETRIES)
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(
            executable_path=find_executable(), args=ARGUMENTS, timeout=LOCK_RETRIES
        )
        yield opened
        await opened.close()
