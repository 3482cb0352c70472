"""How a tool of the agents' server is declared: its scope, its tier, what a gate needs to know of it."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from msgspec import Meta

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user
from openslot.doors.agents.models import Tier, ToolCall
from openslot.doors.mcp import tools
from openslot.doors.mcp.tools import define_tool, naming
from openslot.platform.core.config import Settings
from openslot.platform.core.text import LINE, PROSE
from openslot.platform.core.work import Work


class CallTarget(NamedTuple):
    """What a call is about, for the audit record."""

    type: str
    id: str


FindTarget = Callable[[Any], CallTarget | None]


class AgentTool(tools.Tool, frozen=True, kw_only=True):
    """One tool of the agents' server; `confirm`, `approvalId` and `decision` belong to the gates."""

    scope: str
    tier: Tier
    target: FindTarget
    cost: Callable[[Settings], int]
    """The price of one call, in micro-dollars."""
    check: Callable[[Work, ToolCall, Any], Awaitable[None]] | None
    """A gate of its own, asked before the budget."""
    transaction: Literal["one", "none"]
    """A tool without one may wait for other services; what it stages is written with its cost and its record."""


def tool(
    *,
    scope: str,
    tier: Tier = Tier.T1,
    target: FindTarget = lambda _: None,
    cost: Callable[[Settings], int] = lambda _: 0,
    check: Callable[[Work, ToolCall, Any], Awaitable[None]] | None = None,
    transaction: Literal["one", "none"] = "one",
    is_idempotent: bool = True,
    is_destructive: bool = False,
    reaches_outside: bool = False,
) -> Callable[[Callable[..., Awaitable[object]]], AgentTool]:
    """Declare a tool by its function, as `define_tool` says, with its scope and its tier.

    A tool of tier T1 runs without a transaction, every other in one unless it declares none.
    """
    if transaction == "none" and tier is Tier.T3:
        raise TypeError("a call that was approved runs in the transaction that uses the approval up")

    def declare(function: Callable[..., Awaitable[object]]) -> AgentTool:
        return define_tool(
            function,
            AgentTool,
            scope=scope,
            tier=tier,
            target=target,
            cost=cost,
            check=check,
            transaction=transaction,
            is_read_only=tier is Tier.T1,
            is_idempotent=is_idempotent,
            is_destructive=is_destructive,
            reaches_outside=reaches_outside,
        )

    return declare


UserId = Annotated[UUID, Meta(description="The user's id")]
Search = Annotated[str, Meta(pattern=LINE, max_length=254)]
RequiredReason = Annotated[
    str, Meta(pattern=PROSE, min_length=1, max_length=500, description="Reason, stored with the change")
]


def about(kind: str, argument: str) -> FindTarget:
    """Name what a call is about by one of its arguments, if that is given."""

    def find(arguments: Any) -> CallTarget | None:
        value = getattr(arguments, argument)
        return CallTarget(kind, str(value)) if value is not None else None

    return find


USER = about("user", "user_id")


async def get_named_user(work: Work, user_id: UUID) -> User:
    with naming("userId"):
        return await get_user(work, user_id)
