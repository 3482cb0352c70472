"""The command line."""

import sys
from collections.abc import Callable

from openslot.cli.signals import leave_on_signals
from openslot.core.errors import Refusal, StartupError


def main() -> None:
    """Run the command line."""
    from openslot.cli.commands import app

    run(app)


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
        _stop(f"{fault.strerror or fault}{f': {fault.filename}' if fault.filename else ''}.")


def _stop(words: str) -> None:
    print(f"openslot: {words}", file=sys.stderr)  # noqa: T201 - the terminal is the door
    sys.exit(1)
