"""A person decides about a call that waits: with the arguments that were asked for, and with a record of its own."""

from collections.abc import Mapping
from uuid import UUID

from msgspec.structs import replace

from openslot.agents import approvals, audit, gates
from openslot.agents.approval_rules import Approval
from openslot.agents.approvals import ApprovalDecision, Verdict
from openslot.agents.calling import BY_NAME, actor_of, error_body
from openslot.agents.models import Agent, AuditStatus, Caller, CallRecord, Level, ToolCall
from openslot.agents.recording import Recorder
from openslot.agents.registry import Tool
from openslot.core.errors import NotFound, Refusal
from openslot.core.ids import new_id
from openslot.core.work import Work


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
