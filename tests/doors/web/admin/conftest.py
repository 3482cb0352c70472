"""An administrator of the platform, signed in, beside a host and an agent."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent, make_key
from tests.support.host import ZONE, book, clock, open_session, settings, stranger, user
from tests.support.live import connect

__all__ = ["book", "clock", "settings", "stranger", "user"]


@pytest.fixture
async def admin_user(runtime: Runtime, password_hash: str) -> User:
    """An administrator of the platform."""
    wanted = UserWanted(email="ada@moreau.example", name="Ada Moreau", username="ada", zone=ZONE, is_admin=True)
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, wanted, password_hash=password_hash)


@pytest.fixture
async def admin(client: httpx2.AsyncClient, runtime: Runtime, admin_user: User) -> httpx2.AsyncClient:
    """Sign a client in as the administrator."""
    client.headers.update(await open_session(runtime, admin_user))
    return client


@pytest.fixture
async def support(client: httpx2.AsyncClient, runtime: Runtime) -> AsyncIterator[TestAgent]:
    """An agent with a key, on a connection of its own."""
    async with connect(str(client.base_url)) as other:
        yield TestAgent(other, await make_key(runtime, "support"))
