"""The database that tests share: every test finds it as migrations have left it, and leaves nothing running in it."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.db import open_pool
from openslot.platform.core.profiles import JOBS
from openslot.platform.core.work import Runtime
from tests.support import shared_database
from tests.support.databases import new_database
from tests.support.shared_database import LeftRunningError, SharedDatabase, end_tasks, sharing, sharing_with_processes

pytestmark = pytest.mark.rest("tests what tests stand on")

TABLES = "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname !~ '^(pg_|information_schema$)'"
LAST_VALUES = "select sequencename, last_value from pg_sequences order by 1"
SEQUENCES = "select format('%I.%I', schemaname, sequencename) from pg_sequences"
# A row of defaults fits into every table that nothing is asked of.
WITHOUT_RULES = """
set event_triggers = off; set session_replication_role = replica;
do $$ declare rule record; begin
for rule in select conrelid::regclass as owner, conname from pg_constraint
    where contype = any ('{f,x,u,p,c,n}'::"char"[]) and conrelid <> 0 and connamespace <> 'pg_catalog'::regnamespace
    order by array_position('{f,x,u,p,c,n}'::"char"[], contype)
loop
    begin
        execute format('alter table %s drop constraint %I', rule.owner, rule.conname);
    exception when undefined_object or invalid_table_definition or object_not_in_prerequisite_state then null;
    end;
