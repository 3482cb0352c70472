"""A child's heartbeat: one byte a second from its event loop, so that the supervisor notices when it hangs."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

VARIABLE = "OPENSLOT_HEARTBEAT"
BEAT_EVERY = 1.0


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """Send heartbeats to the supervisor, if there is one, while the event loop is running."""
    descriptor = os.environ.pop(VARIABLE, "")
    if not descriptor:
        yield
        return
    task = asyncio.create_task(_beat(int(descriptor)))
    try:
        yield
    finally:
        task.cancel()


async def _beat(descriptor: int) -> None:
    os.set_blocking(descriptor, False)
    while True:
        # The pipe is full while the supervisor is busy, and broken when it has died; then the lifeline ends this
        # process.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(descriptor, b".")
        await asyncio.sleep(BEAT_EVERY)
