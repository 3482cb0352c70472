"""Connections that outlive a test's pool: forking a server process for each takes longer than most tests."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import asyncpg
import pytest

from openslot.platform.core import db
from openslot.platform.core.db import ConnectionPool

MOST = 8


class KeptConnections:
    """Idle connections of one event loop to one database, by how they were opened."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.get_running_loop()
        self._idle: dict[str, list[asyncpg.Connection]] = defaultdict(list)

    def __iter__(self) -> Iterator[asyncpg.Connection]:
        return (connection for idle in self._idle.values() for connection in idle)

    def covers(self, connect: Any) -> bool:
        """Tell whether these are connections to that database, in the loop that runs now."""
        return isinstance(connect, partial) and connect.args == (self._url,) and self._is_here()

    async def open(self, connect: Any) -> asyncpg.Connection:
        """Give a kept connection of the same kind, or a new one."""
        idle = self._idle[_kind(connect)]
        while idle:
            connection = idle.pop()
            if not connection.is_closed():
                return connection
        return await connect()

    async def keep(self, connect: Any, connection: asyncpg.Connection) -> None:
        """Keep a connection, without what was set or listened to on it."""
        idle = self._idle[_kind(connect)]
        if len(idle) >= MOST:
            await connection.close()
        elif not connection.is_closed():
            await connection.reset()
            idle.append(connection)

    async def close(self) -> None:
        """Close all of them."""
        for connection in list(self):
            await connection.close()
        self._idle.clear()

    def _is_here(self) -> bool:
        return asyncio.get_running_loop() is self._loop


def _kind(connect: Any) -> str:
    return repr(sorted(connect.keywords.items()))


@contextmanager
def keeping_connections(url: str) -> Iterator[KeptConnections]:
    """Let every pool on this database begin with connections that an earlier one has left."""
    kept = KeptConnections(url)

    class Pool(ConnectionPool):
        """A pool that opens kept connections, and hands over its own in the end."""

        def __init__(self, connect: Any, **options: Any) -> None:
            self._opens = connect if kept.covers(connect) else None
            super().__init__(partial(kept.open, connect) if self._opens else connect, **options)

        async def close(self) -> None:
            """Wait for running statements, then hand the connections over."""
            if self._opens is None:
                await super().close()
                return
            self._all_back = asyncio.Event()
            if self._in_use:
                await self._all_back.wait()
            while self._idle:
                await kept.keep(self._opens, self._idle.pop()[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db, "ConnectionPool", Pool)
        yield kept
