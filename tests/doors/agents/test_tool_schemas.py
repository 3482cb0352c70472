"""What tools/list shows: schemas with an object at the root, nothing beyond the known fields, and true annotations."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from openslot.doors.agents.models import Tier
from openslot.doors.agents.registry import AgentTool, tool
from openslot.doors.agents.roster import ROSTER, with_implied
from openslot.doors.agents.schemas import input_schema
from openslot.doors.agents.tools import TOOLS
from openslot.doors.agents.tools.audit import AuditFindings
from openslot.doors.mcp.tools import schema_of
from tests.doors.agents.conftest import Connect
from tests.support.agent import TestAgent


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema of an object inside a schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each)
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            yield schema
        for each in schema.values():
            yield from objects(each)


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_schemas_are_objects_that_stand_alone(each: AgentTool) -> None:
    for schema in (input_schema(each), schema_of(each.result)):
        jsonschema_rs.meta.validate(schema)
        assert schema["type"] == "object"
        assert "$ref" not in schema


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_nothing_but_the_known_fields_is_accepted(each: AgentTool) -> None:
    found = list(objects(input_schema(each)))

    assert found
    assert [schema for schema in found if schema.get("additionalProperties") is not False] == []


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_the_fields_of_the_gates_are_in_the_schema(each: AgentTool) -> None:
    schema = input_schema(each)
    added = {Tier.T1: set(), Tier.T2: {"confirm"}, Tier.T3: {"confirm", "approvalId", "decision"}}[each.tier]

    assert set(schema["properties"]) & {"confirm", "approvalId", "decision"} == added
    assert ("confirm" in schema["required"]) is (each.tier is not Tier.T1)


async def test_annotations_tell_what_a_tool_may_do(orchestrator: TestAgent) -> None:
    listed = (await orchestrator.ask("tools/list"))["result"]["tools"]

    by_name = {each.name: each for each in TOOLS}
    assert {each["name"] for each in listed} == by_name.keys()
    for each in listed:
        assert each["annotations"]["readOnlyHint"] is (by_name[each["name"]].tier is Tier.T1)
        assert set(each["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert each["outputSchema"]["type"] == "object"
        assert len(each["description"]) > 40


@pytest.mark.parametrize("agent", ROSTER)
async def test_a_key_sees_only_the_tools_of_its_scopes(enter: Connect, agent: str) -> None:
    listed = (await (await enter(agent)).ask("tools/list"))["result"]["tools"]

    allowed = with_implied(ROSTER[agent].scopes)
    assert {each["name"] for each in listed} == {each.name for each in TOOLS if each.scope in allowed}


async def test_a_result_fits_its_schema(orchestrator: TestAgent) -> None:
    await orchestrator.call("no_such_tool")
    found = await orchestrator.result("search_audit_log")

    jsonschema_rs.validate(schema_of(AuditFindings), found)


def test_a_tool_must_refuse_unknown_arguments() -> None:
    async def loose_tool(work: Any, call: Any, arguments: AuditFindings) -> AuditFindings:
        """Accept anything."""
        raise NotImplementedError

    with pytest.raises(TypeError, match="loose_tool must refuse arguments"):
        tool(scope="audit:read")(loose_tool)
