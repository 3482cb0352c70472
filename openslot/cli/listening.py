"""The socket that the web listens on."""

import errno
import os
import socket

from openslot.core.config import Settings
from openslot.core.errors import StartupError

VARIABLE = "OPENSLOT_LISTENER"


def listen(settings: Settings) -> socket.socket:
    """Return the supervisor's socket or bind the address; raise a `StartupError` if that fails."""
    inherited = os.environ.pop(VARIABLE, "")
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
