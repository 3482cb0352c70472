"""Decisions about agents: approvals and what they are for, budgets as arithmetic, and how many emails may be sent."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from openslot.doors.agents.errors import ApprovalRefused, ApprovalRequired, EmailLimitReached, EmailNotAllowed
from openslot.doors.agents.models import Agent, EmailCategory, Level
from openslot.doors.agents.roster import ROSTER
from openslot.doors.mcp.approvals import ApprovableCall, find_obstacle
from openslot.platform.core.times import iso

LASTS = timedelta(minutes=15)
# How records name an approver who is a person.
PERSON = "administrator"
AGAIN = "Call the tool again without approvalId to request a new one"


class Approval(ApprovableCall, frozen=True, kw_only=True):
    """A call of tier T3 that waits for a decision, or had one."""

    requester: str
    key_id: UUID
    approver: str | None
    arguments: Mapping[str, object] | None = None
    """None if they are erased."""
    has_read_texts: bool | None = None
    """Whether the requester has read texts of hosts, invitees or others since a person last approved a call of it.

    Such texts may give orders. None if it was asked for before this was noted.
    """


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
    obstacle = find_obstacle(approval, now=now, again=AGAIN)
    if obstacle is not None:
        raise refuse(*obstacle)


def require(approval: Approval) -> ApprovalRequired:
    """Build the error that tells an agent that its call waits, and how to get the result."""
    return ApprovalRequired(
        "The call waits for an approval. Repeat it with this approvalId to get its result",
        data={"approvalId": str(approval.id), "expiresAt": iso(approval.expires_at)},
    )


def refuse(cause: str, message: str) -> ApprovalRefused:
    return ApprovalRefused(message, data={"cause": cause})


WARNING_PERCENT = 80


class Spending(Struct, frozen=True, kw_only=True):
    """What was spent and reserved on one day, against a cap; all in micro-dollars."""

    on: date
    limit: int
    spent: int = 0
    reserved: int = 0
    uncounted: int = 0
    """The spend that agents have reported beyond their own caps."""

    @property
    def counted(self) -> int:
        """What is compared with the cap before a call that costs."""
        return self.spent - self.uncounted

    @property
    def remaining(self) -> int:
        return max(self.limit - self.counted - self.reserved, 0)

    @property
    def percent_used(self) -> float:
        """How much of the cap is spent; more than 100 if models cost more than there was."""
        return round(100 * self.spent / self.limit, 2) if self.limit else 100.0

    @property
    def is_warning(self) -> bool:
        return self.spent >= warning_at(self.limit)

    @property
    def resets_at(self) -> datetime:
        """When the next day begins: midnight UTC."""
        return datetime.combine(self.on + timedelta(days=1), time(), UTC)


def warning_at(limit: int) -> int:
    return -(-limit * WARNING_PERCENT // 100)


HOUR = timedelta(hours=1)


class EmailLimits(NamedTuple):
    day: int
    hour: int


LIMITS = {Level.L0: EmailLimits(day=5, hour=2), Level.L1: EmailLimits(day=20, hour=5)}


def check_category(agent: Agent, category: EmailCategory) -> None:
    """Refuse a category that the agent may never send, or not at its level."""
    allowed = ROSTER[agent.slug].categories
    if category not in allowed:
        names = ", ".join(sorted(allowed))
        raise not_allowed("category", f"This agent may not send {category} email. It may send: {names}")
    if agent.autonomy_level is Level.L0 and category is not EmailCategory.INTERNAL:
        raise not_allowed("level", "This agent is at level L0 and may only send internal email")


def check_limits(level: Level, sent_at: Sequence[datetime], *, now: datetime) -> None:
    """Refuse one more email on this UTC day or within 60 minutes than the level allows."""
    limits, midnight = LIMITS[level], day_start(now)
    today = sum(moment >= midnight for moment in sent_at)
    recent = sorted(moment for moment in sent_at if moment > now - HOUR)
    if today >= limits.day:
        raise _too_many("day", limits.day, midnight + timedelta(days=1) - now)
    if len(recent) >= limits.hour:
        # One more fits as soon as fewer than the limit are left within the hour.
        raise _too_many("hour", limits.hour, recent[-limits.hour] + HOUR - now)


def day_start(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC).date(), time(), UTC)


def counted_since(now: datetime) -> datetime:
    return min(day_start(now), now - HOUR)


def not_allowed(cause: str, message: str) -> EmailNotAllowed:
    return EmailNotAllowed(message, data={"cause": cause})


def _too_many(limit: str, max_: int, wait: timedelta) -> EmailLimitReached:
    seconds = max(1, -(-wait // timedelta(seconds=1)))
    return EmailLimitReached(
        f"This agent has sent {max_} emails in this {limit}, which is its limit. Try again in {seconds} seconds",
        data={"limit": limit, "max": max_, "retryAfterSeconds": seconds},
    )
