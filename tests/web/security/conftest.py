"""A host on a clock that tests move, whose password is quick to check, with an authenticator app."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.app import create_app
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.runtime import open_runtime
from tests.access.two_factor_scene import App, add_host, turn_on
from tests.clocks import MovingClock
from tests.live import connect, serving
from tests.web.dashboard.conftest import open_session


@pytest.fixture
def clock() -> MovingClock:
    """Give a clock that tests set."""
    return MovingClock()


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock) -> AsyncIterator[Runtime]:
    """Open a runtime on the moving clock."""
    async with open_runtime(settings, clock=clock) as opened:
        yield opened


@pytest.fixture
async def client(settings: Settings, clock: MovingClock) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client of a server on the moving clock."""
    async with serving(create_app(settings, clock=clock)) as base_url, connect(base_url, timeout=60) as opened:
        yield opened


@pytest.fixture
async def host(runtime: Runtime) -> User:
    """Add someone whose password is cheap to check."""
    return await add_host(runtime)


@pytest.fixture
async def phone(runtime: Runtime, host: User) -> App:
    """Turn two-factor authentication on."""
    return await turn_on(runtime, host)


@pytest.fixture
async def member(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> httpx2.AsyncClient:
    """Sign a client in as the host."""
    client.headers.update(await open_session(runtime, host))
    return client
