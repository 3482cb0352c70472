"""A live server inside a test's own event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from openslot.core.config import Settings
from openslot.http.protocol import protocol_for
from openslot.http.protocol.limits import Limits


class QuietServer(uvicorn.Server):
    """A server that leaves the test runner's signal handlers alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


@asynccontextmanager
async def serving(app: Any, limits: Limits | None = None) -> AsyncIterator[str]:
    """Serve an app on a free port, as a web process does, and tell its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=protocol_for(Settings(), limits),
        ws="none",
        log_level="warning",
        proxy_headers=False,
        access_log=False,
    )
    server = QuietServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        if task.done():
            raise RuntimeError("the server did not start") from task.exception()
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()
