"""Calls of agents, and the chain that records them."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.doors.agents.models import AuditStatus, CallRecord, Tier, ToolCall
from openslot.doors.agents.registry import AgentTool, CallTarget, tool
from openslot.doors.agents.schemas import Decided
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work, system_clock


def record(tool: str = "check_budget", **known: Any) -> CallRecord:
    """One record."""
    return CallRecord(
        **{
            "id": new_id(),
            "at": system_clock(),
            "agent": "support",
            "key_id": new_id(),
            "tool": tool,
            "status": AuditStatus.OK,
            "latency_ms": 3,
            "request_id": "r",
            **known,
        }
    )


class ProbeFields(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The arguments of a probe."""

    user_id: UUID | None = None
    text: str = ""
    count: int = 0


class Probed(Struct, frozen=True, kw_only=True):
    """The result of a probe."""

    actor: str


class DecidedProbe(Decided, frozen=True, kw_only=True, rename="camel"):
    """The result of a probe that needs an approval."""

    actor: str | None = None


async def write_something(work: Work) -> None:
    """Change something that a test can look for."""
    await work.db.execute(
        "insert into rate_log (bucket, stamps, taken) values ('probe', '{}', 0) on conflict do nothing"
    )


def probe(do: Callable[[Work, ToolCall], Awaitable[None]], tier: Tier, **declared: Any) -> AgentTool:
    """Declare a tool that does this."""

    async def probe_tool(work: Work, call: ToolCall, arguments: ProbeFields) -> Probed:
        """Do what the test wants."""
        await do(work, call)
        return Probed(actor=f"{work.actor.kind} {work.actor.agent} {work.actor.credential_id}")

    async def decided_probe(work: Work, call: ToolCall, arguments: ProbeFields) -> DecidedProbe:
        """Do what the test wants, if it was approved."""
        await do(work, call)
        return DecidedProbe(actor=work.actor.agent)

    run = decided_probe if tier is Tier.T3 else probe_tool
    declared.setdefault("target", lambda arguments: CallTarget("user", str(arguments.user_id)))
    return tool(scope="users:read" if tier is Tier.T1 else "users:write", tier=tier, **declared)(run)


async def write(work: Work, call: ToolCall) -> None:
    """Change something."""
    await write_something(work)
