"""Plans: short statements keep one, commands and reads with custom plans have theirs made for what they ask."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from openslot.platform.core.db import Db, Pool, open_pool, transaction
from openslot.platform.core.profiles import COMMANDS, JOBS, ConnectionProfile
from openslot.platform.core.query_plans import custom_plans
from tests.support.databases import EMPTY, new_database

# Most rows match, so that to read the whole table is the best plan, and one by an index the second best.
TABLE = """
create table probe_plans (id int primary key, kind text not null);
insert into probe_plans select n, 'common' from generate_series(1, 1000) n;
create index on probe_plans (kind);
analyze probe_plans"""
SEARCH = "select count(*) from probe_plans where kind = $1"
SETTINGS = "select array[current_setting('plan_cache_mode'), current_setting('enable_seqscan')]"
LIMITS = """
select array[current_setting('statement_timeout'), current_setting('lock_timeout'),
    current_setting('idle_in_transaction_session_timeout')]"""
KEPT, CUSTOM = ["force_generic_plan", "off"], ["force_custom_plan", "on"]


@pytest.fixture
async def database_url(postgres: str) -> AsyncIterator[str]:
    """Lend an empty database."""
    async with new_database(postgres, EMPTY) as url:
        yield url


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    """One connection that keeps plans."""
    opened = await open_pool(database_url, max_=1, profile=JOBS)
    yield opened
    await opened.close()


async def read_plan(db: Db) -> str:
    await db.execute(f"prepare search (text) as {SEARCH}")
    rows = await db.fetch("explain execute search ('common')")
    await db.execute("deallocate search")
    return "\n".join(row["QUERY PLAN"] for row in rows)


@custom_plans
async def read_custom_plan(db: Db) -> str:
    return await read_plan(db)


@custom_plans
async def read_settings(db: Db) -> list[str]:
    shown: list[str] = await db.fetchval(SETTINGS)
    return shown


@custom_plans
async def read_nothing(db: Db) -> None:
    await db.execute("select 1 / 0")


@custom_plans
async def write(db: Db) -> None:
    await db.execute("create table probe_write ()")


@custom_plans
async def read_limits(db: Db) -> list[str]:
    shown: list[str] = await db.fetchval(LIMITS)
    return shown


async def test_custom_plans_have_the_limits_of_every_transaction_through_a_pooler(database_url: str) -> None:
    profile = ConnectionProfile(acquire=2, lock=3, statement=4, idle=5, refuse_turns=True)
    pool = await open_pool(database_url, max_=1, profile=profile, through_pooler=True)
    try:
        async with transaction(pool, waits=False) as db:
            usual = await db.fetchval(LIMITS)
        assert await read_limits(pool) == usual == ["4s", "3s", "5s"]
    finally:
        await pool.close()


@pytest.mark.parametrize(
    ("profile", "shown"),
    [(JOBS, KEPT), (COMMANDS, ["auto", "on"])],
    ids=["jobs keep theirs", "commands do not"],
)
async def test_a_connection_chooses_how_it_plans(
    database_url: str, profile: ConnectionProfile, shown: list[str]
) -> None:
    pool = await open_pool(database_url, max_=1, profile=profile)
    found = await pool.fetchval(SETTINGS)
    await pool.close()
    assert found == shown


async def test_a_read_can_be_planned_for_its_arguments(pool: Pool) -> None:
    await pool.execute(TABLE)
    kept, custom = await read_plan(pool), await read_custom_plan(pool)

    assert ("Seq Scan" in kept, "$1" in kept) == (False, True)
    assert ("Seq Scan" in custom, "'common'" in custom) == (True, True)


async def test_the_connection_keeps_its_plans_afterwards(pool: Pool) -> None:
    assert await read_settings(pool) == CUSTOM
    assert await pool.fetchval(SETTINGS) == KEPT


async def test_a_transaction_keeps_its_plans_afterwards(pool: Pool) -> None:
    async with transaction(pool) as db:
        assert await read_settings(db) == CUSTOM
        assert await db.fetchval(SETTINGS) == KEPT
    assert await pool.fetchval(SETTINGS) == KEPT


async def test_commands_plan_as_before_afterwards(database_url: str) -> None:
    pool = await open_pool(database_url, max_=1, profile=COMMANDS)
    async with transaction(pool) as db:
        inside, after = await read_settings(db), await db.fetchval(SETTINGS)
    await pool.close()
    assert (inside, after) == (CUSTOM, ["auto", "on"])


async def test_a_read_that_fails_leaves_a_connection_that_works(pool: Pool) -> None:
    pid = await pool.fetchval("select pg_backend_pid()")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await read_nothing(pool)
    assert await pool.fetchval("select pg_backend_pid()") == pid
    assert await pool.fetchval(SETTINGS) == KEPT


async def test_a_read_that_fails_can_be_undone_by_a_savepoint(pool: Pool) -> None:
    async with pool.acquire() as connection, connection.transaction():
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with connection.transaction():
                await read_nothing(connection)
        assert await connection.fetchval(SETTINGS) == KEPT


async def test_a_read_on_the_pool_can_not_write(pool: Pool) -> None:
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await write(pool)
