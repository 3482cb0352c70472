"""All SQL of the roster."""

from collections.abc import Collection

from openslot.agents.models import AgentSetup, Level
from openslot.core.db import Db, Row

COLUMNS = "slug, autonomy_level, email_level, scopes"


async def list_agents(db: Db) -> list[AgentSetup]:
    """List the agents by name, with how many active keys each has."""
    rows = await db.fetch(
        f"""select {COLUMNS}, (select count(*) from agent_keys k where k.agent = g.slug and k.revoked_at is null
            and (k.expires_at is null or k.expires_at > now())) as active_keys
        from agents g order by slug"""
    )
    return [_to_setup(row, active_keys=row["active_keys"]) for row in rows]


async def lock_agent(db: Db, slug: str) -> AgentSetup | None:
    """Read an agent that is about to be changed."""
    row = await db.fetchrow(f"select {COLUMNS} from agents where slug = $1 for update", slug)
    return _to_setup(row) if row is not None else None


async def set_level(db: Db, slug: str, level: Level) -> None:
    """Write an agent's autonomy level."""
    await db.execute("update agents set autonomy_level = $2 where slug = $1", slug, level)


async def set_scopes(db: Db, slug: str, scopes: Collection[str]) -> None:
    """Write the scopes that new keys of an agent get."""
    await db.execute("update agents set scopes = $2 where slug = $1", slug, sorted(scopes))


def _to_setup(row: Row, *, active_keys: int = 0) -> AgentSetup:
    return AgentSetup(
        slug=row["slug"],
        autonomy_level=Level(row["autonomy_level"]),
        email_level=Level(row["email_level"]),
        scopes=frozenset(row["scopes"]),
        active_keys=active_keys,
    )
