"""Whether the database has space to write: what it has refused, and what is left on the disk of the embedded one."""

import shutil
from pathlib import Path

import asyncpg
from msgspec import Struct

from openslot.core.config import Settings
from openslot.core.embedded import has_cluster

FULL = 32_000_000
"""Less than this is full: PostgreSQL reserves space for its write-ahead log in pieces of 16 MB."""


class RefusedWrites:
    """Whether the database has refused this process's last write because it has no space."""

    def __init__(self) -> None:
        self.is_full = False

    def note(self, fault: BaseException) -> None:
        """Remember a refusal for want of space; other faults say nothing about it."""
        if isinstance(fault, asyncpg.DiskFullError):
            self.is_full = True

    def forget(self) -> None:
        """Forget it, because there is space again."""
        self.is_full = False


REFUSED = RefusedWrites()


class DiskState(Struct, frozen=True, kw_only=True):
    """What is known about the database's disk."""

    free: int | None
    """In bytes; None if the database is not the embedded one."""
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


def read_free(place: Path) -> int:
    """Return how many bytes are free on a disk."""
    return shutil.disk_usage(place).free


def _is_embedded(settings: Settings) -> bool:
    """Whether the database is the one in the data directory; it is reached by its socket only."""
    return has_cluster(settings.data_dir) and (settings.database_url or "").startswith("postgresql://postgres@/")
