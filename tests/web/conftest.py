"""What tests of pages ask for: a client with a session, and a real browser."""

import shutil
from collections.abc import AsyncIterator

import httpx2
import pytest
from playwright.async_api import Browser, async_playwright

from openslot.access import operations as access
from openslot.accounts.models import User
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from tests.conftest import PASSWORD

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
)


async def sign_in(client: httpx2.AsyncClient, email: str, password: str = PASSWORD) -> httpx2.Response:
    """Send the sign-in form."""
    return await client.post("/login", data={"email": email, "password": password}, timeout=60)


@pytest.fixture
async def member(client: httpx2.AsyncClient, user: User) -> httpx2.AsyncClient:
    """Sign a client in as the host."""
    answer = await sign_in(client, user.email)
    assert answer.status_code == 303
    return client


@pytest.fixture
async def link(runtime: Runtime) -> str:
    """Make a fresh set-up link."""
    async with runtime.transaction(OPERATOR) as work:
        token = await access.create_setup_link(work)
    return f"/setup?token={token}"


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """Open a real browser: the system's Chromium where there is one, else Playwright's own."""
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        yield opened
        await opened.close()
