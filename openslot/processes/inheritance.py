"""What a child inherits: a lifeline that brings the database's address, its heartbeat, and the listening socket."""

import asyncio
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError

LIFELINE = "OPENSLOT_LIFELINE"


def wait_for_database() -> str | None:
    """Wait until the supervisor sends the database's address; return None if there is no supervisor."""
    descriptor = os.environ.pop(LIFELINE, "")
    if not descriptor:
        return None
    message = b""
    while not message.endswith(b"\n"):
        part = os.read(int(descriptor), 4096)
        if not part:
            sys.exit(0)
        message += part
    threading.Thread(target=_watch, args=(int(descriptor),), daemon=True).start()
    return message.decode().strip()


def _watch(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)


HEARTBEAT = "OPENSLOT_HEARTBEAT"
BEAT_EVERY = 1.0


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """Send heartbeats to the supervisor, if there is one, while the event loop is running."""
    descriptor = os.environ.pop(HEARTBEAT, "")
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


LISTENER = "OPENSLOT_LISTENER"


def listen(settings: Settings) -> socket.socket:
    """Return the supervisor's socket or bind the address; raise a `StartupError` if that fails."""
    inherited = os.environ.pop(LISTENER, "")
    if inherited:
        return socket.socket(fileno=int(inherited))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as fault:
        if fault.errno == errno.EADDRINUSE:
            raise StartupError(
                f"Port {settings.port} on {settings.host} is in use; choose another with OPENSLOT_PORT."
            ) from None
        raise StartupError(f"Can't listen on {settings.host}:{settings.port}: {fault.strerror}.") from None


def nearest_address(listener: socket.socket) -> tuple[str, int]:
    """Return the address at which this machine itself reaches a listening socket."""
    host, port = listener.getsockname()[:2]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port  # noqa: S104 - compared, not bound
