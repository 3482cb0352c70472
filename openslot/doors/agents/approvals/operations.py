"""Approvals: a call of tier T3 waits until the Orchestrator or an administrator has decided, and runs once."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.doors.agents import rules
from openslot.doors.agents.approvals import store
from openslot.doors.agents.errors import ApprovalNotFound
from openslot.doors.agents.events import ApprovalDecided, ApprovalRequested
from openslot.doors.agents.models import Agent, Caller, Level, ToolCall
from openslot.doors.agents.registry import AgentTool
from openslot.doors.agents.roster import ORCHESTRATOR, with_implied
from openslot.doors.agents.rules import Approval, AskedCall, refuse
from openslot.doors.agents.schemas import Decided
from openslot.doors.mcp.approvals import (
    ApprovalStatus,
    hash_arguments,
    is_expired,
    open_result,
    seal_result,
    without_gates,
)
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work

AT_ONCE = 100
APPROVALS_KEPT = timedelta(days=90)

ApprovalDecision = Literal["approve", "reject"]


class Verdict(Struct, frozen=True, kw_only=True):
    """What the gate lets a call do: run on behalf of `run_as`, or answer `result` as it is."""

    status: Literal["ok", "tool_error", "approved", "rejected"]
    """The status in the audit record; if the call runs, the one that it has if the tool succeeds."""
    agent: str
    """The agent named in the audit record."""
    key_id: UUID
    run_as: Caller | None = None
    result: object = None
    is_error: bool = False
    approval: Approval | None = None
    approver: str | None = None

    @property
    def approval_id(self) -> UUID | None:
        """The approval that the call belongs to; None for the Orchestrator's own."""
        return self.approval.id if self.approval else None


async def require_approval(
    work: Work,
    call: ToolCall,
    tool: AgentTool,
    *,
    arguments: Mapping[str, object],
    approval_id: UUID | None,
    decision: ApprovalDecision | None,
    showing: Collection[str],
) -> Verdict:
    """Let an approved call through, decide one that waits, or write down that this one waits, and say so.

    It belongs in the call's transaction. `ApprovalRequired` is raised after the approval is written: commit it.
    `showing` names the tools that answer with texts of people outside: the approval says whether they have been read.
    """
    asked = AskedCall(tool=tool.name, agent=call.caller.agent.slug, arguments_hash=hash_arguments(arguments))
    if decision is not None:
        return await _decide(work, call, tool, asked, approval_id=approval_id, decision=decision)
    if approval_id is not None:
        return await _repeat(work, call, asked, approval_id)
    if asked.agent == ORCHESTRATOR and not work.runtime.settings.agent_approval_by_person:
        return Verdict(
            status="ok", agent=asked.agent, key_id=call.caller.key_id, run_as=call.caller, approver=ORCHESTRATOR
        )
    raise rules.require(await _request(work, call, asked, arguments, showing))


def name_approval(verdict: Verdict | None, result: object) -> object:
    """Name the approval that a call has used in its result."""
    if verdict is None or verdict.approval_id is None or not isinstance(result, Decided):
        return result
    return replace(result, approval_id=verdict.approval_id)


async def keep_approved_result(
    work: Work, verdict: Verdict | None, result: object, *, is_error: bool = False
) -> object:
    """Use an approval up and keep what the tool answered, in the transaction in which it ran; return the answer."""
    if verdict is None or verdict.approval is None or verdict.run_as is None:
        return result
    sealed = seal_result(work.runtime.cipher, verdict.approval.id, result)
    decided = await store.decide(
        work.db,
        verdict.approval.id,
        ApprovalStatus.APPROVED,
        verdict.approver,
        now=work.now,
        result=sealed,
        is_error=is_error,
    )
    if not decided:
        raise refuse("already_approved", "The call was already approved")
    await _tell(work, verdict.approval, "approved", approver=verdict.approver)
    return result


async def claim_approval(work: Work, tool: AgentTool, approval: Approval, *, approver: str) -> Verdict:
    """Let a call run that its approver may approve, for its requester as it is now: what it has lost, it can't use."""
    row = await store.find_requester(work.db, approval, now=work.now)
    if row is None:
        raise refuse("requester_key", "The requester's key is no longer active")
    agent = Agent(slug=row["slug"], autonomy_level=Level(row["autonomy_level"]), email_level=Level(row["email_level"]))
    requester = Caller(agent=agent, key_id=approval.key_id, scopes=with_implied(row["scopes"]))
    if tool.scope not in requester.scopes:
        raise refuse("requester_scope", f"The requester's key no longer has the scope {tool.scope}")
    if agent.autonomy_level < Level.L1:
        raise refuse("requester_level", "The requester is now at level L0 and may not call this tool")
    return Verdict(
        status="approved",
        agent=agent.slug,
        key_id=approval.key_id,
        run_as=requester,
        approval=approval,
        approver=approver,
    )


