"""What the audit record of a call says, from what is known about the call so far."""

from collections.abc import Mapping
from time import perf_counter
from uuid import UUID

from openslot.agents import audit
from openslot.agents.approvals import Verdict
from openslot.agents.canonical import hash_arguments
from openslot.agents.errors import ApprovalRefused, ApprovalRequired, GateRefusal
from openslot.agents.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from openslot.agents.models import AuditStatus, CallRecord, ToolCall
from openslot.agents.registry import CallTarget, Tool
from openslot.core.errors import Internal, Invalid, Refusal
from openslot.core.work import Runtime, Work
from openslot.http.values import shown


class Recorder:
    """Collects what is known about one call, and keeps its record when the call ends."""

    __slots__ = (
        "_began",
        "_call",
        "_given",
        "_runtime",
        "_tool",
        "approval_id",
        "cost_micros",
        "name",
        "target",
        "verdict",
    )

    def __init__(
        self, runtime: Runtime, call: ToolCall, *, name: str, tool: Tool | None, given: Mapping[str, object]
    ) -> None:
        self._began = perf_counter()
        self._runtime = runtime
        self._call = call
        self._given = given
        self._tool = tool
        self.name = name
        self.cost_micros = 0
        self.target: CallTarget | None = None
        self.approval_id: UUID | None = None
        self.verdict: Verdict | None = None
        """What became of the approval that the call needs."""

    async def keep_done(self) -> None:
        """Keep the record of a call that has read something."""
        await audit.keep(self._runtime, self._write(AuditStatus.OK, None))

    async def keep_refused(self, refusal: Refusal) -> None:
        """Keep the record of a call that was refused or failed."""
        await audit.keep(self._runtime, self._write(*outcome_of(refusal)))

    async def keep_with(self, work: Work, refusal: Refusal | None) -> None:
        """Keep the record in the transaction of the call, behind all that it has changed."""
        done = AuditStatus(self.verdict.status) if self.verdict is not None else AuditStatus.OK
        if isinstance(refusal, ApprovalRequired):
            self.approval_id = UUID(str(refusal.data["approvalId"]))
        status, error_code = outcome_of(refusal) if refusal is not None else (done, None)
        await audit.keep_with(work, self._write(status, error_code))

    async def keep_unknown(self) -> None:
        """Keep the record of a call of a tool that does not exist."""
        await audit.keep(self._runtime, self._write(AuditStatus.UNKNOWN_TOOL, INVALID_PARAMS))

    def _write(self, status: AuditStatus, error_code: int | None) -> CallRecord:
        call, tool, target, verdict = self._call, self._tool, self.target, self.verdict
        return CallRecord(
            id=call.id,
            at=self._runtime.clock(),
            agent=verdict.agent if verdict is not None else call.caller.agent.slug,
            key_id=verdict.key_id if verdict is not None else call.caller.key_id,
            tool=shown(self.name),
            scope=tool.scope if tool is not None else None,
            tier=tool.tier if tool is not None else None,
            input_hash=hash_arguments(self._given),
            status=status,
            error_code=error_code,
            latency_ms=round((perf_counter() - self._began) * 1000),
            cost_micros=self.cost_micros if status in {AuditStatus.OK, AuditStatus.APPROVED} else 0,
            approval_id=verdict.approval_id if verdict is not None else self.approval_id,
            approver=verdict.approver if verdict is not None else None,
            request_id=call.request_id,
            target_type=target.type if target is not None else None,
            target_id=target.id if target is not None else None,
        )


def outcome_of(refusal: Refusal) -> tuple[AuditStatus, int | None]:
    """Return how a refused or failed call is recorded, and which JSON-RPC error it was answered with."""
    if isinstance(refusal, ApprovalRefused) and refusal.data.get("cause") == "expired":
        return AuditStatus.EXPIRED, refusal.rpc_code
    if isinstance(refusal, GateRefusal):
        return refusal.recorded_as, refusal.rpc_code
    if isinstance(refusal, Internal):
        return AuditStatus.INTERNAL_ERROR, INTERNAL_ERROR
    return AuditStatus.INVALID_ARGUMENTS if isinstance(refusal, Invalid) else AuditStatus.TOOL_ERROR, None
