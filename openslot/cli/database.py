"""How a command comes to a database: named, told by the supervisor, or the embedded one; reachable and in shape."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import msgspec

from openslot.cli.environment import choose
from openslot.cli.lifeline import wait_for_database
from openslot.core.config import Settings
from openslot.core.db import DOWN, OLDEST_SERVER, hide_password, reason
from openslot.core.embedded import start_server, stop_server
from openslot.core.errors import StartupError


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


async def bring_up_to_date(url: str) -> list[str]:
    """Apply the migrations that are missing to a server that is new enough, and name them."""
    from openslot.core.migrate import migrate

    await (await connect(url)).close()
    try:
        return await migrate(url)
    except asyncpg.PostgresError as fault:
        raise StartupError(f"The database can't be brought to this version's shape: {reason(fault)}.") from None
