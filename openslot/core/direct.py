"""A direct connection, without pool or pooler, for commands and other work that is done once."""

from datetime import datetime

import asyncpg

from openslot.core.config import Settings
from openslot.core.db import DOWN, OLDEST_SERVER, hide_password
from openslot.core.errors import StartupError
from openslot.core.outages import reason


def direct_url(chosen: Settings) -> str:
    """Return the address of the database that bypasses the pooler."""
    return chosen.direct_database_url or chosen.database_url or ""


async def connect(url: str) -> asyncpg.Connection:
    """Open one connection, or raise a `StartupError` if the server can't be reached or is too old."""
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise StartupError(f"The database can't be reached at {hide_password(url)}: {reason(fault)}.") from None
    version = connection.get_server_version()
    if version.major < OLDEST_SERVER // 10000:
        connection.terminate()
        raise StartupError(f"PostgreSQL 15 or newer is needed; the database is version {version.major}.")
    return connection


async def has_table(connection: asyncpg.Connection, name: str) -> bool:
    """Return whether the database has this table of ours."""
    return bool(await connection.fetchval("select to_regclass('public.' || $1::text) is not null", name))


async def read_clock(connection: asyncpg.Connection) -> datetime:
    """Return the time on the server's clock."""
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now