end loop; end $$"""


@pytest.fixture
async def another(postgres: str) -> AsyncIterator[tuple[SharedDatabase, asyncpg.Connection]]:
    """Lend a shared database that no other test shares, with a table that a later migration has made."""
    async with new_database(postgres) as url:
        operator = await asyncpg.connect(url)
        await operator.execute("create schema later; create table later.notes (no bigserial, note text)")
        await operator.execute("create table first (no bigserial, note text); insert into first (note) values ('kept')")
        async with sharing(url) as shared:
            yield shared, operator


async def names(db: asyncpg.Connection, query: str) -> list[str]:
    return [row[0] for row in await db.fetch(query)]


async def count_all(db: asyncpg.Connection) -> dict[str, int]:
    return {name: await db.fetchval(f"select count(*) from {name}") for name in await names(db, TABLES)}


async def test_every_table_and_every_sequence_is_put_back(another: tuple[SharedDatabase, asyncpg.Connection]) -> None:
    shared, operator = another
    before, last_values = await count_all(operator), await operator.fetch(LAST_VALUES)
    await operator.execute(WITHOUT_RULES)
    for table in before.keys() - {"public.migrations"}:
        await operator.execute(f"insert into {table} default values")
    for sequence in await names(operator, SEQUENCES):
        await operator.execute(f"select nextval('{sequence}')")
    filled = await count_all(operator)
    await operator.close()

    await shared.put_back()

    reader = await asyncpg.connect(shared.url)
    assert [name for name, rows in filled.items() if rows <= before[name]] == ["public.migrations"]
    assert {"public.effects", "public.rate_log", "later.notes"} <= filled.keys()
    assert await count_all(reader) == before
    assert await reader.fetch(LAST_VALUES) == last_values
    await reader.close()


async def test_rows_that_come_with_the_schema_are_put_back(another: tuple[SharedDatabase, asyncpg.Connection]) -> None:
    shared, operator = another
    await operator.execute("update first set note = 'changed'; insert into first (note) values ('added')")
    await operator.close()

    await shared.put_back()

    reader = await asyncpg.connect(shared.url)
    rows = await reader.fetch("insert into first (note) values ('next') returning no, (select note from first)")
    assert [tuple(row) for row in rows] == [(2, "kept")]
    await reader.close()


async def test_a_table_with_much_in_it_gives_its_pages_back(another: tuple[SharedDatabase, asyncpg.Connection]) -> None:
    shared, operator = another
    await operator.execute("insert into later.notes (note) select repeat('x', 500) from generate_series(1, 3000)")
    await operator.close()

    await shared.put_back()

    reader = await asyncpg.connect(shared.url)
    assert await reader.fetchval("select pg_relation_size('later.notes')") == 0
    await reader.close()


async def test_the_schema_can_not_be_changed(another: tuple[SharedDatabase, asyncpg.Connection]) -> None:
    _, operator = another

    for change in (
        "create table a (b int)",
        "alter table users add a int",
        "drop index users_no_key",
        "drop table users",
    ):
        with pytest.raises(asyncpg.RaiseError, match=r"mark it with pytest\.mark\.own_database"):
            await operator.execute(change)
    await operator.close()


async def test_a_change_of_the_list_of_migrations_fails_the_test_and_is_undone(
    another: tuple[SharedDatabase, asyncpg.Connection],
) -> None:
    shared, operator = another
    await operator.execute("update migrations set checksum = '' where name like '0.2.0_01%'")
    await operator.close()

    with pytest.raises(LeftRunningError, match="has changed migrations"):
        await shared.put_back()
    await shared.put_back()


async def test_an_open_transaction_fails_the_test_and_is_ended(
    another: tuple[SharedDatabase, asyncpg.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, operator = another
    monkeypatch.setattr(shared_database, "WITHIN", 0.05)
    await operator.execute("begin; insert into later.notes (note) values ('open')")

    with pytest.raises(LeftRunningError, match=r"insert into later\.notes"):
        await shared.put_back()
    await shared.put_back()

    assert operator.is_closed()


async def test_processes_that_run_on_keep_their_connections_but_may_not_be_in_a_transaction(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_database, "WITHIN", 0.05)
    async with new_database(postgres) as url:
        process = await asyncpg.connect(url)
        await process.execute("create table notes (note text)")
        async with sharing_with_processes(url) as shared:
            await process.execute("insert into notes values ('done')")
            await shared.put_back()
            left = await process.fetchval("select count(*) from notes")
            await process.execute("begin; insert into notes values ('open')")
            with pytest.raises(LeftRunningError, match="insert into notes"):
                await shared.put_back()

    assert left == 0
    assert process.is_closed()


async def test_a_task_that_is_left_is_named_and_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_database, "ENDING_WITHIN", 0.05)
    before = asyncio.all_tasks()
    ending, staying = asyncio.create_task(asyncio.sleep(0)), asyncio.create_task(asyncio.sleep(3600), name="staying")

    left = await end_tasks(before)

    assert len(left) == 1
    assert "staying" in left[0]
    assert staying.cancelled()
    assert not ending.cancelled()


async def test_a_connection_goes_to_the_next_pool_without_what_was_set_on_it(
    another: tuple[SharedDatabase, asyncpg.Connection],
) -> None:
    shared, operator = another
    await operator.close()
    first = await open_pool(shared.url, max_=1, profile=JOBS)
    pid, plans = await first.fetchval("select pg_backend_pid()"), await first.fetchval("show plan_cache_mode")
    await first.execute("set plan_cache_mode = auto; listen news; select pg_advisory_lock(7)")
    await first.close()
    await shared.put_back()

    second = await open_pool(shared.url, max_=1, profile=JOBS)
    same = await second.fetchval("select pg_backend_pid()")
    state = await second.fetchrow(
        """select current_setting('plan_cache_mode') as plans, (select count(*) from pg_listening_channels()) as heard,
        (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks"""
    )
    await second.close()
    other_kind = await open_pool(shared.url, max_=2, profile=JOBS, through_pooler=True)
    another_pid = await other_kind.fetchval("select pg_backend_pid()")
    await other_kind.close()

    assert same == pid != another_pid
    assert state is not None
    assert dict(state) == {"plans": plans, "heard": 0, "locks": 0}


@pytest.mark.parametrize("time", ["first", "second"])
async def test_no_test_sees_what_another_has_written(runtime: Runtime, user: User, time: str) -> None:
    rows = await runtime.pool.fetch("select email, no from users")

    assert [tuple(row.values()) for row in rows] == [(user.email, 1)], time


@pytest.mark.own_database
async def test_a_test_with_a_database_of_its_own_may_change_the_schema(runtime: Runtime) -> None:
    await runtime.pool.execute("create table notes (note text)")

    assert await runtime.pool.fetchval("select count(*) from notes") == 0
