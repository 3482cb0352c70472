"""How a command comes to a house: find or start the database, migrate, open, do, close."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from openslot.cli.environment import settings
from openslot.core.actor import OPERATOR
from openslot.core.config import Settings
from openslot.core.embedded import start_server, stop_server
from openslot.core.log import set_up_logging
from openslot.core.migrate import migrate
from openslot.core.work import House, Work
from openslot.house import open_house

T = TypeVar("T")


@contextmanager
def database(chosen: Settings) -> Iterator[Settings]:
    """Give settings that name a running database; an embedded one that had to be started is stopped in the end."""
    if chosen.database_url is not None:
        yield chosen
        return
    server = start_server(chosen.data_dir)
    try:
        yield msgspec.structs.replace(chosen, database_url=server.url)
    finally:
        if server.owned:
            stop_server(chosen.data_dir)


def with_house(do: Callable[[House], Awaitable[T]]) -> T:
    """Run something in an open house on a migrated database."""
    chosen = settings()
    set_up_logging(chosen)
    with database(chosen) as ready:
        return asyncio.run(_in_house(ready, do))


def with_work(do: Callable[[Work], Awaitable[T]]) -> T:
    """Run a verb as the operator, in one transaction."""

    async def in_transaction(house: House) -> T:
        async with house.writing(OPERATOR) as work:
            return await do(work)

    return with_house(in_transaction)


def direct_url(chosen: Settings) -> str:
    """Tell the database's address without a pooler between."""
    return chosen.direct_database_url or chosen.database_url or ""


async def _in_house(ready: Settings, do: Callable[[House], Awaitable[T]]) -> T:
    await migrate(direct_url(ready))
    async with open_house(ready) as house:
        return await do(house)
