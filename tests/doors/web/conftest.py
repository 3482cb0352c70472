"""What tests of pages ask for: a client with a session, and a link to set the platform up."""

import re

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.passwords import PASSWORD


async def sign_in(client: httpx2.AsyncClient, email: str, password: str = PASSWORD) -> httpx2.Response:
    """Send the sign-in form."""
    return await client.post("/login", data={"email": email, "password": password}, timeout=60)


async def carry_csrf_token(client: httpx2.AsyncClient) -> None:
    """Let every form that a signed-in client sends carry the token of its session."""
    client.headers["x-csrf-token"] = read_csrf_token((await client.get("/account")).text)


def read_csrf_token(page: str) -> str:
    """Return the token that the forms of a page carry."""
    found = re.search(r'name="csrf" value="([0-9a-f]{32})"', page)
    assert found is not None
    return found[1]


@pytest.fixture
async def member(client: httpx2.AsyncClient, user: User) -> httpx2.AsyncClient:
    """Sign a client in as the host."""
    answer = await sign_in(client, user.email)
    assert answer.status_code == 303
    await carry_csrf_token(client)
    return client


@pytest.fixture
async def link(runtime: Runtime) -> str:
    """Make a fresh set-up link."""
    async with runtime.transaction(OPERATOR) as work:
        token = await access.create_setup_link(work)
    return f"/setup?token={token}"
