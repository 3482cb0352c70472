"""The lifespan of a process, as the ASGI server signals it: startup and shutdown."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from openslot.http.receiving import Receive
from openslot.http.sending import Send


async def live(lifetime: AbstractAsyncContextManager[Any], receive: Receive, send: Send) -> None:
    """Keep a context open from the server's startup to its shutdown, and report to the server if either fails."""
    await receive()
    stage = "startup"
    try:
        async with lifetime:
            await send({"type": "lifespan.startup.complete"})
            await receive()
            stage = "shutdown"
    except BaseException as fault:
        await send({"type": f"lifespan.{stage}.failed", "message": str(fault)})
        raise
    await send({"type": "lifespan.shutdown.complete"})
