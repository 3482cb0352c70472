"""The roster is the specification's, in the code and in every new database."""

import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.models import AGENTS
from openslot.doors.agents.models import Level
from openslot.doors.agents.roster import READ_SCOPES, ROSTER, SCOPES, WRITE_SCOPES, with_implied
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime

# Autonomy level, email level and categories, written by hand from the specification.
SPECIFIED = {
    "support": (1, 1, {"support", "transactional", "internal"}),
    "cto": (1, 0, {"transactional", "internal"}),
    "data": (1, 0, {"internal"}),
    "devops": (1, 1, {"transactional", "internal"}),
    "orchestrator": (1, 1, {"support", "transactional", "internal"}),
    "seo": (0, 0, {"internal"}),
    "growth": (0, 0, {"marketing", "internal"}),
    "outbound": (0, 1, {"marketing", "internal"}),
    "customer_success": (0, 0, {"marketing", "internal"}),
    "content": (0, 0, {"marketing", "internal"}),
}


def test_the_roster_is_the_specifications() -> None:
    found = {slug: (int(e.autonomy_level), int(e.email_level), set(e.categories)) for slug, e in ROSTER.items()}

    assert found == SPECIFIED
    assert tuple(ROSTER) == AGENTS


def test_there_are_seventeen_scopes() -> None:
    assert len(SCOPES) == 17
    assert len(READ_SCOPES) == 10
    assert len(WRITE_SCOPES) == 7
    assert ROSTER["orchestrator"].scopes == SCOPES


async def test_a_new_database_begins_with_the_roster(runtime: Runtime) -> None:
    rows = await runtime.pool.fetch("select slug, autonomy_level, email_level, scopes from agents")

    found = {row["slug"]: (row["autonomy_level"], row["email_level"], set(row["scopes"])) for row in rows}
    assert found == {slug: (e.autonomy_level, e.email_level, set(e.scopes)) for slug, e in ROSTER.items()}


@pytest.mark.parametrize("agent", ["support", "seo"])
async def test_a_new_key_carries_its_agents_scopes(runtime: Runtime, agent: str) -> None:
    async with runtime.transaction(OPERATOR) as work:
        _, made = await access.create_agent_key(work, agent, name="a")

    kept = await runtime.pool.fetchval("select scopes from agent_keys where id = $1", made.id)
    assert set(kept) == ROSTER[agent].scopes


def test_a_write_scope_implies_its_read_scope_where_there_is_one() -> None:
    assert with_implied({"flags:write", "email:write", "audit:read"}) == {
        "flags:write",
        "flags:read",
        "email:write",
        "audit:read",
    }
    assert Level.L1 > Level.L0
