"""Tools: what agents have called, and what has happened on the platform."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Struct

from openslot.doors.agents.approvals.operations import list_pending_approvals
from openslot.doors.agents.audit.operations import list_audit_page, list_audited_events
from openslot.doors.agents.models import AuditFilter, AuditStatus, CallRecord, RecordedEvent
from openslot.doors.agents.registry import tool
from openslot.doors.agents.rules import Approval
from openslot.platform.core.moments import Moment, read_span
from openslot.platform.core.shapes import Shape
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Work
from openslot.platform.routing.listings import PageNumber

ToolName = Annotated[str, Meta(max_length=100)]
AgentSlug = Literal[
    "support", "cto", "data", "devops", "orchestrator", "seo", "growth", "outbound", "customer_success", "content"
]


class WaitingCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """A call that waits for the Orchestrator's decision."""

    approval_id: UUID
    tool: str
    arguments: dict[str, Any]
    requester: str
    expires_at: Instant
    has_read_texts: Annotated[
        bool | None,
        Meta(
            description="Whether the requester has read texts of hosts, invitees or others, which may contain "
            "instructions, since a person last approved a call of it; null: not noted"
        ),
    ] = None


class AuditRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """One call of a tool."""

    id: UUID
    at: Instant
    agent: str
    key_id: UUID
    tool: Annotated[
        str | None, Meta(description="Null if the call was over the key's limit and rejected before it was parsed")
    ]
    scope: str | None
    tier: str | None
    input_hash: Annotated[str | None, Meta(description="SHA-256 of the arguments")]
    status: AuditStatus
    error_code: Annotated[int | None, Meta(description="Code of the JSON-RPC error that was returned")]
    latency_ms: int
    cost_micros: Annotated[int, Meta(description="Cost in millionths of a US dollar")]
    approval_id: UUID | None
    approver: str | None
    request_id: str
    target_type: str | None
    target_id: str | None
    approval: Annotated[WaitingCall | None, Meta(description="The call itself, while it waits for a decision")] = None


class AuditEvent(Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that happened on the platform."""

    id: UUID
    at: Instant
    type: str
    actor: Annotated[str, Meta(description="Who did it: key, session, public, scim, agent, operator or system")]
    agent: str | None
    actor_user_id: UUID | None
    user_id: Annotated[UUID | None, Meta(description="Whose it is")]
    subject_type: str
    subject_id: UUID | None


class AuditPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which page this is, and whether there is another."""

    page: int
    limit: int
    has_more: bool


class AuditFindings(Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of calls and of events, each newest first."""

    data: list[AuditRecord]
    events: list[AuditEvent]
    pagination: AuditPage


_RECORD = Shape(AuditRecord, CallRecord, given=("approval",))
_WAITING = Shape(WaitingCall, Approval, names={"approval_id": "id"})
_EVENT = Shape(
    AuditEvent,
    RecordedEvent,
    names={
        "actor": "actor.kind",
        "agent": "actor.agent",
        "actor_user_id": "actor.user_id",
        "user_id": "tenant_id",
        "subject_type": "subject_kind",
    },
)


@tool(scope="audit:read")
async def search_audit_log(
    work: Work,
    *,
    agent: Annotated[AgentSlug | None, Meta(description="Only what this agent called or caused")] = None,
    user_id: Annotated[
        UUID | None, Meta(description="Only calls about this user, and events of or about this user")
    ] = None,
    tool: Annotated[ToolName | None, Meta(description="Only calls of this tool; no events")] = None,
    status: Annotated[
        AuditStatus | None,
        Meta(description="Only calls that ended like this; no events. pending_approval: see approval"),
    ] = None,
    from_: Annotated[Moment | None, Meta(description="Earliest time")] = None,
    to: Annotated[Moment | None, Meta(description="Latest time, inclusive; a date includes the whole day")] = None,
    page: PageNumber = 1,
    limit: Annotated[int, Meta(ge=1, le=100, description="Calls, and events, per page")] = 20,
) -> AuditFindings:
    """Search agents' calls (`data`) and events on the platform (`events`), newest first.

    Use it to find out who did what, or with status pending_approval to find calls that wait for a decision: `approval`
    shows what such a call would do. Refused calls are recorded too. Costs nothing and changes nothing.
    """
    wanted = AuditFilter(agent=agent, user_id=user_id, tool=tool, status=status, span=read_span(from_, to))
    calls, has_more = await list_audit_page(work, wanted, page=page, limit=limit)
    events: list[RecordedEvent] = []
    if tool is None and status is None:
        events, has_more_events = await list_audited_events(work, wanted, page=page, limit=limit)
        has_more = has_more or has_more_events
    waiting = await _find_waiting(work, calls)
    return AuditFindings(
        data=[_show_record(each, waiting) for each in calls],
        events=[_EVENT.show(each) for each in events],
        pagination=AuditPage(page=page, limit=limit, has_more=has_more),
    )


async def _find_waiting(work: Work, calls: list[CallRecord]) -> dict[UUID, WaitingCall]:
    ids = [c.approval_id for c in calls if c.status is AuditStatus.PENDING_APPROVAL and c.approval_id is not None]
    found = await list_pending_approvals(work, ids) if ids else []
    return {each.id: _WAITING.show(each) for each in found}


def _show_record(record: CallRecord, waiting: dict[UUID, WaitingCall]) -> AuditRecord:
    is_pending = record.status is AuditStatus.PENDING_APPROVAL
    approval = waiting.get(record.approval_id) if is_pending and record.approval_id else None
    return _RECORD.show(record, approval=approval)
