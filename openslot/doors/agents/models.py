"""The nouns of the tool server: agents, their levels and categories, calls, emails, images, and audit searches."""

from datetime import datetime
from enum import IntEnum, StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.actor import Actor
from openslot.platform.core.moments import Span


class Tier(StrEnum):
    """How much a tool may change, and what a call of it needs."""

    T1 = "T1"
    """Reads only; needs nothing."""
    T2 = "T2"
    """Writes that can be undone; needs `confirm`."""
    T3 = "T3"
    """Writes that can't be undone or matter much; needs `confirm` and an approval."""


class Level(IntEnum):
    """How far an agent acts on its own, and separately how much it may send."""

    L0 = 0
    L1 = 1


class EmailCategory(StrEnum):
    SUPPORT = "support"
    TRANSACTIONAL = "transactional"
    MARKETING = "marketing"
    INTERNAL = "internal"


class Agent(Struct, frozen=True, kw_only=True):
    slug: str
    autonomy_level: Level
    email_level: Level


class AgentSetup(Agent, frozen=True, kw_only=True):
    scopes: frozenset[str]
    """The scopes of its new keys."""
    active_keys: int
    last_used_at: datetime | None
    """When one of its keys was last used, to the minute."""
    connected_at: datetime | None
    """When its program last introduced itself, as it does at the beginning."""
    client_name: str | None
    client_version: str | None


class Caller(Struct, frozen=True, kw_only=True):
    """The agent behind a request, and the key that it used."""

    agent: Agent
    key_id: UUID
    scopes: frozenset[str]
    """The key's scopes, with the read scope that each write scope implies."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a tool: what a tool knows about it besides its arguments."""

    id: UUID
    """The id of its audit record."""
    caller: Caller
    """The requester, on whose behalf the tool runs, also if another agent has approved the call."""
    request_id: str


class AuditStatus(StrEnum):
    """How a call ended, as its audit record says."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    DENIED_SCOPE = "denied_scope"
    DENIED_LEVEL = "denied_level"
    DENIED_CONFIRM = "denied_confirm"
    PENDING_APPROVAL = "pending_approval"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    DENIED_BUDGET = "denied_budget"
    DENIED_RATE = "denied_rate"
    DENIED_EMAIL = "denied_email"
    INTERNAL_ERROR = "internal_error"


class CallRecord(Struct, frozen=True, kw_only=True):
    id: UUID
    at: datetime
    agent: str
    key_id: UUID
    tool: str | None
    """None if the call was refused before it was read."""
    scope: str | None = None
    tier: str | None = None
    input_hash: str | None = None
    status: AuditStatus
    error_code: int | None = None
    """The code of the JSON-RPC error that was answered."""
    latency_ms: int = 0
    cost_micros: int = 0
    approval_id: UUID | None = None
    approver: str | None = None
    request_id: str = ""
    target_type: str | None = None
    target_id: str | None = None


class ChainEnd(Struct, frozen=True, kw_only=True):
    """How long the chain is, and the signature of its last record."""

    records: int = 0
    last: bytes = b""
    signature: bytes | None = None
    """None if nothing was ever recorded."""


class ChainLink(Struct, frozen=True, kw_only=True):
    no: int
    record: CallRecord
    signature: bytes


class RecordedEvent(Struct, frozen=True, kw_only=True):
    """One of the product's own events: who did what to what."""

    id: UUID
    type: str
    at: datetime
    actor: Actor
    tenant_id: UUID | None
    subject_kind: str
    subject_id: UUID | None


class AuditFilter(Struct, frozen=True, kw_only=True):
    agent: str | None = None
    user_id: UUID | None = None
    tool: str | None = None
    status: str | None = None
    span: Span = Span()


class AgentEmail(Struct, frozen=True, kw_only=True):
    id: UUID
    at: datetime
    agent: str
    category: EmailCategory
    recipient: str
    subject: str
    opt_out_checked: bool
    cost_micros: int
    audit_id: UUID
    marketing_recipient_id: UUID | None = None
    message_id: str | None = None
    status: str = "queued"
    error: str | None = None


class AgentImage(Struct, frozen=True, kw_only=True):
    """An image that an agent has had made."""

    id: UUID
    at: datetime
    expires_at: datetime
    """When it and its address are gone."""
    agent: str
    audit_id: UUID
    width: int
    height: int
