"""A host with a second factor, on a clock that tests set."""

from collections.abc import AsyncIterator

import pytest

from openslot.accounts.models import User
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.runtime import open_runtime
from tests.access.two_factor_scene import App, add_host, turn_on
from tests.clocks import MovingClock


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
async def host(runtime: Runtime) -> User:
    """Add someone whose password is cheap to check."""
    return await add_host(runtime)


@pytest.fixture
async def phone(runtime: Runtime, host: User) -> App:
    """Turn two-factor authentication on."""
    return await turn_on(runtime, host)
