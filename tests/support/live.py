"""A live server inside a test's own event loop, and clients of it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import httpx2
import uvicorn
from msgspec.structs import replace

from openslot.doors.http.protocol import protocol_for
from openslot.doors.http.protocol.limits import ConnectionLimits, limits_of
from openslot.platform.core.config import Settings

# Making one takes longer than most requests, even for a client that speaks no TLS.
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# What a refused client still sends is read to its end: the server sees at once that the client has gone.
LIMITS = replace(limits_of(Settings()), linger_bytes=16 * 1024 * 1024)


class PromptServer(uvicorn.Server):
    """A server that stops as soon as it is told to, and leaves the test runner's signal handlers alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield

    async def main_loop(self) -> None:
        """Serve until the task is told to stop, without looking ten times a second."""
        while not await self.on_tick(0):
            # Unlike `wait_for` it begins no task, which a test would seem to have left.
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._told.wait()

    def stop(self) -> None:
        """End the main loop now."""
        self.should_exit = True
        self._told.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close what is idle, wait for answers under way, and let the app close its own."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(0.002)
        await self.lifespan.shutdown()


@asynccontextmanager
async def serving(app: Any, limits: ConnectionLimits = LIMITS) -> AsyncIterator[str]:
    """Serve an app on a free port, as a web process does, and tell its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=protocol_for(Settings(), limits),
        ws="none",
        log_config=None,
        proxy_headers=False,
        access_log=False,
    )
    server = PromptServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        if task.done():
            raise RuntimeError("the server did not start") from task.exception()
        await asyncio.sleep(0.002)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.stop()
        await task
        listener.close()


def connect(base_url: str, **options: Any) -> httpx2.AsyncClient:
    """Open a client of a live server; it reads neither certificates nor proxies, which takes longer than most tests."""
    # A loaded machine may take longer than the five seconds that the library waits.
    return httpx2.AsyncClient(base_url=base_url, verify=TLS, trust_env=False, **{"timeout": 60, **options})
