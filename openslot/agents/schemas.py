"""Wire shapes that several tools share, and how tools/list shows a tool."""

from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from openslot.agents.models import Tier
from openslot.agents.registry import Tool
from openslot.core.text import describe_checked


class Decided(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a tool that needs an approval: what was done, or that the call was rejected.

    A tool adds its own fields, each with a default: a rejected call has done nothing that they could tell.
    """

    outcome: Literal["done", "rejected"] = "done"
    approval_id: UUID | None = None
    """None: nobody else had to approve."""


JsonSchema = dict[str, Any]

REFERENCES = "#/$defs/{name}"
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


def describe_tool(tool: Tool) -> Raw:
    described = {
        "name": tool.name,
        "title": tool.name.replace("_", " ").capitalize(),
        "description": tool.description,
        "inputSchema": input_schema(tool),
        "outputSchema": schema_of(tool.result),
        "annotations": {
            "readOnlyHint": tool.tier is Tier.T1,
            "destructiveHint": tool.is_destructive,
            "idempotentHint": tool.is_idempotent,
            "openWorldHint": tool.reaches_outside,
        },
    }
    return Raw(msgspec.json.encode(described))


def input_schema(tool: Tool) -> JsonSchema:
    """Write the schema of a tool's arguments, with those that the gates read."""
    schema = schema_of(tool.arguments)
    if tool.tier is Tier.T1:
        return schema
    added = {"confirm": CONFIRM} | (APPROVAL if tool.tier is Tier.T3 else {})
    return schema | {
        "properties": {**schema.get("properties", {}), **added},
        "required": [*schema.get("required", []), "confirm"],
    }


def schema_of(kind: type[Struct]) -> JsonSchema:
    """Write the schema of a Struct with an object at its root, as the protocol asks for, and its parts beside it."""
    (root,), parts = msgspec.json.schema_components([kind], schema_hook=describe_checked, ref_template=REFERENCES)
    named = parts.pop(root["$ref"].rpartition("/")[2])
    whole = {key: value for key, value in named.items() if key not in {"title", "description"}}
    return whole | ({"$defs": parts} if parts else {})
