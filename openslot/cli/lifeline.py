"""A child's lifeline: when the process that started it is gone, however it went, the child ends too."""

import os
import signal
import threading

VARIABLE = "OPENSLOT_LIFELINE"


def make_lifeline() -> tuple[int, int]:
    """Make the two ends: the child watches the first, the parent holds the second for as long as it lives."""
    return os.pipe()


def watch_lifeline() -> None:
    """End politely once the other end is closed; without a lifeline, do nothing."""
    descriptor = os.environ.pop(VARIABLE, "")
    if descriptor:
        threading.Thread(target=_watch, args=(int(descriptor),), daemon=True).start()


def _watch(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)
