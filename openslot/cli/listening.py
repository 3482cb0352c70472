"""The socket that the web listens on."""

import errno
import socket

from openslot.core.config import Settings
from openslot.core.errors import StartupError


def listen(settings: Settings) -> socket.socket:
    """Bind the address, or stop with one clear sentence."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as fault:
        if fault.errno == errno.EADDRINUSE:
            raise StartupError(
                f"Port {settings.port} on {settings.host} is in use; choose another with OPENSLOT_PORT."
            ) from None
        raise StartupError(f"Can't listen on {settings.host}:{settings.port}: {fault.strerror}.") from None
    except OverflowError:
        raise StartupError(f"OPENSLOT_PORT is wrong: {settings.port} is no port.") from None
