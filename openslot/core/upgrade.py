"""Bring a database up to date, or report that it is not."""

from collections.abc import Mapping

import asyncpg

from openslot.core.direct import connect, has_table
from openslot.core.errors import StartupError
from openslot.core.migrate import migrate, missing_migrations
from openslot.core.outages import reason


async def bring_up_to_date(url: str, known: Mapping[str, str] | None = None) -> list[str]:
    """Apply the missing migrations, and return their names; raise a `StartupError` if the server is too old."""
    await (await connect(url)).close()
    try:
        return await migrate(url, known)
    except asyncpg.PostgresError as fault:
        raise StartupError(f"The database can't be migrated: {reason(fault)}.") from None


async def check_migrated(url: str) -> None:
    """Raise a `StartupError` if the database lacks migrations; one with newer migrations is accepted."""
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
    """Create the schema in an empty database; any other database must already be up to date."""
    connection = await connect(url)
    try:
        is_empty = not await has_table(connection, "migrations")
    finally:
        await connection.close()
    await (bring_up_to_date(url) if is_empty else check_migrated(url))
