"""The SQL of backups: what a database holds, counted in one snapshot, and how many others are connected to it."""

import asyncpg

# Unlogged tables are left out: a crash empties them anyway.
TABLES = """
select relname from pg_class
where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relpersistence = 'p' order by relname"""
UNLOGGED = """
select relname from pg_class
where relnamespace = 'public'::regnamespace and relkind = 'r' and relpersistence = 'u'"""
OTHERS = """
select count(*) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
  and coalesce(backend_type, 'client backend') = 'client backend'"""


async def export_snapshot(connection: asyncpg.Connection) -> str:
    """Export the snapshot of this transaction, so that another connection can use it."""
    snapshot: str = await connection.fetchval("select pg_export_snapshot()")
    return snapshot


async def read_migrations(connection: asyncpg.Connection) -> dict[str, str]:
    """Read which migrations were applied, with their checksums."""
    return {row["name"]: row["checksum"] for row in await connection.fetch("select * from public.migrations")}


async def list_tables(connection: asyncpg.Connection) -> list[str]:
    """List the tables that a backup contains."""
    return [row["relname"] for row in await connection.fetch(TABLES)]


async def list_left_out(connection: asyncpg.Connection) -> list[str]:
    """List the tables whose rows a backup leaves out."""
    return [row["relname"] for row in await connection.fetch(UNLOGGED)]


async def count_rows(connection: asyncpg.Connection, table: str) -> int:
    """Count one table's rows."""
    return int(await connection.fetchval(f'select count(*) from public."{table}"'))


async def count_others(connection: asyncpg.Connection) -> int:
    """Count the other connections to this database."""
    return int(await connection.fetchval(OTHERS))


async def is_encrypted(connection: asyncpg.Connection) -> bool:
    """Return whether this connection is encrypted."""
    return bool(await connection.fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()"))
