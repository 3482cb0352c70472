"""What happened at the agents' tool server."""

from datetime import date, datetime
from typing import ClassVar, Literal
from uuid import UUID

from openslot.platform.core.events import Event


class BudgetWarned(Event, frozen=True, kw_only=True):
    """An agent, or all agents together, has spent 80 percent of the day's budget."""

    type: ClassVar[str] = "budget.warned"
    agent: str | None
    """The name of the agent; None if it is about all agents together."""
    on: date
    limit_micros: int
    spent_micros: int


class ApprovalEvent(Event, frozen=True, kw_only=True):
    """What the events of an approval have in common."""

    approval_id: UUID
    tool: str
    requester: str

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "approval", self.approval_id


class ApprovalRequested(ApprovalEvent, frozen=True, kw_only=True):
    """An agent's call of tier T3 waits for an approval."""

    type: ClassVar[str] = "approval.requested"
    expires_at: datetime
    has_read_texts: bool = False
    """Whether the agent has read texts of people outside since a person last approved a call of it."""


class ApprovalDecided(ApprovalEvent, frozen=True, kw_only=True):
    """A call that waited for an approval was approved and carried out, was rejected, or has expired."""

    type: ClassVar[str] = "approval.decided"
    outcome: Literal["approved", "rejected", "expired"]
    approver: str | None


class AgentEmailQueued(Event, frozen=True, kw_only=True):
    """An agent has sent an email; it is queued."""

    type: ClassVar[str] = "agent_email.queued"
    email_id: UUID
    agent: str
    category: str

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "agent_email", self.email_id


class MarketingOptedOut(Event, frozen=True, kw_only=True):
    """Someone has unsubscribed from marketing email."""

    type: ClassVar[str] = "marketing.opted_out"
    recipient_id: UUID

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "marketing_recipient", self.recipient_id


class AgentLevelChanged(Event, frozen=True, kw_only=True):
    """An operator has changed an agent's level of autonomy."""

    type: ClassVar[str] = "agent.level_changed"
    agent: str
    before: int
    after: int


class AgentScopesChanged(Event, frozen=True, kw_only=True):
    """An operator has changed which tools an agent may call."""

    type: ClassVar[str] = "agent.scopes_changed"
    agent: str
    before: list[str]
    after: list[str]


AGENT_EVENTS: tuple[type[Event], ...] = (
    BudgetWarned,
    ApprovalRequested,
    ApprovalDecided,
    AgentEmailQueued,
    MarketingOptedOut,
    AgentLevelChanged,
    AgentScopesChanged,
)
