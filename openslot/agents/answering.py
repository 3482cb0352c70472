"""Answering a body: one message or a batch of them, each with its result or its error."""

from collections.abc import Mapping
from typing import NamedTuple

from openslot.access.door import take_place
from openslot.access.models import AgentEntry
from openslot.agents import audit
from openslot.agents.calling import caller_of
from openslot.agents.door import CODES, error_data
from openslot.agents.errors import GateRefusal
from openslot.agents.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    RATE_LIMITED,
    RpcFault,
    id_of,
    read_body,
    read_message,
    write_error,
    write_result,
)
from openslot.agents.models import AuditStatus, CallRecord
from openslot.agents.protocol import AgentSession, answer, check_batched
from openslot.agents.versions import WITH_BATCHES, find_version, read_version
from openslot.core.errors import TooMany
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.http.doors import JSON
from openslot.http.errors import headers_of, status_of, translate
from openslot.routing import Response

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
    """The answer to one message."""

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
