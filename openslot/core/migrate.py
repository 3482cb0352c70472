"""Bring a database to the shape that this version of the code knows."""

import hashlib
from importlib.resources import files

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.queries import Queries

from openslot.core.db import DOWN, hide_password, reason
from openslot.core.errors import StartupError

LOCK = 7_053_121_407
LEDGER = """
create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now()
)"""


def known_migrations() -> dict[str, str]:
    """Every migration of this version, name to SQL, in order."""
    found = (file for file in files("openslot.migrations").iterdir() if file.name.endswith(".sql"))
    return {file.name: file.read_text("utf-8") for file in sorted(found, key=lambda file: file.name)}


def checksum(sql: str) -> str:
    """Fingerprint a migration, so that an edited one is noticed."""
    return hashlib.sha256(sql.encode()).hexdigest()


async def migrate(url: str) -> list[str]:
    """Apply what is missing, one process at a time, and name what was applied."""
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise StartupError(f"The database can't be reached at {hide_password(url)}: {reason(fault)}.") from None
    try:
        await connection.execute("select pg_advisory_lock($1)", LOCK)
        return await _apply_missing(connection)
    finally:
        await connection.close()


async def missing_migrations(connection: asyncpg.Connection) -> list[str]:
    """Name what this version knows and the database has not seen; refuse a database that is ahead or was altered."""
    if await connection.fetchval("select to_regclass('migrations') is null"):
        return list(known_migrations())
    applied = {row["name"]: row["checksum"] for row in await connection.fetch("select * from migrations")}
    known = known_migrations()
    if ahead := sorted(applied.keys() - known.keys()):
        raise StartupError(f"The database is newer than this version of Openslot: it knows {ahead[-1]}. Upgrade first.")
    for name, sql in known.items():
        if applied.get(name, checksum(sql)) != checksum(sql):
            raise StartupError(
                f"The migration {name} was changed after it had been applied. Restore the original file."
            )
    return [name for name in known if name not in applied]


async def _apply_missing(connection: asyncpg.Connection) -> list[str]:
    missing = await missing_migrations(connection)
    await connection.execute(LEDGER)
    for name in missing:
        sql = known_migrations()[name]
        async with connection.transaction():
            await connection.execute(sql)
            await connection.execute("insert into migrations (name, checksum) values ($1, $2)", name, checksum(sql))
    queue = Queries(AsyncpgDriver(connection))
    if await queue.schema_is_installed():
        await queue.upgrade()
    else:
        await queue.install()
    return missing
