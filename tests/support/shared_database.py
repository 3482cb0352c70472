"""The database that tests of one process share: empty for each of them, and nothing in it may be left running."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from tests.support.databases import new_database
from tests.support.kept_connections import keeping_connections

GUARD = """
create schema guard;
create function guard.refuse() returns event_trigger language plpgsql as $$
begin
    raise exception 'a test on the shared database may not %: mark it with pytest.mark.own_database', lower(tg_tag);
end $$;
create event trigger refuse on ddl_command_start execute function guard.refuse()"""
TABLES = """
select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
and c.relpersistence <> 't' order by 1"""
SEQUENCES = "select seqrelid::regclass::text as name from pg_sequence order by 1"
OTHERS = """
select pid, coalesce(nullif(query, ''), state, 'a connection') as query from pg_stat_get_activity(null)
where datid = (select oid from pg_database where datname = current_database())
and pid <> all($1::int[]) and backend_type = 'client backend'"""
# Other processes that run on between tests keep their connections, but may not be in the middle of something.
BUSY_OTHERS = f"{OTHERS} and state is distinct from 'idle'"
END_OTHERS = "select pg_terminate_backend(pid, 5000) from ({others}) others"
MIGRATIONS = "migrations"
PUT_BACK = {
    "rows": "delete from {name}",
    "restart": "select setval('{name}', {number}, false)",
    "continue": "select setval('{name}', {number}, true)",
    "kept": "delete from {name}; insert into {name} table kept{number}",
}
# Long enough for a machine that stands still for a while; nobody waits that long for what ends by itself.
WITHIN = 30.0
ENDING_WITHIN = 30.0
# Deleted rows keep their pages; from this size on, a table is vacuumed.
LARGE = 512 * 1024


class LeftRunningError(AssertionError):
    """A test ended while something that it began was still running."""


class SharedDatabase:
    """A migrated database whose tables are put back after each test."""

    def __init__(
        self,
        url: str,
        connection: asyncpg.Connection,
        idle: Iterable[asyncpg.Connection] = (),
        *,
        find_others: str = OTHERS,
    ) -> None:
        self.url = url
        self._connection = connection
        self._idle = idle
        self._find_others = find_others
        self._find_changed = ""

    async def begin(self) -> None:
        """Remember what every table holds now, and refuse changes of the schema from now on."""
        parts = [await self._write_part(row["name"]) for row in await self._connection.fetch(TABLES)]
        parts += [await self._write_sequence_part(row["name"]) for row in await self._connection.fetch(SEQUENCES)]
        self._find_changed = " union all ".join(parts)
        await self._connection.execute("set session_replication_role = replica; set lock_timeout = '10s'")
        await self._connection.execute(GUARD)

    async def run(self, statements: str) -> None:
        """Run statements as the owner of the database, to whom nothing is refused."""
        await self._connection.execute(statements)

    async def put_back(self) -> None:
        """Leave every table and sequence as migrations did; raise an error if a test leaves more than rows."""
        left = await self._find_left_open()
        changed = await self._connection.fetch(self._find_changed)
        if changed:
            await self._connection.execute("; ".join(PUT_BACK[row["kind"]].format(**row) for row in changed))
        for row in changed:
            if row["kind"] == "rows" and row["number"] > LARGE:
                await self._connection.execute(f"vacuum {row['name']}")
        if left:
            raise LeftRunningError(f"the test has left connections open: {left}")
        if MIGRATIONS in [row["name"] for row in changed]:
            raise LeftRunningError(f"the test has changed {MIGRATIONS}: mark it with pytest.mark.own_database")

    async def _write_part(self, table: str) -> str:
        """Write the part of the question that tells whether a table has changed."""
        digest = f"(select md5(string_agg(t::text, ',' order by t::text)) from {table} t)"
        before = await self._connection.fetchval(f"select {digest}")
        if before is None:
            size = f"pg_relation_size('{table}'::regclass)"
            return f"select '{table}' as name, 'rows' as kind, {size} as number where exists (select from {table})"
        copy = await self._connection.fetchval("select count(*) from pg_class where relpersistence = 't'")
        await self._connection.execute(f"create temp table kept{copy} as table {table}")
        return f"select '{table}' as name, 'kept' as kind, {copy} as number where {digest} is distinct from '{before}'"

    async def _write_sequence_part(self, sequence: str) -> str:
        last, is_called = await self._connection.fetchrow(f"select last_value, is_called from {sequence}")
        kind = "continue" if is_called else "restart"
        return (
            f"select '{sequence}' as name, '{kind}' as kind, {last} as number from {sequence} "
            f"where (last_value, is_called) <> ({last}, {is_called})"
        )

    async def _find_left_open(self) -> list[str]:
        """Wait for connections that are about to close, and end those that stay."""
        known = [one.get_server_pid() for one in (self._connection, *self._idle)]
        deadline = time.monotonic() + WITHIN
        while others := await self._connection.fetch(self._find_others, known):
            if time.monotonic() > deadline:
                await self._connection.execute(END_OTHERS.format(others=self._find_others), known)
                return [row["query"] for row in others]
            await asyncio.sleep(0.005)
        return []


@asynccontextmanager
async def sharing(url: str) -> AsyncIterator[SharedDatabase]:
    """Share a migrated database, and keep connections to it open from test to test."""
    with keeping_connections(url) as kept:
        connection = await _connect(url)
        shared = SharedDatabase(url, connection, kept)
        await shared.begin()
        yield shared
        await kept.close()
        await connection.close()


@asynccontextmanager
async def sharing_with_processes(url: str) -> AsyncIterator[SharedDatabase]:
    """Share a database with processes that run on from test to test."""
    connection = await _connect(url)
    shared = SharedDatabase(url, connection, find_others=BUSY_OTHERS)
    await shared.begin()
    yield shared
    await connection.close()


async def _connect(url: str) -> asyncpg.Connection:
    # The question about every table is long; unless it is kept prepared, it is planned again after each test.
    return await asyncpg.connect(url, max_cacheable_statement_size=0)


async def end_tasks(before: set[asyncio.Task[Any]]) -> list[str]:
    """Wait for tasks that began since then and are about to end; cancel those that stay, and name them."""
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if not left:
        return []
    _, left = await asyncio.wait(left, timeout=ENDING_WITHIN)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    return [str(task) for task in left]


@asynccontextmanager
async def sharing_with(postgres: str, statements: str) -> AsyncIterator[SharedDatabase]:
    """Share a migrated database in which these statements were run; one for each test takes longer than most tests."""
    async with new_database(postgres) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(statements)
        await connection.close()
        async with sharing(url) as shared:
            yield shared
