"""Calls of tools: through the gates, in their transaction, with their record; some only after a person has decided."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from openslot.access.models import AgentEntry
from openslot.agents import approvals, audit, budget, gates
from openslot.agents.approvals import ApprovalDecision, Verdict
from openslot.agents.audit import Recorder
from openslot.agents.errors import GateRefusal
from openslot.agents.jsonrpc import INVALID_PARAMS, RpcFault
from openslot.agents.models import Agent, AuditStatus, Caller, CallRecord, Level, Tier, ToolCall
from openslot.agents.registry import Tool
from openslot.agents.roster import with_implied
from openslot.agents.rules import Approval
from openslot.agents.tools import TOOLS
from openslot.core.actor import Actor, ActorKind
from openslot.core.db import BUSY, DOWN, transaction
from openslot.core.errors import Internal, NotFound, Refusal
from openslot.core.ids import new_id
from openslot.core.work import Runtime, Work
from openslot.http.errors import translate

BY_NAME = {tool.name: tool for tool in TOOLS}

encode = msgspec.json.Encoder().encode


class ToolResponse(Struct, frozen=True, kw_only=True):
    """What a call is answered with: the tool's result, or why it failed."""

    content: Raw
    is_error: bool = False


class _Asked(Struct, frozen=True, kw_only=True):
    """A call that has passed the gates which need nothing but the call itself."""

    tool: Tool
    call: ToolCall
    given: Mapping[str, object]
    arguments: Any
    recorder: Recorder


def caller_of(entry: AgentEntry) -> Caller:
    """Return who calls, from what the door has found."""
    agent = Agent(slug=entry.agent, autonomy_level=Level(entry.autonomy_level), email_level=Level(entry.email_level))
    return Caller(agent=agent, key_id=entry.key_id, scopes=with_implied(entry.scopes))


async def call_tool(runtime: Runtime, caller: Caller, params: Mapping[str, Any], *, request_id: str) -> ToolResponse:
    """Call a tool and keep the record of it; what the gates refuse is raised, what the tool refuses is its answer."""
    name, given = _read_params(params)
    call = ToolCall(id=new_id(), caller=caller, request_id=request_id)
    tool = BY_NAME.get(name)
    recorder = Recorder(runtime, call, name=name, tool=tool, given=given)
    if tool is None:
        await recorder.keep_unknown()
        raise _unknown(name)
    try:
        asked = _pass_gates(tool, call, given, recorder)
        if tool.tier is Tier.T1:
            return await _read(runtime, asked)
        return await _write(runtime, asked)
    except _Recorded as told:
        refusal = told.refusal
    except Refusal as found:
        refusal = found
        await recorder.keep_refused(refusal)
    if isinstance(refusal, (GateRefusal, Internal)):
        raise refusal
    return _failed(refusal)


