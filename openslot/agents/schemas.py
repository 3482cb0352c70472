"""Wire shapes that several tools share."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from openslot.agents.registry import Tool


class Decided(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a tool that needs an approval: what was done, or that the call was rejected.

    A tool adds its own fields, each with a default: a rejected call has done nothing that they could tell.
    """

    outcome: Literal["done", "rejected"] = "done"
    approval_id: UUID | None = None
    """None: nobody else had to approve."""


def rejected_result(tool: Tool, approval_id: UUID) -> Any:
    """Make the result of a call that was rejected; it fits the tool's output schema."""
    return tool.result(outcome="rejected", approval_id=approval_id)
