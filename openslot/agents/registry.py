"""How a tool is declared: one function, its scope, its tier, and what a gate needs to know of it."""

from collections.abc import Awaitable, Callable
from inspect import getdoc
from typing import Any, NamedTuple, get_type_hints

from msgspec import Struct

from openslot.agents.models import Tier, ToolCall
from openslot.core.config import Settings
from openslot.core.work import Work
from openslot.routing.declarations import described_type

RunTool = Callable[[Work, ToolCall, Any], Awaitable[object]]


class CallTarget(NamedTuple):
    """What a call is about, for the audit record."""

    type: str
    id: str


class Tool(Struct, frozen=True, kw_only=True):
    """One tool of the server."""

    name: str
    scope: str
    tier: Tier
    description: str
    """When to use it, what it costs, and what it changes: an agent decides by it."""
    arguments: type[Struct]
    """Its own arguments; `confirm`, `approvalId` and `decision` belong to the gates."""
    result: type[Struct]
    run: RunTool
    target: Callable[[Any], CallTarget | None]
    cost: Callable[[Settings], int]
    """What one call costs, in micro-dollars."""
    check: Callable[[Work, ToolCall, Any], Awaitable[None]] | None
    """A gate of its own, asked before the budget."""
    is_idempotent: bool
    is_destructive: bool
    reaches_outside: bool


def tool(
    *,
    scope: str,
    tier: Tier = Tier.T1,
    target: Callable[[Any], CallTarget | None] = lambda _: None,
    cost: Callable[[Settings], int] = lambda _: 0,
    check: Callable[[Work, ToolCall, Any], Awaitable[None]] | None = None,
    is_idempotent: bool = True,
    is_destructive: bool = False,
    reaches_outside: bool = False,
) -> Callable[[RunTool], Tool]:
    """Declare a tool by its function: `async def list_flags(work, call, arguments: FlagSearch) -> FlagList`.

    Its name is the function's, its description the docstring, its schemas those of the argument's and the result's
    Structs. A tool of tier T1 runs without a transaction, every other in one.
    """

    def declare(run: RunTool) -> Tool:
        hints = get_type_hints(run, include_extras=True)
        if not hints["arguments"].__struct_config__.forbid_unknown_fields:
            raise TypeError(f"{run.__name__} must refuse arguments that it does not have: forbid_unknown_fields=True")
        return Tool(
            name=run.__name__,
            scope=scope,
            tier=tier,
            description=_describe(run),
            arguments=hints["arguments"],
            result=described_type(hints["return"]),
            run=run,
            target=target,
            cost=cost,
            check=check,
            is_idempotent=is_idempotent,
            is_destructive=is_destructive,
            reaches_outside=reaches_outside,
        )

    return declare


def _describe(run: RunTool) -> str:
    """Take the docstring as the description, one line for each paragraph."""
    paragraphs = (getdoc(run) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
