"""Calls of tools: gates, verdict, run, record; some run only after a person has decided."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.access.models import AgentEntry
from openslot.doors.agents import budget
from openslot.doors.agents.approvals.operations import (
    ApprovalDecision,
    Verdict,
    claim_approval,
    keep_approved_result,
    lock_pending_approval,
    name_approval,
    reject_call,
    require_approval,
)
from openslot.doors.agents.audit.operations import (
    Recorder,
    keep_begun_record,
    keep_record,
    keep_records_with,
    note_begun_call,
)
from openslot.doors.agents.errors import AutonomyTooLow, ConfirmationRequired, CostKept, GateRefusal, InsufficientScope
from openslot.doors.agents.models import Agent, AuditStatus, Caller, CallRecord, Level, Tier, ToolCall
from openslot.doors.agents.quoting import SHOWING_TYPED, mark
from openslot.doors.agents.registry import AgentTool
from openslot.doors.agents.roster import with_implied
from openslot.doors.agents.rules import Approval
from openslot.doors.agents.tools import TOOLS
from openslot.doors.http.errors import translate
from openslot.doors.mcp import tools
from openslot.doors.mcp.jsonrpc import INVALID_PARAMS
from openslot.doors.mcp.protocol import read_params, unknown_tool
from openslot.doors.mcp.tools import ToolResponse, error_body, respond
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.db import is_refused
from openslot.platform.core.errors import Internal, Invalid, NotFound, Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work

BY_NAME = {tool.name: tool for tool in TOOLS}
SEND_EMAIL = "send_email"


class ApprovalFields(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a call of tier T3 says about an approval."""

    approval_id: UUID | None = None
    decision: Literal["approve", "reject"] | None = None


GATE_FIELDS = {
    Tier.T1: frozenset[str](),
    Tier.T2: frozenset({"confirm"}),
    Tier.T3: frozenset({"confirm", *ApprovalFields.__struct_encode_fields__}),
}


class _Asked(Struct, frozen=True, kw_only=True):
    """A call that has passed the gates which need nothing but the call itself."""

    tool: AgentTool
    arguments: Any
    recorder: Recorder


def caller_of(entry: AgentEntry) -> Caller:
    agent = Agent(slug=entry.agent, autonomy_level=Level(entry.autonomy_level), email_level=Level(entry.email_level))
    return Caller(agent=agent, key_id=entry.key_id, scopes=with_implied(entry.scopes))


async def call_tool(runtime: Runtime, caller: Caller, params: Mapping[str, Any], *, request_id: str) -> ToolResponse:
    """Call a tool and keep the record of it; what the gates refuse is raised, what the tool refuses is its answer."""
    name, given = read_params(params)
    call = ToolCall(id=new_id(), caller=caller, request_id=request_id)
    tool = BY_NAME.get(name)
    recorder = Recorder(runtime=runtime, call=call, name=name, tool=tool, given=given)
    if tool is None:
        await keep_record(runtime, recorder.write())
        raise unknown_tool(name, "tools/list names those that this key may call")
    try:
        asked = _pass_gates(tool, recorder)
        answer = await _read(runtime, asked) if tool.tier is Tier.T1 else await _write(runtime, asked)
    except Refusal as refusal:
        await keep_record(runtime, recorder.write(refusal))
        answer = refusal
    if isinstance(answer, (GateRefusal, Internal)):
        raise answer
    return answer if isinstance(answer, ToolResponse) else respond(error_body(answer), is_error=True)


async def keep_refused_meta(runtime: Runtime, caller: Caller, params: Mapping[str, Any], *, request_id: str) -> None:
    """Keep the record of a call whose `_meta` was refused; a message without a tool's name is not a call."""
    name, given = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        return
    call = ToolCall(id=new_id(), caller=caller, request_id=request_id)
    arguments = given if isinstance(given, dict) else {}
    record = Recorder(runtime=runtime, call=call, name=name, tool=BY_NAME.get(name), given=arguments).write()
    refused = replace(record, status=AuditStatus.INVALID_ARGUMENTS, error_code=INVALID_PARAMS)
    await keep_record(runtime, refused)


