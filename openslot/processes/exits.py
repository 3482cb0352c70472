"""How a process ends: signals in an orderly way, and expected failures with one sentence."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from openslot.platform.core.errors import Refusal, StartupError

# A command that runs under nohup is meant to outlive the terminal.
IS_UNDER_NOHUP = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
ENDINGS = (signal.SIGINT, signal.SIGTERM) if IS_UNDER_NOHUP else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(command: Callable[[], object]) -> None:
    """Run a command; an expected failure is printed as one sentence."""
    leave_on_signals()
    try:
        command()
    except StartupError as fault:
        _stop(str(fault))
    except Refusal as fault:
        _stop("".join([fault.message, *(f"\n  {field} {words}" for field, words in (fault.details or {}).items())]))
    except OSError as fault:
        _stop(f"{(fault.strerror or str(fault)).rstrip('.')}{f': {fault.filename}' if fault.filename else ''}.")


def _stop(words: str) -> None:
    print(f"openslot: {words}", file=sys.stderr)  # noqa: T201 - the terminal is the door
    sys.exit(1)


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
