"""The nouns of exports."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Work


class ExportState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"


class DataExport(Struct, frozen=True, kw_only=True):
    id: UUID
    user_id: UUID
    state: ExportState
    files_done: int
    files: int
    size: int
    requested_at: datetime
    finished_at: datetime | None
    expires_at: datetime

    @property
    def is_under_way(self) -> bool:
        return self.state in {ExportState.QUEUED, ExportState.RUNNING}


class ExportFile(Struct, frozen=True):
    """One file of an export: what it holds, from which tables, and how its pieces are made."""

    name: str
    about: str
    tables: tuple[str, ...]
    write: Callable[[Work, User, Any], AsyncIterator[bytes]]
    """Gets the work, the user, and a connection that sees the database as it was when the export began."""
