"""An agent in tests: its key, and messages as agents send them."""

from typing import Any

import httpx2

from openslot.domains.access import operations as access
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime

PATH = "/api/admin/agent-mcp"
NEWEST = "2025-11-25"


class TestAgent:
    """One of the ten agents, with a key."""

    __test__ = False
    path = PATH

    def __init__(self, client: httpx2.AsyncClient, key: str) -> None:
        self.client = client
        self.key = key
        self.headers = {"Authorization": f"Bearer {key}", "MCP-Protocol-Version": NEWEST}

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        """Send a body as it is: bytes, or a value as JSON."""
        sent = {**self.headers, "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, bytes):
            return await self.client.post(self.path, content=body, headers=sent)
        return await self.client.post(self.path, json=body, headers=sent)

    async def ask(self, method: str, params: Any = None, **headers: str) -> dict[str, Any]:
        """Send one request and return the whole answer."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
        answer: dict[str, Any] = (await self.post(message, **headers)).json()
        return answer

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return the whole answer."""
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def result(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed, and return its structured content."""
        answer = await self.call(tool, **arguments)
        assert not answer["result"]["isError"], answer
        content: dict[str, Any] = answer["result"]["structuredContent"]
        return content


async def make_key(runtime: Runtime, agent: str) -> str:
    """Make a key for an agent."""
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_agent_key(work, agent, name="test")
        return key
