"""Refusals of the gates: errors of JSON-RPC with their reason, raised before a tool runs."""

from openslot.domains.access.models import AGENTS
from openslot.doors.agents.models import AuditStatus
from openslot.doors.mcp.errors import NotApproved, RpcRefusal, WaitsForApproval
from openslot.platform.core.errors import Conflict, NotFound, Refusal, RefusalKind
from openslot.platform.i18n import Text


class GateRefusal(RpcRefusal):
    """A call that a gate has refused."""

    recorded_as: AuditStatus
    """The status in the audit record of the call."""


class CostKept(Refusal):
    """A tool has failed after another service may have charged for it: what the call costs stays spent."""

    kind = RefusalKind.UNAVAILABLE


class ImagesNotConfigured(Conflict):
    """The operator has set no endpoint that makes images."""

    code = "images_not_configured"


class ImageNotMade(Refusal):
    """The images endpoint has refused, or could not be reached; nothing is charged."""

    code = "image_not_made"
    kind = RefusalKind.CONFLICT


class ImageLost(CostKept):
    """The images endpoint may have made an image and charged for it, but none came that can be used."""

    code = "image_lost"


class AgentNotFound(NotFound):
    code = "agent_not_found"
    message = f"No agent has this name; the agents are {', '.join(AGENTS)}"


class ApprovalNotFound(NotFound):
    """No such approval, or it was decided so long ago that it was deleted."""

    code = "approval_not_found"
    message = Text("This approval does not exist any more")


class InsufficientScope(GateRefusal):
    code = "insufficient_scope"
    rpc_code = -32011
    recorded_as = AuditStatus.DENIED_SCOPE


class ConfirmationRequired(GateRefusal):
    code = "confirmation_required"
    rpc_code = -32012
    recorded_as = AuditStatus.DENIED_CONFIRM


class ApprovalRequired(WaitsForApproval, GateRefusal):
    """A tool of tier T3 was called, and nobody has approved the call yet."""

    recorded_as = AuditStatus.PENDING_APPROVAL


class BudgetExceeded(GateRefusal):
    """The call would cost more than what is left of the agent's or the global budget."""

    code = "budget_exceeded"
    rpc_code = -32014
    recorded_as = AuditStatus.DENIED_BUDGET


class EmailLimitReached(GateRefusal):
    """The agent has reached its limit of emails for this hour or this day."""

    code = "rate_limited"
    rpc_code = -32015
    recorded_as = AuditStatus.DENIED_RATE


class EmailNotAllowed(GateRefusal):
    """The agent may not send this email: its category, its level, or a recipient who opted out."""

    code = "email_not_allowed"
    rpc_code = -32016
    recorded_as = AuditStatus.DENIED_EMAIL


class AutonomyTooLow(GateRefusal):
    code = "autonomy_too_low"
    rpc_code = -32017
    recorded_as = AuditStatus.DENIED_LEVEL


class ApprovalRefused(NotApproved, GateRefusal):
    """The approval does not exist, is not for this call, has expired, was used, or was rejected."""

    recorded_as = AuditStatus.REJECTED
