"""Resolves names with the system's resolver without blocking the event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Protocol

from openslot.core.config import Settings
from openslot.core.outbound.addresses import Address


class Resolver(Protocol):
    """Resolves names to addresses."""

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """Return all addresses of the name, best first, or raise OSError."""
        ...


class SystemResolver:
    """The system's own resolver, hosts file included."""

    def __init__(self, *, at_once: int = 32) -> None:
        # Its own threads: slow name servers must not block those that the rest of the process shares.
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="resolver")

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """Return all addresses of the name, best first, or raise OSError."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)

    def close(self) -> None:
        """Accept no more look-ups."""
        self._threads.shutdown(wait=False)


@asynccontextmanager
async def open_system_resolver(_: Settings) -> AsyncIterator[SystemResolver]:
    """Open the adapter of the port `Resolver`."""
    resolver = SystemResolver()
    try:
        yield resolver
    finally:
        resolver.close()


def _look_up(host: str) -> tuple[Address, ...]:
    rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(ip_address(str(row[4][0])) for row in rows))