async def reject_call(
    work: Work, tool: AgentTool, approval: Approval, *, approver: str, reason: str | None = None
) -> Verdict:
    """Reject a call that waits; the verdict has the result that its approver gets, and its requester is told why."""
    await store.decide(work.db, approval.id, ApprovalStatus.REJECTED, approver, now=work.now, reason=reason)
    await _tell(work, approval, "rejected", approver=approver)
    return Verdict(
        status="rejected",
        agent=approval.requester,
        key_id=approval.key_id,
        result=tool.result(outcome="rejected", approval_id=approval.id),
        approval=approval,
        approver=approver,
    )


async def lock_pending_approval(work: Work, approval_id: UUID) -> Approval:
    """Read an approval that a person is about to decide; nobody else decides it before the commit."""
    approval = await store.lock(work.db, approval_id)
    if approval is None:
        raise refuse("not_found", "There is no approval with this id")
    rules.check_pending(approval, now=work.now)
    return approval


async def lock_expired_approvals(work: Work, *, limit: int = AT_ONCE) -> list[Approval]:
    """List approvals that nobody has decided in time; nobody else decides them before the commit."""
    return await store.lock_expired(work.db, now=work.now, limit=limit)


async def expire_approval(work: Work, approval: Approval) -> None:
    """Close an approval that nobody has decided in time, and erase its arguments."""
    await store.decide(work.db, approval.id, ApprovalStatus.EXPIRED, None, now=work.now)
    await _tell(work, approval, "expired", approver=None)


async def list_pending_approvals(
    work: Work, ids: Sequence[UUID] | None = None, *, limit: int = AT_ONCE
) -> list[Approval]:
    """List the calls that wait for a decision, or those of them with these ids, oldest first."""
    return await store.list_pending(work.db, ids, now=work.now, limit=limit)


async def get_approval(work: Work, approval_id: UUID) -> Approval:
    found = await store.find_with_result(work.db, approval_id)
    if found is None:
        raise ApprovalNotFound
    return found[0]


async def list_decided_approvals(work: Work, *, limit: int = AT_ONCE) -> list[Approval]:
    return await store.list_decided(work.db, limit=limit)


async def _request(
    work: Work, call: ToolCall, asked: AskedCall, arguments: Mapping[str, object], showing: Collection[str]
) -> Approval:
    waiting = await store.find_pending(work.db, asked, now=work.now)
    if waiting is not None:
        return waiting
    approval = Approval(
        id=new_id(),
        tool=asked.tool,
        requester=asked.agent,
        key_id=call.caller.key_id,
        arguments_hash=asked.arguments_hash,
        status=ApprovalStatus.PENDING,
        approver=None,
        created_at=work.now,
        expires_at=work.now + rules.LASTS,
        arguments=without_gates(arguments),
        has_read_texts=await store.has_read(work.db, asked.agent, list(showing), person=rules.PERSON),
    )
    await store.insert(work.db, approval)
    requested = ApprovalRequested(
        approval_id=approval.id,
        tool=approval.tool,
        requester=approval.requester,
        expires_at=approval.expires_at,
        has_read_texts=bool(approval.has_read_texts),
    )
    await work.record(requested)
    return approval


async def _repeat(work: Work, call: ToolCall, asked: AskedCall, approval_id: UUID) -> Verdict:
    found = await store.find_with_result(work.db, approval_id)
    approval = rules.check_same_call(found[0] if found and found[0].requester == asked.agent else None, asked)
    if is_expired(approval, now=work.now) or approval.status is ApprovalStatus.REJECTED:
        rules.check_pending(approval, now=work.now)
    if approval.status is ApprovalStatus.PENDING:
        raise rules.require(approval)
    sealed, is_error = (found[1], found[2]) if found else (None, False)
    if sealed is None:
        raise refuse("no_longer_kept", "The result is no longer stored")
    return Verdict(
        status="tool_error" if is_error else "ok",
        agent=asked.agent,
        key_id=call.caller.key_id,
        result=open_result(work.runtime.cipher, approval.id, sealed),
        is_error=is_error,
        approval=approval,
        approver=approval.approver,
    )


async def _decide(
    work: Work,
    call: ToolCall,
    tool: AgentTool,
    asked: AskedCall,
    *,
    approval_id: UUID | None,
    decision: ApprovalDecision,
) -> Verdict:
    if approval_id is None:
        raise Invalid(details={"approvalId": "is required together with decision"})
    if asked.agent != ORCHESTRATOR:
        raise refuse("wrong_approver", "Only the Orchestrator may decide on an approval")
    approval = rules.check_same_call(await store.lock(work.db, approval_id), asked)
    rules.check_pending(approval, now=work.now)
    if approval.requester == asked.agent:
        raise refuse("wrong_approver", "A person must decide on the Orchestrator's own call")
    if decision == "reject":
        return await reject_call(work, tool, approval, approver=call.caller.agent.slug)
    if work.runtime.settings.agent_approval_by_person:
        raise refuse("person_required", "In this installation, only a person may approve")
    return await claim_approval(work, tool, approval, approver=call.caller.agent.slug)


async def _tell(
    work: Work, approval: Approval, outcome: Literal["approved", "rejected", "expired"], *, approver: str | None
) -> None:
    await work.record(
        ApprovalDecided(
            approval_id=approval.id,
            tool=approval.tool,
            requester=approval.requester,
            outcome=outcome,
            approver=approver,
        )
    )