class _Recorded(Exception):
    """A refusal that was recorded in the transaction of its call."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


def _read_params(params: Mapping[str, Any]) -> tuple[str, Mapping[str, object]]:
    name, given = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise RpcFault(INVALID_PARAMS, "params.name must be a string", http_status=200)
    if given is None:
        return name, {}
    if not isinstance(given, dict):
        raise RpcFault(INVALID_PARAMS, "params.arguments must be an object", http_status=200)
    return name, given


def _unknown(name: str) -> RpcFault:
    words = f"There is no tool named {name[:100]!r}; tools/list names those that this key may call"
    return RpcFault(INVALID_PARAMS, words, data={"reason": "unknown_tool"}, http_status=200)


def _pass_gates(tool: Tool, call: ToolCall, given: Mapping[str, object], recorder: Recorder) -> _Asked:
    gates.check_scope(tool, call.caller)
    gates.check_level(tool, call.caller)
    gates.check_confirm(tool, given)
    arguments = gates.read_arguments(tool, given)
    recorder.target = tool.target(arguments)
    return _Asked(tool=tool, call=call, given=given, arguments=arguments, recorder=recorder)


async def _read(runtime: Runtime, asked: _Asked) -> ToolResponse:
    """Run a tool that changes nothing, without a transaction."""
    work = runtime.work(actor_of(asked.call.caller))
    try:
        if asked.tool.check is not None:
            await asked.tool.check(work, asked.call, asked.arguments)
        result = await asked.tool.run(work, asked.call, asked.arguments)
    except Exception as fault:
        raise _refusal_of(fault) from fault
    await asked.recorder.keep_done()
    return ToolResponse(content=Raw(encode(result)))


async def _write(runtime: Runtime, asked: _Asked) -> ToolResponse:
    """Run a tool that changes something; what it costs is reserved before, and given back if it fails."""
    tool, call = asked.tool, asked.call
    if tool.check is not None:
        await tool.check(runtime.work(actor_of(call.caller)), call, asked.arguments)
    asked.recorder.cost_micros = tool.cost(runtime.settings)
    reservation = await budget.reserve(runtime, call, asked.recorder.cost_micros)
    try:
        return await runtime.turns.run(partial(_run_and_commit, runtime, asked, reservation))
    except Exception:
        await budget.give_back(runtime, reservation)
        raise


async def _run_and_commit(
    runtime: Runtime, asked: _Asked, reservation: budget.Reservation | None, *, waits: bool
) -> ToolResponse:
    """Commit the record with what the tool has changed, or the record of its refusal alone."""
    recorder = asked.recorder
    async with transaction(runtime.pool, waits=waits) as db:
        work = Work(runtime=runtime, actor=actor_of(asked.call.caller), db=db, now=runtime.clock())
        answer, refusal = await _decide_and_run(work, asked, reservation)
        await recorder.keep_with(work, refusal)
    if refusal is not None:
        raise _Recorded(refusal)
    return answer


async def _decide_and_run(
    work: Work, asked: _Asked, reservation: budget.Reservation | None
) -> tuple[ToolResponse, Refusal | None]:
    verdict = None
    try:
        if asked.tool.tier is Tier.T3:
            verdict = await _get_verdict(work, asked)
            if verdict.run_as is None:
                return ToolResponse(content=Raw(encode(verdict.result)), is_error=verdict.is_error), None
        return await _run(work, asked, verdict, reservation), None
    except Refusal as refusal:
        if verdict is not None and not isinstance(refusal, (GateRefusal, Internal)):
            await approvals.keep_result(work, verdict, error_body(refusal), is_error=True)
        return _failed(refusal), refusal


async def _get_verdict(work: Work, asked: _Asked) -> approvals.Verdict:
    fields = gates.read_approval(asked.given)
    asked.recorder.approval_id = fields.approval_id
    verdict = await approvals.require(
        work,
        asked.call,
        asked.tool,
        arguments=asked.given,
        approval_id=fields.approval_id,
        decision=fields.decision,
    )
    asked.recorder.verdict = verdict
    return verdict


async def _run(
    work: Work, asked: _Asked, verdict: approvals.Verdict | None, reservation: budget.Reservation | None
) -> ToolResponse:
    """Run the tool on behalf of its requester, and undo what it has changed if it fails."""
    call = asked.call
    if verdict is not None and verdict.run_as is not None:
        call = msgspec.structs.replace(call, caller=verdict.run_as)
        work = work.acting_as(actor_of(call.caller))
    try:
        async with work.attempt():
            result = await asked.tool.run(work, call, asked.arguments)
            work.check_nothing_is_staged()
            await budget.settle(work, reservation)
            if verdict is not None:
                result = await approvals.keep_result(work, verdict, result)
    except Exception as fault:
        raise _refusal_of(fault) from fault
    return ToolResponse(content=Raw(encode(result)))


def _refusal_of(fault: Exception) -> Exception:
    """Return the refusal that a fault means; one of the database is not recorded, because nothing can be."""
    return fault if isinstance(fault, (*DOWN, *BUSY)) else translate(fault)


def actor_of(caller: Caller) -> Actor:
    """Return on whose behalf the verbs run."""
    return Actor(kind=ActorKind.AGENT, agent=caller.agent.slug, credential_id=caller.key_id)


def error_body(refusal: Refusal) -> dict[str, object]:
    """Write the structured content of a call that failed."""
    return {"error": {"code": refusal.code, "message": refusal.message, "details": refusal.details or {}}}


def _failed(refusal: Refusal) -> ToolResponse:
    return ToolResponse(content=Raw(encode(error_body(refusal))), is_error=True)


async def decide(
    work: Work,
    approval_id: UUID,
    decision: ApprovalDecision,
    *,
    approver: str,
    request_id: str,
    reason: str | None = None,
) -> Verdict:
    """Approve a call and carry it out for its requester, or reject it; the verdict has what it answered.

    It belongs in one transaction, so that decision, effect and record are committed together.
    """
    approval = await approvals.lock_pending(work, approval_id)
    tool, given = _get_tool(approval), approval.arguments or {}
    call = ToolCall(id=new_id(), caller=_name_requester(approval), request_id=request_id)
    recorder = Recorder(work.runtime, call, name=tool.name, tool=tool, given=given)
    if decision == "reject":
        verdict, refusal = await approvals.reject(work, tool, approval, approver=approver, reason=reason), None
    else:
        verdict = await approvals.claim(work, tool, approval, approver=approver)
        verdict, refusal = await _carry_out(work, call, tool, given, verdict=verdict, recorder=recorder)
    recorder.verdict = verdict
    await recorder.keep_with(work, refusal)
    return verdict


async def keep_expired(work: Work, expired: list[Approval]) -> None:
    """Keep a record of each call that nobody has decided about in time."""
    for approval in expired:
        tool = BY_NAME.get(approval.tool)
        record = CallRecord(
            id=new_id(),
            at=work.now,
            agent=approval.requester,
            key_id=approval.key_id,
            tool=approval.tool,
            scope=tool.scope if tool else None,
            tier=tool.tier if tool else None,
            input_hash=approval.arguments_hash,
            status=AuditStatus.EXPIRED,
            error_code=None,
            latency_ms=0,
            cost_micros=0,
            approval_id=approval.id,
            approver=None,
            request_id="",
            target_type=None,
            target_id=None,
        )
        await audit.keep_with(work, record)


async def _carry_out(
    work: Work, call: ToolCall, tool: Tool, given: Mapping[str, object], *, verdict: Verdict, recorder: Recorder
) -> tuple[Verdict, Refusal | None]:
    """Run the tool for its requester; a refusal of the tool is its result, and uses the approval up."""
    caller = verdict.run_as or call.caller
    refusal: Refusal | None = None
    try:
        arguments = gates.read_arguments(tool, given)
        recorder.target = tool.target(arguments)
        async with work.attempt():
            running = work.acting_as(actor_of(caller))
            result = await tool.run(running, replace(call, caller=caller), arguments)
            running.check_nothing_is_staged()
    except Refusal as found:
        refusal, result = found, error_body(found)
    answer = await approvals.keep_result(work, verdict, result, is_error=refusal is not None)
    return replace(verdict, result=answer, is_error=refusal is not None), refusal


def _get_tool(approval: Approval) -> Tool:
    tool = BY_NAME.get(approval.tool)
    if tool is None:
        raise NotFound(f"There is no tool named {approval.tool} any more")
    return tool


def _name_requester(approval: Approval) -> Caller:
    """Name the requester for the record; whether it may still make the call is checked when it is claimed."""
    agent = Agent(slug=approval.requester, autonomy_level=Level.L0, email_level=Level.L0)
    return Caller(agent=agent, key_id=approval.key_id, scopes=frozenset())
