"""Whether the database can be reached, and whether it has space to write; the log says so once a minute."""

import shutil
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from traceback import walk_tb

import asyncpg
import structlog
from msgspec import Struct

from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import has_cluster

EVERY = 60.0
LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InternalClientError,  # a statement on a connection that was killed a moment ago
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
        self._refused_at: float | None = None

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
        """Say that a connection was lost or a statement refused, unless the log has said so within the last minute."""
        if not is_lost(fault):
            self._refuse(fault)
        elif self._is_news():
            self._said_at = self._clock()
            log.warning("A connection to the database was lost", error=reason(fault))

    def _refuse(self, fault: BaseException) -> None:
        if self._refused_at is None or self._clock() - self._refused_at >= EVERY:
            self._refused_at = self._clock()
            log.warning("database unavailable", error=reason(fault))

    def _is_news(self) -> bool:
        return self._said_at is None or self._clock() - self._said_at >= EVERY


OUTAGE = Outage()


def _comes_from_driver(fault: BaseException) -> bool:
    return any(frame.f_globals.get("__name__", "").startswith("asyncpg.") for frame, _ in walk_tb(fault.__traceback__))


FULL = 32_000_000
"""The bytes below which a disk is full: PostgreSQL reserves space for its write-ahead log in pieces of 16 MB."""


class RefusedWrites:
    """Whether the database has refused this process's last write because it has no space."""

    def __init__(self) -> None:
        self.is_full = False

    def note(self, fault: BaseException) -> None:
        """Remember a refusal for want of space; other faults say nothing about it."""
        if isinstance(fault, asyncpg.DiskFullError):
            self.is_full = True

    def forget(self) -> None:
        self.is_full = False


REFUSED = RefusedWrites()


class DiskState(Struct, frozen=True, kw_only=True):
    free: int | None
    """The free bytes; None if the database is not the embedded one."""
    is_full: bool

    @property
    def words(self) -> str:
        """Describe it: `ok`, or what is wrong."""
        if not self.is_full:
            return "ok"
        return "full: the database can't write" if self.free is None else f"full: {self.free // 1_000_000} MB left"


def read_disk(settings: Settings) -> DiskState:
    """Return what is known about the database's disk now; space that is free again ends what was refused before."""
    free = read_free(settings.data_dir) if _is_embedded(settings) else None
    if free is not None and free >= FULL:
        REFUSED.forget()
    return DiskState(free=free, is_full=REFUSED.is_full or (free is not None and free < FULL))


def read_free(path: Path) -> int:
    return shutil.disk_usage(path).free


def _is_embedded(settings: Settings) -> bool:
    """Whether the database is the one in the data directory; it is reached by its socket only."""
    return has_cluster(settings.data_dir) and (settings.database_url or "").startswith("postgresql://postgres@/")
