"""What a walk over all routes asks for: a host who has one of everything, signed in or not."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.all_routes.stage import set_everything
from tests.support.agent import TestAgent, make_key
from tests.support.clocks import MovingClock
from tests.support.host import Book, book, clock, member, stranger, user
from tests.support.live import serving

__all__ = ["book", "clock", "member", "stranger", "user"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The settings of an operator who allows loopback, and with whom everyone may sign up."""
    return replace(settings, sign_up="open", outbound_allow=Networks((ip_network("127.0.0.0/8"),)))


@pytest.fixture
async def client(settings: Settings, clock: MovingClock) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that calls the app itself: a connection would take as long as most answers."""
    app: Any = create_app(settings, clock=clock)
    whole = {"accept-encoding": "identity"}
    async with (
        serving(app) as url,
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=url, headers=whole) as opened,
    ):
        yield opened


@pytest.fixture
async def values(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User, stranger: User, book: Book
) -> dict[str, str]:
    """What the parameters of paths are."""
    agent = TestAgent(client, await make_key(runtime, "support"))
    return await set_everything(runtime, clock, user, stranger, book, agent)
