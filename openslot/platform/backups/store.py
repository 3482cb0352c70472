"""The SQL of backups: what a database holds, who else is connected to it, and what surrounds a dump that is loaded."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import asyncpg

from openslot.platform.core.migrate import LOCK

if TYPE_CHECKING:
    # The pages that create backups would load the queue with it.
    from openslot.platform.core.inventory import DatabaseObject

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
# Objects that depend on others are dropped first.
DROPPED_IN_ORDER = ("materialized view", "view", "table", "function", "procedure", "sequence", "type")


async def export_snapshot(connection: asyncpg.Connection) -> str:
    """Export the snapshot of this transaction, so that another connection can use it."""
    snapshot: str = await connection.fetchval("select pg_export_snapshot()")
    return snapshot


async def read_migrations(connection: asyncpg.Connection) -> dict[str, str]:
    return {row["name"]: row["checksum"] for row in await connection.fetch("select * from public.migrations")}


async def list_tables(connection: asyncpg.Connection) -> list[str]:
    return [row["relname"] for row in await connection.fetch(TABLES)]


async def list_left_out(connection: asyncpg.Connection) -> list[str]:
    return [row["relname"] for row in await connection.fetch(UNLOGGED)]


async def count_rows(connection: asyncpg.Connection, table: str) -> int:
    return int(await connection.fetchval(f'select count(*) from public."{table}"'))


async def count_others(connection: asyncpg.Connection) -> int:
    return int(await connection.fetchval(OTHERS))


async def is_encrypted(connection: asyncpg.Connection) -> bool:
    return bool(await connection.fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()"))


def write_beginning(in_place_of: "tuple[DatabaseObject, ...]") -> str:
    """Write how the script that loads a dump begins: it drops these objects, and fails if others depend on them."""
    named = {kind: [thing.quoted for thing in in_place_of if thing.kind == kind] for kind in DROPPED_IN_ORDER}
    drops = "".join(f"drop {kind} {', '.join(names)};\n" for kind, names in named.items() if names)
    return f"begin;\nselect pg_advisory_xact_lock({LOCK});\n{drops}"


def write_end(rows: Mapping[str, int]) -> str:
    """Write how the script ends: it commits if every table has the expected number of rows."""
    checks = "".join(
        f"if (select count(*) from public.{_quoted(table)}) <> {expected} then "
        f"raise exception 'table % has not the rows that were backed up', {_literal(table)}; end if;\n"
        for table, expected in rows.items()
    )
    return f"do $check$ begin\n{checks}end $check$;\ncommit;\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