def _pass_gates(tool: AgentTool, recorder: Recorder) -> _Asked:
    caller = recorder.call.caller
    if tool.scope not in caller.scopes:
        words = f"{tool.name} needs the scope {tool.scope}, which this key does not have"
        raise InsufficientScope(words, data={"requiredScope": tool.scope})
    # Email has its own rules for agents at level L0.
    if caller.agent.autonomy_level < Level.L1 and tool.tier is not Tier.T1 and tool.name != SEND_EMAIL:
        words = f"{caller.agent.slug} is at level L0 and may only read. An operator can raise it to L1"
        raise AutonomyTooLow(words, data={"autonomyLevel": "L0", "requiredLevel": "L1"})
    # Only the JSON value true confirms, and it is looked at before the other arguments are read.
    if tool.tier is not Tier.T1 and recorder.given.get("confirm") is not True:
        words = f"{tool.name} changes something: call it with confirm set to true"
        raise ConfirmationRequired(words, data={"argument": "confirm"})
    return _read_arguments(tool, recorder)


def _read_arguments(tool: AgentTool, recorder: Recorder) -> _Asked:
    arguments = read_arguments(tool, recorder.given)
    recorder.target = tool.target(arguments)
    return _Asked(tool=tool, arguments=arguments, recorder=recorder)


def read_arguments(tool: AgentTool, given: Mapping[str, object]) -> Any:
    """Read a tool's own arguments, or refuse them with every fault; fields that the tool does not have are faults."""
    own = {name: value for name, value in given.items() if name not in GATE_FIELDS[tool.tier]}
    return tools.read_arguments(own, tool.arguments)


def _read_approval(given: Mapping[str, object]) -> ApprovalFields:
    own = {name: given[name] for name in ApprovalFields.__struct_encode_fields__ if name in given}
    found: ApprovalFields = tools.read_arguments(own, ApprovalFields)
    if found.decision is not None and found.approval_id is None:
        raise Invalid("The arguments are invalid", details={"approvalId": "is required with a decision"})
    return found


async def _read(runtime: Runtime, asked: _Asked) -> ToolResponse:
    """Run a tool that changes nothing, without a transaction."""
    tool, call = asked.tool, asked.recorder.call
    work = runtime.work(actor_of(call.caller))
    with _translated():
        if tool.check is not None:
            await tool.check(work, call, asked.arguments)
        result = await tool.run(work, call, asked.arguments)
    await keep_record(runtime, asked.recorder.write())
    return respond(mark(result))


async def _write(runtime: Runtime, asked: _Asked) -> ToolResponse | Refusal:
    """Run a tool that changes something; what it costs is reserved before, and given back if it was not spent."""
    tool, call, recorder = asked.tool, asked.recorder.call, asked.recorder
    actor = actor_of(call.caller)
    if tool.check is not None:
        await tool.check(runtime.work(actor), call, asked.arguments)
    recorder.cost_micros = tool.cost(runtime.settings)
    reservation = await budget.reserve(runtime, call, recorder.cost_micros)
    try:
        if tool.transaction == "none":
            answer = await _run_outside(runtime, asked, reservation)
        else:
            answer = await runtime.run(actor, partial(_run_and_record, asked=asked, reservation=reservation))
    except Exception:
        await budget.give_back(runtime, reservation)
        raise
    if isinstance(answer, Refusal):
        await budget.give_back(runtime, reservation)
    return answer


async def _run_outside(
    runtime: Runtime, asked: _Asked, reservation: budget.Reservation | None
) -> ToolResponse | Refusal:
    """Run a tool that may wait for others, then keep what it has staged, its cost and its record in one transaction.

    The call is noted before: if the process dies meanwhile, its record is written from the note.
    """
    recorder, actor = asked.recorder, actor_of(asked.recorder.call.caller)
    outside, refusal = runtime.work(actor), None
    await note_begun_call(outside, recorder)
    try:
        with _translated():
            answer = respond(mark(await asked.tool.run(outside, recorder.call, asked.arguments)))
    except Refusal as found:
        refusal = found
    async with runtime.transaction(actor) as work:
        if refusal is None and outside.staged:
            work.staged += outside.staged
            await work.apply()
        if refusal is None or isinstance(refusal, CostKept):
            await budget.settle(work, reservation)
        await keep_begun_record(work, recorder.write(refusal))
    return answer if refusal is None else refusal


