"""Decisions about approvals: how long they last, and whether one is for a given call."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.agents.errors import ApprovalRefused, ApprovalRequired
from openslot.core.moments import iso

LASTS = timedelta(minutes=15)
# How records name an approver who is a person.
PERSON = "administrator"
RESULTS_KEPT = timedelta(hours=24)


class ApprovalStatus(StrEnum):
    """How far an approval has come."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Approval(Struct, frozen=True, kw_only=True):
    """A call of tier T3 that waits for a decision, or had one."""

    id: UUID
    tool: str
    requester: str
    key_id: UUID
    """The key that the requester has used."""
    arguments_hash: str
    status: ApprovalStatus
    approver: str | None
    created_at: datetime
    expires_at: datetime
    reason: str | None = None
    """Why it was rejected, if its approver has said so."""
    decided_at: datetime | None = None
    arguments: Mapping[str, object] | None = None
    """None: they are erased."""


class AskedCall(Struct, frozen=True, kw_only=True):
    """What a call must have in common with its approval."""

    tool: str
    agent: str
    arguments_hash: str


def check_same_call(approval: Approval | None, asked: AskedCall) -> Approval:
    """Return an approval that is for this tool and these arguments; an unknown one looks like another's."""
    if approval is None or approval.tool != asked.tool:
        raise refuse("not_found", "There is no approval with this id for this tool")
    if approval.arguments_hash != asked.arguments_hash:
        raise refuse("other_arguments", "The approval is for other arguments")
    return approval


def check_pending(approval: Approval, *, now: datetime) -> None:
    """Refuse an approval that was decided or has expired."""
    if approval.status in {ApprovalStatus.APPROVED, ApprovalStatus.REJECTED}:
        why = f": {approval.reason}" if approval.reason else ""
        raise refuse(f"already_{approval.status}", f"The call was already {approval.status}{why}")
    if is_expired(approval, now=now):
        raise refuse("expired", "The approval has expired. Call the tool again without approvalId to request a new one")


def is_expired(approval: Approval, *, now: datetime) -> bool:
    """Return whether nobody has decided in time."""
    return approval.status is ApprovalStatus.EXPIRED or (
        approval.status is ApprovalStatus.PENDING and approval.expires_at <= now
    )


def require(approval: Approval) -> ApprovalRequired:
    """Build the error that tells an agent that its call waits, and how to get the result."""
    return ApprovalRequired(
        "The call waits for an approval. Repeat it with this approvalId to get its result",
        data={"approvalId": str(approval.id), "expiresAt": iso(approval.expires_at)},
    )


def refuse(cause: str, message: str) -> ApprovalRefused:
    """Refuse an approval, and name the cause."""
    return ApprovalRefused(message, data={"cause": cause})
