"""How a command comes to a database: named, told by the supervisor, or the embedded one; reachable and in shape."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import asyncpg
import msgspec

from openslot.cli.environment import choose
from openslot.cli.lifeline import wait_for_database
from openslot.core.config import Settings
from openslot.core.db import DOWN, OLDEST_SERVER, hide_password, reason
from openslot.core.embedded import start_server, stop_server
from openslot.core.errors import StartupError

IS_EMPTY = "select to_regclass('migrations') is null"


@contextmanager
def database(chosen: Settings) -> Iterator[Settings]:
    """Give settings that name a running database; an embedded one that had to be started is stopped in the end."""
    told = wait_for_database()
    choose(database_url=told)
    if told is not None or chosen.database_url is not None:
        yield msgspec.structs.replace(chosen, database_url=told or chosen.database_url)
        return
    server = start_server(chosen.data_dir)
    try:
        yield msgspec.structs.replace(chosen, database_url=server.url)
    finally:
        if server.owned:
            stop_server(chosen.data_dir)


def direct_url(chosen: Settings) -> str:
    """Tell the database's address without a pooler between."""
    return chosen.direct_database_url or chosen.database_url or ""


async def connect(url: str) -> asyncpg.Connection:
    """Open one connection to a server that is new enough, or stop with one clear sentence."""
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise StartupError(f"The database can't be reached at {hide_password(url)}: {reason(fault)}.") from None
    version = connection.get_server_version()
    if version.major < OLDEST_SERVER // 10000:
        connection.terminate()
        raise StartupError(f"PostgreSQL 15 or newer is needed; the database is version {version.major}.")
    return connection


async def bring_up_to_date(url: str, known: Mapping[str, str] | None = None) -> list[str]:
    """Apply the migrations that are missing to a server that is new enough, and name them."""
    from openslot.core.migrate import migrate

    await (await connect(url)).close()
    try:
        return await migrate(url, known)
    except asyncpg.PostgresError as fault:
        raise StartupError(f"The database can't be brought to this version's shape: {reason(fault)}.") from None


async def check_migrated(url: str) -> None:
    """Stop with one clear sentence on a database that is behind; one that is ahead is used as it is."""
    from openslot.core.migrate import missing_migrations

    connection = await connect(url)
    try:
        missing = await missing_migrations(connection)
        is_empty = await connection.fetchval(IS_EMPTY)
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
        is_empty = await connection.fetchval(IS_EMPTY)
    finally:
        await connection.close()
    await (bring_up_to_date(url) if is_empty else check_migrated(url))
