"""Tool: branded email."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.doors.agents.emails.operations import EmailWanted, check_agent_email, send_agent_email
from openslot.doors.agents.models import AgentEmail, EmailCategory, Tier, ToolCall
from openslot.doors.agents.registry import tool
from openslot.platform.core.dollars import to_usd
from openslot.platform.core.shapes import Shape
from openslot.platform.core.work import Work


class QueuedEmail(Struct, frozen=True, kw_only=True, rename="camel"):
    """An email that is on its way."""

    id: UUID
    message_id: str
    status: Annotated[str, Meta(description="queued: it is sent within moments, and retried for a day")]
    category: EmailCategory
    to: str
    subject: str
    cost_usd: float


_QUEUED = Shape(QueuedEmail, AgentEmail, names={"to": "recipient"}, given=("cost_usd",))


@tool(
    scope="email:write",
    tier=Tier.T2,
    cost=lambda settings: int(settings.agent_email_cost),
    check=check_agent_email,
    is_idempotent=False,
    reaches_outside=True,
)
async def send_email(work: Work, call: ToolCall, arguments: EmailWanted) -> QueuedEmail:
    """Send one email in the product's layout to one recipient.

    Each agent may send in its own categories only; at autonomy level L0 only internal email, which goes to
    administrators of this installation. Refused with email_not_allowed (-32016) if the category, the level or the
    recipient is not allowed, and with rate_limited (-32015) if the agent has reached its number of emails for the UTC
    day or for the last 60 minutes. Marketing email gets a link to unsubscribe. Costs 0.001 USD unless the operator has
    set another price: call check_budget first. Every call sends another email; it can't be taken back.
    """
    email = await send_agent_email(work, call, arguments)
    return _QUEUED.show(email, cost_usd=to_usd(email.cost_micros))
