"""Signals end a command in order: what it has started is stopped on the way out."""

import signal
import sys
from types import FrameType

# Whoever starts a command under nohup wants it to outlive the terminal.
IS_UNDER_NOHUP = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
ENDINGS = (signal.SIGINT, signal.SIGTERM) if IS_UNDER_NOHUP else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def leave_on_signals(code: int | None = None) -> None:
    """Leave on the first signal with this code, or as a shell would count it, and let nothing disturb the way out."""

    def leave(number: int, _frame: FrameType | None) -> None:
        for ending in ENDINGS:
            signal.signal(ending, signal.SIG_IGN)
        sys.exit(128 + number if code is None else code)

    for ending in ENDINGS:
        signal.signal(ending, leave)
