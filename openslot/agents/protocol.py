"""The agents' endpoint: a message of the Model Context Protocol, or a batch, is answered as its version asks."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from openslot import __version__
from openslot.access.door import take_place
from openslot.access.models import AgentEntry
from openslot.agents import audit, budget, operations
from openslot.agents import jsonrpc as rpc
from openslot.agents.calls import ToolResponse, call_tool, caller_of, keep_refused_meta
from openslot.agents.door import CODES, error_data
from openslot.agents.errors import GateRefusal
from openslot.agents.jsonrpc import RpcFault, RpcMessage
from openslot.agents.models import AuditStatus, Caller, CallRecord
from openslot.agents.schemas import describe_tool
from openslot.agents.tools import TOOLS
from openslot.core.actor import SYSTEM
from openslot.core.errors import Invalid, RateLimited
from openslot.core.ids import new_id
from openslot.core.work import Runtime, Work
from openslot.http.doors import JSON, Exchange
from openslot.http.errors import headers_of, status_of, translate
from openslot.routing import Response, post

SERVER = {"name": "openslot-agents", "title": "Openslot agents", "version": __version__}
INTRODUCTION: dict[str, object] = {
    "capabilities": {"tools": {}},
    "instructions": "Tools to run this Openslot platform. Call check_budget before anything that costs money. Tools "
    "that change something need confirm set to true. A call that needs an approval is answered with an approvalId: "
    "repeat the same call with it after the Orchestrator has decided.",
}
COMPLETE = {"resultType": "complete", "_meta": {rpc.SERVER_INFO: SERVER}}
# Scopes can change at any moment, and another key has other tools.
NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}
LARGEST_BATCH = 20
ACCEPTED = Response(status=202)

encode = msgspec.json.Encoder().encode


class RpcContext(NamedTuple):
    runtime: Runtime
    entry: AgentEntry
    request_id: str
    headers: Mapping[str, str]


async def _answer(context: RpcContext, message: RpcMessage, *, is_stateless: bool) -> Raw:
    if message.method == "initialize" and is_stateless:
        raise _not_found(message.method, is_stateless=is_stateless)
    caller = caller_of(context.entry)
    await _count_model_cost(context, caller, message)
    match message.method:
        case "tools/call":
            answered = await call_tool(context.runtime, caller, message.params, request_id=context.request_id)
            return _write_call(answered, is_stateless=is_stateless)
        case "tools/list":
            if message.params.get("cursor") is not None:
                raise RpcFault(rpc.INVALID_PARAMS, "There is only one page of tools: leave out cursor", http_status=200)
            return _write_tools(caller.scopes, is_stateless=is_stateless)
        case "initialize":
            version = rpc.choose_version(message.params.get("protocolVersion"))
            await _note_client(context, message.params.get("clientInfo"))
            return Raw(encode({"protocolVersion": version, **INTRODUCTION, "serverInfo": SERVER}))
        case "ping" if not is_stateless:
            return Raw(b"{}")
        case "server/discover" if is_stateless:
            await _note_client(context, message.meta.get(rpc.CLIENT_INFO))
            return Raw(encode({**INTRODUCTION, "supportedVersions": rpc.SUPPORTED, **COMPLETE, **NOT_CACHED}))
    raise _not_found(message.method, is_stateless=is_stateless)


async def _note_client(context: RpcContext, client: object) -> None:
    await operations.note_client(context.runtime.work(SYSTEM), context.entry.agent, client)


async def _count_model_cost(context: RpcContext, caller: Caller, message: RpcMessage) -> None:
    try:
        micros = budget.read_model_cost(message.meta)
    except Invalid as refusal:
        if message.method == "tools/call":
            await keep_refused_meta(context.runtime, caller, message.params, request_id=context.request_id)
        raise RpcFault(rpc.INVALID_PARAMS, refusal.message, data=dict(refusal.details or {}), http_status=200) from None
    await budget.report(context.runtime, context.entry.agent, micros)


@lru_cache(maxsize=64)
def _write_tools(scopes: frozenset[str], *, is_stateless: bool) -> Raw:
    shown: dict[str, Any] = {"tools": [describe_tool(tool) for tool in TOOLS if tool.scope in scopes]}
    return Raw(encode(shown | ({**COMPLETE, **NOT_CACHED} if is_stateless else {})))


def _write_call(answered: ToolResponse, *, is_stateless: bool) -> Raw:
    """Write a tool's result twice, as the protocol asks for: structured, and as a text for older clients."""
    result = {
        "content": [{"type": "text", "text": bytes(answered.content).decode()}],
        "structuredContent": answered.content,
        "isError": answered.is_error,
    }
    return Raw(encode(result | (COMPLETE if is_stateless else {})))


