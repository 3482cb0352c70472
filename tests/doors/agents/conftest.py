"""Agents with their keys at a live server."""

from collections.abc import Awaitable, Callable

import httpx2
import pytest

from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent, make_key

Connect = Callable[[str], Awaitable[TestAgent]]


@pytest.fixture
def enter(client: httpx2.AsyncClient, runtime: Runtime) -> Connect:
    """Make a key for an agent, and a client that uses it."""

    async def connect_agent(agent: str) -> TestAgent:
        return TestAgent(client, await make_key(runtime, agent))

    return connect_agent


@pytest.fixture
async def orchestrator(enter: Connect) -> TestAgent:
    """The agent that may use every tool."""
    return await enter("orchestrator")
