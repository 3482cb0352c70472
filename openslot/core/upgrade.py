"""Bring a database up to date, or tell in one clear sentence that it is not."""

from collections.abc import Mapping

import asyncpg

from openslot.core.db import reason
from openslot.core.direct import connect, has_table
from openslot.core.errors import StartupError
from openslot.core.migrate import migrate, missing_migrations


async def bring_up_to_date(url: str, known: Mapping[str, str] | None = None) -> list[str]:
    """Apply the migrations that are missing to a server that is new enough, and name them."""
    await (await connect(url)).close()
    try:
        return await migrate(url, known)
    except asyncpg.PostgresError as fault:
        raise StartupError(f"The database can't be migrated: {reason(fault)}.") from None


async def check_migrated(url: str) -> None:
    """Stop with one clear sentence on a database that is behind; one that is ahead is used as it is."""
    connection = await connect(url)
    try:
        missing = await missing_migrations(connection)
        is_empty = not await has_table(connection, "migrations")
    finally:
        await connection.close()
    if is_empty:
        raise StartupError("The database is empty. Run `openslot migrate` first.")
    if missing:
        raise StartupError(
            f"The database is behind this version of Openslot by {len(missing)} migration"
            f"{'s' if len(missing) > 1 else ''}. Run `openslot migrate` first."
        )


async def fill_empty(url: str) -> None:
    """Bring an empty database to this version's shape; any other has to have it already."""
    connection = await connect(url)
    try:
        is_empty = not await has_table(connection, "migrations")
    finally:
        await connection.close()
    await (bring_up_to_date(url) if is_empty else check_migrated(url))