def _not_found(method: str, *, is_stateless: bool) -> RpcFault:
    words = f"There is no method named {method[:100]!r}"
    return RpcFault(rpc.METHOD_NOT_FOUND, words, http_status=404 if is_stateless else 200)


@post("", transaction="none", summary="Call the tool server")
async def call_tool_server(work: Work, entry: AgentEntry, request: Exchange) -> Response:
    """Answer JSON-RPC messages of the Model Context Protocol."""
    context = RpcContext(work.runtime, entry, request.request_id, request.headers)
    if not entry.limit.taken:
        # An agent over its limit is refused before anything is read.
        await _record_limited(context)
        entry.limit.check()
    try:
        value = rpc.read_body(request.body)
        if isinstance(value, list):
            return await _answer_batch(context, value)
    except RpcFault as fault:
        return _to_error(None, fault)
    return await _answer_one(context, value) or ACCEPTED


async def _answer_batch(context: RpcContext, batch: list[object]) -> Response:
    """Answer each message of a batch; every one but the first counts as a request of its own."""
    if context.headers.get("mcp-protocol-version", rpc.WITH_BATCHES) != rpc.WITH_BATCHES:
        rpc.read_version(context.headers)
        raise RpcFault(rpc.INVALID_REQUEST, "This version of the protocol has no batches: send one message")
    if not 1 <= len(batch) <= LARGEST_BATCH:
        raise RpcFault(rpc.INVALID_REQUEST, f"A batch must have 1 to {LARGEST_BATCH} messages")
    answers = [await _answer_one(context, value, place=place) for place, value in enumerate(batch, 1)]
    written = [each.body for each in answers if each is not None and isinstance(each.body, bytes)]
    return Response(headers={"content-type": JSON}, body=b"[" + b",".join(written) + b"]") if written else ACCEPTED


async def _answer_one(context: RpcContext, value: object, *, place: int | None = None) -> Response | None:
    """Answer one message; None if nobody waits for an answer."""
    message_id = rpc.id_of(value)
    try:
        message = rpc.read_message(value)
        if message is None:
            return None
        version = rpc.find_version(message, context.headers)
        if message.id is None:
            return None
        if place is not None:
            await _check_batched(context, message, place)
        result = await _answer(context, message, is_stateless=version == rpc.STATELESS)
        return Response(headers={"content-type": JSON}, body=rpc.write_result(message_id, result))
    except Exception as fault:  # noqa: BLE001 - the edge of one message, whose id the answer must have
        return _to_error(message_id, fault)


def _to_error(message_id: str | int | None, fault: Exception) -> Response:
    if isinstance(fault, RpcFault | GateRefusal):
        status, headers = fault.http_status if isinstance(fault, RpcFault) else 200, {}
        body = rpc.write_error(message_id, fault.rpc_code, fault.message, fault.data)
    else:
        refusal = translate(fault)
        status, headers = status_of(refusal), headers_of(refusal)
        body = rpc.write_error(
            message_id, CODES.get(refusal.kind, rpc.INTERNAL_ERROR), refusal.message, error_data(refusal)
        )
    return Response(status=status, headers={"content-type": JSON, **headers}, body=body)


async def _check_batched(context: RpcContext, message: RpcMessage, place: int) -> None:
    if message.method == "initialize":
        raise RpcFault(rpc.INVALID_REQUEST, "initialize must not be part of a batch")
    if place == 1:
        return
    verdict = await take_place(context.runtime, context.entry.key_id)
    if not verdict.taken:
        await _record_limited(context)
        raise RateLimited(retry_after=verdict.retry_after)


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
        error_code=rpc.RATE_LIMITED,
        request_id=context.request_id,
    )
    await audit.keep(context.runtime, record)
