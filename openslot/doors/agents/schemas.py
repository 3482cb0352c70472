"""Wire shapes that several tools share, and the arguments that the gates add to a tool."""

from typing import Literal
from uuid import UUID

from msgspec import Struct

from openslot.doors.agents.models import Tier
from openslot.doors.agents.registry import AgentTool
from openslot.doors.mcp.tools import JsonSchema, schema_of


class Decided(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a tool that needs an approval: what was done, or that the call was rejected.

    A tool adds its own fields, each with a default: a rejected call has done nothing that they could tell.
    """

    outcome: Literal["done", "rejected"] = "done"
    approval_id: UUID | None = None
    """None if nobody else had to approve."""


CONFIRM: JsonSchema = {"type": "boolean", "const": True, "description": "Must be true: this tool changes something"}
APPROVAL: JsonSchema = {
    "approvalId": {
        "type": "string",
        "format": "uuid",
        "description": "From an earlier answer: repeats the approved call to get its result, or names what is decided",
    },
    "decision": {
        "type": "string",
        "enum": ["approve", "reject"],
        "description": "Only for the Orchestrator: what it decides about the call of another agent",
    },
}


def input_schema(tool: AgentTool) -> JsonSchema:
    """Write the schema of a tool's arguments, with those that the gates read."""
    schema = schema_of(tool.arguments)
    if tool.tier is Tier.T1:
        return schema
    added = {"confirm": CONFIRM} | (APPROVAL if tool.tier is Tier.T3 else {})
    return schema | {
        "properties": {**schema.get("properties", {}), **added},
        "required": [*schema.get("required", []), "confirm"],
    }
