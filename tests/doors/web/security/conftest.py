"""A host on a clock that tests move, whose password is quick to check, with an authenticator app."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock
from tests.support.host import open_session
from tests.support.two_factor import App, add_host, turn_on

__all__ = ["clock"]


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
