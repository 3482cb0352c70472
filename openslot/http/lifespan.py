"""The life of a process, as a server tells it: begin, and end."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from openslot.http.receiving import Receive
from openslot.http.sending import Send


async def live(lifetime: AbstractAsyncContextManager[Any], receive: Receive, send: Send) -> None:
    """Hold a context open between the server's start and its end, and tell the server when either has failed."""
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
