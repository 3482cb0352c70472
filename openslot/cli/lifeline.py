"""A child's lifeline: a pipe that brings the database's address; when it closes, for any reason, the child ends."""

import os
import signal
import sys
import threading

VARIABLE = "OPENSLOT_LIFELINE"


def wait_for_database() -> str | None:
    """Wait until the supervisor sends the database's address; return None if there is no supervisor."""
    descriptor = os.environ.pop(VARIABLE, "")
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
