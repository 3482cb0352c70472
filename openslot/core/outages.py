"""A database that can't be reached: one line says so at once, one a minute while it lasts, and one when it is back."""

from collections.abc import Callable
from time import monotonic
from traceback import walk_tb

import asyncpg
import structlog

EVERY = 60.0
LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InternalClientError,
)

log = structlog.get_logger()


def is_lost(fault: BaseException | None) -> bool:
    """Return whether an exception means that a connection to the database was lost, or could not be made.

    Other services raise `OSError` too, and the driver raises `InterfaceError` for mistakes in the program.
    """
    if isinstance(fault, asyncpg.InterfaceError):
        return "clos" in str(fault)
    return isinstance(fault, LOST) or (isinstance(fault, OSError) and _comes_from_driver(fault))


def reason(fault: BaseException) -> str:
    """Describe in a few words why a connection failed."""
    text = str(fault).strip().splitlines()
    return text[0].rstrip(".") if text else type(fault).__name__


class Outage:
    """What the log has said about the database of this process."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._is_down = False
        self._said_at: float | None = None

    def begin(self, reason: str) -> None:
        """Say that the database can't be reached, unless this was said within the last minute."""
        if self._is_news() or not self._is_down:
            self._said_at = self._clock()
            log.warning("The database can't be reached; trying again", error=reason)
        self._is_down = True

    def end(self) -> None:
        """Say that the database can be reached again, if it could not."""
        if self._is_down:
            log.warning("The database can be reached again")
        self._is_down = False

    def mention(self, fault: BaseException) -> None:
        """Say that a connection was lost, unless the log has said so within the last minute."""
        if self._is_news():
            self._said_at = self._clock()
            log.warning("A connection to the database was lost", error=reason(fault))

    def _is_news(self) -> bool:
        return self._said_at is None or self._clock() - self._said_at >= EVERY


OUTAGE = Outage()


def _comes_from_driver(fault: BaseException) -> bool:
    return any(frame.f_globals.get("__name__", "").startswith("asyncpg.") for frame, _ in walk_tb(fault.__traceback__))
