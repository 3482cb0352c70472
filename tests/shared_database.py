"""The database that tests of one process share: empty for each of them, and nothing in it may be left running."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from tests.kept_connections import KeptConnections, keeping_connections

GUARD = """
create schema guard;
create function guard.refuse() returns event_trigger language plpgsql as $$
begin
    raise exception 'a test on the shared database may not %: mark it with pytest.mark.own_database', lower(tg_tag);
end $$;
create event trigger refuse on ddl_command_start execute function guard.refuse()"""
TABLES = """
select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
and c.relpersistence <> 't' order by 1"""
SEQUENCES = """
select c.oid::regclass::text as name, s.seqstart as start from pg_class c join pg_sequence s on s.seqrelid = c.oid
order by 1"""
OTHERS = """
select pid, coalesce(nullif(query, ''), state, 'a connection') as query from pg_stat_activity
where datname = current_database() and pid <> all($1::int[]) and backend_type = 'client backend'"""
END_OTHERS = f"select pg_terminate_backend(pid, 5000) from ({OTHERS}) others"
MIGRATIONS = "migrations"
WITHIN = 10.0
ENDING_WITHIN = 2.0
# Deleted rows keep their pages; from this size on, a table is vacuumed.
LARGE = 512 * 1024


class LeftRunningError(AssertionError):
    """A test ended while something that it began was still running."""


class SharedDatabase:
    """A migrated database whose tables are put back after each test."""

    def __init__(self, url: str, connection: asyncpg.Connection, idle: KeptConnections) -> None:
        self.url = url
        self._connection = connection
        self._idle = idle
        self._kept: dict[str, str] = {}
        self._find_changed = ""

    async def begin(self) -> None:
        """Remember what every table holds now, and refuse changes of the schema from now on."""
        for name in await self._names(TABLES):
            if await self._connection.fetchval(f"select exists (select from {name})"):
                self._kept[name] = await self._digest(name)
                await self._connection.execute(f"create temp table kept{len(self._kept)} as table {name}")
        self._find_changed = await self._write_question()
        await self._connection.execute("set session_replication_role = replica; set lock_timeout = '10s'")
        await self._connection.execute(GUARD)

    async def put_back(self) -> None:
        """Remove every row and restart every sequence; raise an error if a test leaves more than rows."""
        left = await self._find_left_open()
        changed = await self._connection.fetch(self._find_changed)
        rows = [row for row in changed if row["start"] is None]
        deletions = [f"delete from {row['name']}" for row in rows]
        restarts = [f"select setval('{row['name']}', {row['start']}, false)" for row in changed if row["start"]]
        if deletions or restarts:
            await self._connection.execute("; ".join([*deletions, *restarts]))
        for row in rows:
            if row["size"] > LARGE:
                await self._connection.execute(f"vacuum {row['name']}")
        await self._put_kept_back()
        if left:
            raise LeftRunningError(f"the test has left connections open: {left}")

    async def _find_left_open(self) -> list[str]:
        """Wait for connections that are about to close, and end those that stay."""
        known = [one.get_server_pid() for one in (self._connection, *self._idle)]
        deadline = time.monotonic() + WITHIN
        while others := await self._connection.fetch(OTHERS, known):
            if time.monotonic() > deadline:
                await self._connection.execute(END_OTHERS, known)
                return [row["query"] for row in others]
            await asyncio.sleep(0.005)
        return []

    async def _put_kept_back(self) -> None:
        """Restore what migrations have written; that they ran at all is not a test's to change."""
        for number, (name, digest) in enumerate(self._kept.items(), start=1):
            if await self._digest(name) != digest:
                await self._connection.execute(f"delete from {name}; insert into {name} table kept{number}")
                if name == MIGRATIONS:
                    raise LeftRunningError(f"the test has changed {name}: mark it with pytest.mark.own_database")

    async def _digest(self, name: str) -> str:
        return str(
            await self._connection.fetchval(f"select md5(string_agg(t::text, ',' order by t::text)) from {name} t")
        )

    async def _names(self, query: str) -> list[str]:
        return [row[0] for row in await self._connection.fetch(query)]

    async def _write_question(self) -> str:
        tables = [
            f"select '{name}' as name, null::bigint as start, pg_relation_size('{name}'::regclass) as size "
            f"where exists (select from {name})"
            for name in await self._names(TABLES)
            if name not in self._kept
        ]
        sequences = [
            f"select '{row['name']}', {row['start']}::bigint, 0::bigint from {row['name']} where is_called"
            for row in await self._connection.fetch(SEQUENCES)
        ]
        return " union all ".join([*tables, *sequences])


@asynccontextmanager
async def sharing(url: str) -> AsyncIterator[SharedDatabase]:
    """Share a migrated database, and keep connections to it open from test to test."""
    with keeping_connections(url) as kept:
        connection = await asyncpg.connect(url)
        shared = SharedDatabase(url, connection, kept)
        await shared.begin()
        yield shared
        await kept.close()
        await connection.close()


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
