"""Plans: short statements keep one, commands and analytics have theirs made for what they ask."""

from collections.abc import AsyncIterator

import pytest

from openslot.core.db import open_pool, planned_anew
from openslot.core.profiles import COMMANDS, JOBS, ConnectionProfile
from tests.databases import EMPTY, new_database

# Most rows match, so that to read the whole table is the best plan, and one by an index the second best.
TABLE = """
create table probe_plans (id int primary key, kind text not null);
insert into probe_plans select n, 'common' from generate_series(1, 1000) n;
create index on probe_plans (kind);
analyze probe_plans"""
SEARCH = "select count(*) from probe_plans where kind = $1"


@pytest.fixture
async def database_url(postgres: str) -> AsyncIterator[str]:
    """Lend an empty database."""
    async with new_database(postgres, EMPTY) as url:
        yield url


async def read_plan(db: object) -> str:
    await db.execute(f"prepare search (text) as {SEARCH}")  # type: ignore[attr-defined]
    rows = await db.fetch("explain execute search ('common')")  # type: ignore[attr-defined]
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize(
    ("profile", "shown"),
    [(JOBS, ["force_generic_plan", "off"]), (COMMANDS, ["auto", "on"])],
    ids=["jobs keep theirs", "commands do not"],
)
async def test_a_connection_chooses_how_it_plans(
    database_url: str, profile: ConnectionProfile, shown: list[str]
) -> None:
    pool = await open_pool(database_url, most=1, profile=profile)
    found = [await pool.fetchval(f"show {name}") for name in ("plan_cache_mode", "enable_seqscan")]
    await pool.close()
    assert found == shown


async def test_a_statement_can_be_planned_for_its_arguments(database_url: str) -> None:
    pool = await open_pool(database_url, most=1, profile=JOBS)
    await pool.execute(TABLE)
    async with pool.acquire() as connection:
        kept = await read_plan(connection)
        await connection.execute("deallocate search")
    async with planned_anew(pool) as db:
        anew = await read_plan(db)
    after = await pool.fetchval("show plan_cache_mode")
    await pool.close()

    assert ("Seq Scan" in kept, "$1" in kept) == (False, True)
    assert ("Seq Scan" in anew, "'common'" in anew) == (True, True)
    assert after == "force_generic_plan"
