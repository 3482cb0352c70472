"""Ports for processes that tests start: one that was merely free a moment ago may be somebody else's by now."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


def hold_port() -> socket.socket:
    """Bind a free port without listening on it: our process can listen there, and nobody else is given it."""
    held = socket.socket()
    # Whoever listens sets this option too; without it here, both would be refused the port.
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


@contextmanager
def held_port() -> Iterator[int]:
    """Hold a port; until a process listens on it, whoever connects is refused."""
    with hold_port() as held:
        yield held.getsockname()[1]
