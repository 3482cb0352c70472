"""The Model Context Protocol: a body is one message or a batch, and each method is answered as its version asks."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from openslot import __version__
from openslot.access.door import take_place
from openslot.access.models import AgentEntry
from openslot.agents import audit, budget
from openslot.agents.calls import ToolResponse, call_tool, caller_of
from openslot.agents.door import CODES, error_data
from openslot.agents.errors import GateRefusal
from openslot.agents.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RATE_LIMITED,
    SERVER_INFO,
    SUPPORTED,
    WITH_BATCHES,
    ProtocolVersion,
    RpcFault,
    RpcMessage,
    choose_version,
    find_version,
    id_of,
    read_body,
    read_message,
    read_version,
    write_error,
    write_result,
)
from openslot.agents.models import AuditStatus, Caller, CallRecord
from openslot.agents.schemas import describe_tool
from openslot.agents.tools import TOOLS
from openslot.core.errors import Invalid, TooMany
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.http.doors import JSON
from openslot.http.errors import headers_of, status_of, translate
from openslot.routing import Response

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


LARGEST_BATCH = 20
ACCEPTED = Response(status=202)


class RpcContext(NamedTuple):
    """A request of an agent, as it arrived."""

    runtime: Runtime
    entry: AgentEntry
    request_id: str
    headers: Mapping[str, str]


async def answer_body(context: RpcContext, body: bytes) -> Response:
    """Answer a request; an agent over its limit is refused before anything is read."""
    if not context.entry.limit.taken:
        await _record_limited(context)
        context.entry.limit.check()
    try:
        value = read_body(body)
        if isinstance(value, list):
            return await _answer_batch(context, value)
    except RpcFault as fault:
        return _respond(_to_error(None, fault))
    written = await _answer_one(context, value)
    return _respond(written) if written is not None else ACCEPTED


async def _answer_batch(context: RpcContext, batch: list[object]) -> Response:
    """Answer each message of a batch; every one but the first counts as a request of its own."""
    if context.headers.get("mcp-protocol-version", WITH_BATCHES) != WITH_BATCHES:
        read_version(context.headers)
        raise RpcFault(INVALID_REQUEST, "This version of the protocol has no batches: send one message")
    if not 1 <= len(batch) <= LARGEST_BATCH:
        raise RpcFault(INVALID_REQUEST, f"A batch must have 1 to {LARGEST_BATCH} messages")
    answers = [await _answer_one(context, value, place=place) for place, value in enumerate(batch, 1)]
    written = [each.body for each in answers if each is not None]
    return _respond(RpcReply(200, b"[" + b",".join(written) + b"]", {})) if written else ACCEPTED


class RpcReply(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


async def _answer_one(context: RpcContext, value: object, *, place: int | None = None) -> RpcReply | None:
    """Answer one message; None if nobody waits for an answer."""
    message_id = id_of(value)
    try:
        message = read_message(value)
        if message is None:
            return None
        spoken = find_version(message, context.headers)
        if message.id is None:
            return None
        if place is not None:
            check_batched(message)
            await _count_batched(context, place)
        session = AgentSession(
            runtime=context.runtime,
            caller=caller_of(context.entry),
            spoken=spoken,
            request_id=context.request_id,
        )
        return RpcReply(200, write_result(message_id, await answer(session, message)), {})
    except Exception as fault:  # noqa: BLE001 - the edge of one message, whose id the answer must have
        return _to_error(message_id, fault)


def _to_error(message_id: str | int | None, fault: Exception) -> RpcReply:
    if isinstance(fault, RpcFault):
        return RpcReply(fault.http_status, write_error(message_id, fault.rpc_code, fault.message, fault.data), {})
    if isinstance(fault, GateRefusal):
        return RpcReply(200, write_error(message_id, fault.rpc_code, fault.message, fault.data), {})
    refusal = translate(fault)
    body = write_error(message_id, CODES.get(refusal.kind, INTERNAL_ERROR), refusal.message, error_data(refusal))
    return RpcReply(status_of(refusal), body, headers_of(refusal))


def _respond(written: RpcReply) -> Response:
    return Response(status=written.status, headers={"content-type": JSON, **written.headers}, body=written.body)


async def _count_batched(context: RpcContext, place: int) -> None:
    if place == 1:
        return
    verdict = await take_place(context.runtime, context.entry.key_id)
    if not verdict.taken:
        await _record_limited(context)
        raise TooMany(retry_after=verdict.retry_after)


async def _record_limited(context: RpcContext) -> None:
    """Record that a request was refused before it was parsed, because its key was over its limit."""
    entry = context.entry
    record = CallRecord(
        id=new_id(),
        at=context.runtime.clock(),
        agent=entry.agent,
        key_id=entry.key_id,
        tool=None,
        status=AuditStatus.DENIED_RATE,
        error_code=RATE_LIMITED,
        latency_ms=0,
        request_id=context.request_id,
    )
    await audit.keep(context.runtime, record)
