"""Run a tool as the tool server does, with its arguments and its result as JSON."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from openslot.doors.agents.models import Agent, Caller, Level, Tier, ToolCall
from openslot.doors.agents.tools import TOOLS
from openslot.doors.http.bodies import decode
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import book, meeting, settings
from tests.support.clocks import clock

__all__ = ["book", "clock", "meeting", "settings"]

Run = Callable[..., Awaitable[Any]]
SUPPORT = Actor(kind=ActorKind.AGENT, agent="support")
BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.fixture
def run(runtime: Runtime) -> Run:
    """Call a tool by its name on behalf of the Support agent."""
    caller = Caller(
        agent=Agent(slug="support", autonomy_level=Level.L1, email_level=Level.L1), key_id=new_id(), scopes=frozenset()
    )

    async def call(name: str, **given: Any) -> Any:
        tool = BY_NAME[name]
        arguments = decode(msgspec.json.encode(given), tool.arguments)
        made = ToolCall(id=new_id(), caller=caller, request_id="test")
        if tool.tier is Tier.T1 or tool.transaction == "none":
            result = await tool.run(runtime.work(SUPPORT), made, arguments)
        else:
            async with runtime.transaction(SUPPORT) as work:
                result = await tool.run(work, made, arguments)
        text = msgspec.json.encode(result)
        msgspec.json.decode(text, type=tool.result)
        return msgspec.json.decode(text)

    return call


async def events(runtime: Runtime, kind: str) -> list[dict[str, Any]]:
    """Read the facts of a kind that the agent has caused."""
    rows = await runtime.pool.fetch(
        "select fact from events where type = $1 and actor ->> 'agent' = 'support' order by no", kind
    )
    return [msgspec.json.decode(row["fact"]) for row in rows]