async def _run_and_record(
    work: Work, *, asked: _Asked, reservation: budget.Reservation | None
) -> ToolResponse | Refusal:
    """Keep the record together with what the tool has changed, or the record of its refusal alone."""
    verdict, refusal = None, None
    try:
        if asked.tool.tier is Tier.T3:
            verdict = await _get_verdict(work, asked)
        if verdict is not None and verdict.run_as is None:
            answer = respond(verdict.result, is_error=verdict.is_error)
        else:
            with _translated():
                answer = respond(await _run(work, asked, verdict, reservation))
    except Refusal as found:
        refusal = found
        if not isinstance(refusal, (GateRefusal, Internal)):
            await keep_approved_result(work, verdict, error_body(refusal), is_error=True)
    await keep_records_with(work, asked.recorder.write(refusal))
    return answer if refusal is None else refusal


async def _get_verdict(work: Work, asked: _Asked) -> Verdict:
    recorder = asked.recorder
    fields = _read_approval(recorder.given)
    recorder.approval_id = fields.approval_id
    recorder.verdict = await require_approval(
        work,
        recorder.call,
        asked.tool,
        arguments=recorder.given,
        approval_id=fields.approval_id,
        decision=fields.decision,
        showing=SHOWING_TYPED,
    )
    return recorder.verdict


async def _run(
    work: Work, asked: _Asked, verdict: Verdict | None, reservation: budget.Reservation | None = None
) -> object:
    """Run a tool on behalf of its requester and use its approval up, or undo all of that if it fails."""
    call = asked.recorder.call
    if verdict is not None and verdict.run_as is not None:
        call = replace(call, caller=verdict.run_as)
    async with work.attempt():
        result = await asked.tool.run(work.acting_as(actor_of(call.caller)), call, asked.arguments)
        work.check_nothing_is_staged()
        await budget.settle(work, reservation)
        return await keep_approved_result(work, verdict, mark(name_approval(verdict, result)))


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the refusal that a fault means; one of the database is not recorded, because nothing can be."""
    try:
        yield
    except Exception as fault:
        if is_refused(fault):
            raise
        raise translate(fault) from fault


def actor_of(caller: Caller) -> Actor:
    return Actor(kind=ActorKind.AGENT, agent=caller.agent.slug, credential_id=caller.key_id)


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
    approval = await lock_pending_approval(work, approval_id)
    tool = BY_NAME.get(approval.tool)
    if tool is None:
        raise NotFound(f"There is no tool named {approval.tool} any more")
    # For the record; whether the requester may still make the call is checked when it is claimed.
    agent = Agent(slug=approval.requester, autonomy_level=Level.L0, email_level=Level.L0)
    caller = Caller(agent=agent, key_id=approval.key_id, scopes=frozenset())
    call = ToolCall(id=new_id(), caller=caller, request_id=request_id)
    recorder = Recorder(runtime=work.runtime, call=call, name=tool.name, tool=tool, given=approval.arguments or {})
    refusal: Refusal | None = None
    if decision == "reject":
        verdict = await reject_call(work, tool, approval, approver=approver, reason=reason)
    else:
        verdict = await claim_approval(work, tool, approval, approver=approver)
        try:
            result = await _run(work, _read_arguments(tool, recorder), verdict)
        except Refusal as found:
            # A refusal of the tool is its result, and uses the approval up.
            refusal = found
            result = await keep_approved_result(work, verdict, error_body(refusal), is_error=True)
        verdict = replace(verdict, result=result, is_error=refusal is not None)
    recorder.verdict = verdict
    await keep_records_with(work, recorder.write(refusal))
    return verdict


async def keep_expired(work: Work, approval: Approval) -> None:
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
        approval_id=approval.id,
    )
    await keep_records_with(work, record)
