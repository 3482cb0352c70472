"""What happened to the assistants of a user."""

from datetime import datetime
from typing import ClassVar, Literal
from uuid import UUID

from openslot.domains.accounts.events import UserEvent
from openslot.platform.core.events import Event

EndedBy = Literal["user", "operator", "program", "reuse"]


class AssistantConnected(UserEvent, frozen=True, kw_only=True):
    """A user has connected an assistant."""

    type: ClassVar[str] = "assistant.connected"
    grant_id: UUID
    client_id: str
    client_name: str
    scopes: tuple[str, ...]


class AssistantDisconnected(UserEvent, frozen=True, kw_only=True):
    """An assistant can no longer act for a user."""

    type: ClassVar[str] = "assistant.disconnected"
    grant_id: UUID
    client_name: str
    by: EndedBy
    """The cause of the end; `reuse` if a code or refresh token was used twice, so somebody may have copied it."""


class AssistantApprovalRequested(UserEvent, frozen=True, kw_only=True):
    """A call of an assistant waits for its user's approval."""

    type: ClassVar[str] = "assistant.approval_requested"
    approval_id: UUID
    client_name: str
    tool: str
    expires_at: datetime
    base_url: str


ASSISTANT_EVENTS: tuple[type[Event], ...] = (AssistantConnected, AssistantDisconnected, AssistantApprovalRequested)
