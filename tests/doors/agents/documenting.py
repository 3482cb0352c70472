"""docs/agent-tools.md, written from the tools: `python -m tests.doors.agents.documenting` writes it again."""

from pathlib import Path
from typing import Any

from openslot.doors.agents.registry import AgentTool
from openslot.doors.agents.schemas import input_schema
from openslot.doors.agents.tools import TOOLS
from openslot.doors.mcp.tools import schema_of
from tests.doors.agents.table import TABLE

PAGE = Path(__file__).parents[3] / "docs" / "agent-tools.md"
HEAD = """# The agents' tools

These are the tools that agents call at `POST /api/admin/agent-mcp`; [agents](agents.md#for-developers-of-agents) shows
how. `tools/list` returns the same list with complete JSON Schemas, limited to the scopes of the agent's key. This page
is generated from the code (`python -m tests.doors.agents.documenting`): do not edit it by hand.

- **T1** tools read and need nothing more. **T2** tools write what can be undone and need `confirm: true`. **T3** tools
  write what can't be undone or has large effects, and also need an approval by the Orchestrator.
- Arguments with `?` are optional. Unknown arguments are refused. An error names every wrong argument; an unknown id is
  refused with `does not exist`.
- Results have the same JSON as in the REST API, and `userId`, the user to whom they belong. A booking has no
  `manageUrl`, because anyone who has that link can cancel without an approval.
- Lists have `page`, `limit` (at most 100) and the `total`. Lists over all users are ordered by what is newest: bookings
  by their start, everything else by when it was added. A search over all users' contacts needs at least 3 characters.
"""


def write_page() -> str:
    """Write the whole page."""
    domains = {row.tool: row.domain for row in TABLE}
    parts = [HEAD]
    for domain in dict.fromkeys(row.domain for row in TABLE):
        tools = [tool for tool in TOOLS if domains[tool.name] == domain]
        if tools:
            parts.append(f"## {domain}\n\n" + "\n".join(_overview(tools)) + "\n")
            parts.extend(_describe(tool) for tool in tools)
    return "\n".join(parts)


def _overview(tools: list[AgentTool]) -> list[str]:
    head = ["| Tool | Scope | Tier | Arguments | Result |", "|---|---|---|---|---|"]
    return [
        *head,
        *(
            f"| `{tool.name}` | `{tool.scope}` | {tool.tier} | {_arguments(tool)} | {_names(schema_of(tool.result))} |"
            for tool in tools
        ),
    ]


def _describe(tool: AgentTool) -> str:
    words = " ".join(tool.description.split())
    return f"**`{tool.name}`**: {words}\n"


def _arguments(tool: AgentTool) -> str:
    schema = input_schema(tool)
    required = schema.get("required", ())
    shown = []
    for name, part in schema.get("properties", {}).items():
        inner = _inner(part, schema)
        fields = f" {{{', '.join(f'{each}?' for each in inner)}}}" if inner else ""
        shown.append(f"`{name}{'' if name in required else '?'}`{fields}")
    return ", ".join(shown) or "none"


def _inner(part: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return []
    return list(schema["$defs"][reference.rpartition("/")[2]].get("properties", {}))


def _names(schema: dict[str, Any]) -> str:
    shown = []
    for name, part in schema["properties"].items():
        rows = _inner(part.get("items") or {}, schema) if name == "data" else []
        shown.append(f"`{name}` [{', '.join(rows)}]" if rows else f"`{name}`")
    return ", ".join(shown)


if __name__ == "__main__":
    PAGE.write_text(write_page(), "utf-8")
