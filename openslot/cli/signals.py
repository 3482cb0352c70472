"""Signals end a command in an orderly way: whatever it has started is stopped first."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# A command that runs under nohup is meant to outlive the terminal.
IS_UNDER_NOHUP = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
ENDINGS = (signal.SIGINT, signal.SIGTERM) if IS_UNDER_NOHUP else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def leave_on_signals(code: int | None = None) -> None:
    """Exit on the first signal with this code, or with the shell's code for it, and ignore signals from then on."""

    def leave(number: int, _frame: FrameType | None) -> None:
        for ending in ENDINGS:
            signal.signal(ending, signal.SIG_IGN)
        sys.exit(128 + number if code is None else code)

    for ending in ENDINGS:
        signal.signal(ending, leave)


@contextmanager
def holding_signals() -> Iterator[None]:
    """Let signals wait until the block ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
