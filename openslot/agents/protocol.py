"""The Model Context Protocol: which method a message asks for, in each version, and how it is answered."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from openslot import __version__
from openslot.agents import budget
from openslot.agents.calling import ToolResponse, call_tool
from openslot.agents.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcFault, RpcMessage
from openslot.agents.models import Caller
from openslot.agents.tool_schemas import describe_tool
from openslot.agents.tools import TOOLS
from openslot.agents.versions import SERVER_INFO, SUPPORTED, ProtocolVersion, choose_version
from openslot.core.errors import Invalid
from openslot.core.work import Runtime

SERVER = {"name": "openslot-agents", "title": "Openslot agents", "version": __version__}
CAPABILITIES: dict[str, object] = {"tools": {}}
INSTRUCTIONS = (
    "Tools to run this Openslot platform. Call check_budget before anything that costs money. Tools that change "
    "something need confirm set to true. A call that needs an approval is answered with an approvalId: repeat the same "
    "call with it after the Orchestrator has decided."
)
COMPLETE = {"resultType": "complete", "_meta": {SERVER_INFO: SERVER}}
# Scopes can change at any moment, and another key has other tools.
NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}

encode = msgspec.json.Encoder().encode


class AgentSession(Struct, frozen=True, kw_only=True):
    """One request as the methods see it."""

    runtime: Runtime
    caller: Caller
    spoken: ProtocolVersion
    request_id: str


class _Text(Struct, frozen=True, kw_only=True):
    type: str = "text"
    text: str


class _CallResult(Struct, frozen=True, kw_only=True, rename="camel"):
    content: tuple[_Text]
    structured_content: Raw
    is_error: bool
    result_type: str | UnsetType = UNSET
    meta: Mapping[str, object] | UnsetType = msgspec.field(default=UNSET, name="_meta")


async def answer(session: AgentSession, message: RpcMessage) -> Raw:
    """Answer a request with its result, or raise what its error says."""
    if message.method == "initialize" and session.spoken.is_stateless:
        raise _not_found(session, message.method)
    await _count_model_cost(session, message)
    match message.method:
        case "tools/call":
            answered = await call_tool(session.runtime, session.caller, message.params, request_id=session.request_id)
            return _write_call(session, answered)
        case "tools/list":
            return _list_tools(session, message)
        case "initialize":
            return Raw(encode(_welcome(message)))
        case "ping" if not session.spoken.is_stateless:
            return Raw(b"{}")
        case "server/discover" if session.spoken.is_stateless:
            return Raw(encode({**_introduce(), "supportedVersions": SUPPORTED, **COMPLETE, **NOT_CACHED}))
    raise _not_found(session, message.method)


async def _count_model_cost(session: AgentSession, message: RpcMessage) -> None:
    """Count what the agent says that it has spent on models."""
    try:
        micros = budget.read_model_cost(message.meta)
    except Invalid as refusal:
        raise RpcFault(INVALID_PARAMS, refusal.message, data=dict(refusal.details or {}), http_status=200) from None
    if micros:
        await budget.report(session.runtime, session.caller.agent.slug, micros)


def _welcome(message: RpcMessage) -> dict[str, object]:
    return {
        "protocolVersion": choose_version(message.params.get("protocolVersion")),
        **_introduce(),
        "serverInfo": SERVER,
    }


def _introduce() -> dict[str, object]:
    return {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}


def _list_tools(session: AgentSession, message: RpcMessage) -> Raw:
    if message.params.get("cursor") is not None:
        raise RpcFault(INVALID_PARAMS, "There is only one page of tools: leave out cursor", http_status=200)
    return _write_tools(session.caller.scopes, is_stateless=session.spoken.is_stateless)


@lru_cache(maxsize=64)
def _write_tools(scopes: frozenset[str], *, is_stateless: bool) -> Raw:
    shown: dict[str, Any] = {"tools": [describe_tool(tool) for tool in TOOLS if tool.scope in scopes]}
    return Raw(encode(shown | ({**COMPLETE, **NOT_CACHED} if is_stateless else {})))


def _write_call(session: AgentSession, answered: ToolResponse) -> Raw:
    """Write a tool's result twice, as the protocol asks for: structured, and as a text for older clients."""
    result = _CallResult(
        content=(_Text(text=bytes(answered.content).decode()),),
        structured_content=answered.content,
        is_error=answered.is_error,
        result_type="complete" if session.spoken.is_stateless else UNSET,
        meta={SERVER_INFO: SERVER} if session.spoken.is_stateless else UNSET,
    )
    return Raw(encode(result))


def _not_found(session: AgentSession, method: str) -> RpcFault:
    status = 404 if session.spoken.is_stateless else 200
    return RpcFault(METHOD_NOT_FOUND, f"There is no method named {method[:100]!r}", http_status=status)


def check_batched(message: RpcMessage) -> None:
    """Refuse what must not be part of a batch."""
    if message.method == "initialize":
        raise RpcFault(INVALID_REQUEST, "initialize must not be part of a batch")
