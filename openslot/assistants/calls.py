"""Calls of a user's assistant: the scopes that the user has allowed, then the tool, in a transaction if it writes."""

from typing import Any

import msgspec

from openslot.access import idempotency
from openslot.access.models import AssistantEntry
from openslot.assistants import tools, writing
from openslot.assistants.errors import AssistantScopeRequired, AssistantsForbidden
from openslot.assistants.operations import READ_ONLY
from openslot.assistants.rules import allowed_by, with_implied, write_scopes
from openslot.assistants.tools import AssistantTool
from openslot.core.work import Runtime, Work
from openslot.mcp.protocol import ToolParams, unknown_tool
from openslot.mcp.retries import run_once
from openslot.mcp.tools import ToolResponse, read_arguments, respond

TOOLS = tuple(each for module in (tools, writing) for each in vars(module).values() if isinstance(each, AssistantTool))
BY_NAME = {tool.name: tool for tool in TOOLS}


async def call_tool(runtime: Runtime, entry: AssistantEntry, called: ToolParams) -> ToolResponse:
    """Call a tool for the user; what is refused is raised."""
    tool = BY_NAME.get(called.name)
    if tool is None:
        raise unknown_tool(called.name, "tools/list names them all")
    _check_scope(entry, tool)
    arguments = read_arguments(called.given, tool.arguments)
    if tool.is_read_only:
        return respond(await tool.run(runtime.work(entry.actor), entry, arguments))
    return await runtime.run(entry.actor, lambda work: _write(work, entry, tool, arguments))


def _check_scope(entry: AssistantEntry, tool: AssistantTool) -> None:
    if tool.scope in entry.scopes:
        return
    if not allowed_by(entry.policies, {tool.scope}):
        raise AssistantsForbidden(READ_ONLY)
    raise AssistantScopeRequired(write_scopes(with_implied({tool.scope}) - entry.scopes))


async def _write(work: Work, entry: AssistantEntry, tool: AssistantTool, arguments: Any) -> ToolResponse:
    async def act() -> ToolResponse:
        return respond(await tool.run(work, entry, arguments))

    return await run_once(work, _read_request(entry, tool, arguments), ToolResponse, act)


def _read_request(entry: AssistantEntry, tool: AssistantTool, arguments: Any) -> idempotency.RetriedRequest | None:
    """Name a call that must not be done twice, if the assistant has given it a key."""
    if tool.is_idempotent or arguments.idempotency_key is None:
        return None
    return idempotency.read_request(
        caller=str(entry.grant_id),
        method="CALL",
        path=tool.name,
        key=arguments.idempotency_key,
        body=msgspec.json.encode(arguments),
    )
