"""A clock, two processes on one database, and the calls of an agent that asks and of one that decides."""

from collections.abc import AsyncIterator

import pytest

from openslot.doors.agents.models import ToolCall
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.doors.agents.approving import shared_database
from tests.doors.agents.spending import call_of, clock, make_key
from tests.support.clocks import MovingClock

__all__ = ["clock", "shared_database"]


@pytest.fixture
async def other(runtime: Runtime, settings: Settings, clock: MovingClock) -> AsyncIterator[Runtime]:
    """A second process on the same database."""
    async with open_runtime(settings, clock=clock) as opened:
        yield opened


@pytest.fixture
async def support(runtime: Runtime) -> ToolCall:
    return call_of("support", key_id=await make_key(runtime, "support"))


@pytest.fixture
async def orchestrator(runtime: Runtime) -> ToolCall:
    return call_of("orchestrator", key_id=await make_key(runtime, "orchestrator"))
