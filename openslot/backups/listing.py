"""The backups in the data directory."""

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from openslot.backups.archive import Manifest, read_manifest
from openslot.backups.create import backups_directory
from openslot.core.config import Settings
from openslot.core.errors import StartupError


class BackupFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """A backup, and what it contains if it can be read."""

    file: Path
    size: int
    created_at: datetime | None = None
    version: str | None = None
    tables: int | None = None
    rows: int | None = None
    has_secret_key: bool | None = None
    fault: str | None = None


def find_backups(chosen: Settings) -> list[BackupFile]:
    """List the backups in the data directory, newest first; unreadable ones are marked."""
    files = sorted(backups_directory(chosen).glob("*.tar"), reverse=True)
    found = [_read(path) for path in files]
    return sorted(found, key=lambda backup: backup.created_at.timestamp() if backup.created_at else 0, reverse=True)


def describe_backup(path: Path, manifest: Manifest) -> BackupFile:
    """Describe a backup by its manifest."""
    return BackupFile(
        file=path,
        size=path.stat().st_size,
        created_at=manifest.created_at,
        version=manifest.version,
        tables=len(manifest.rows),
        rows=sum(manifest.rows.values()),
        has_secret_key=manifest.has_secret_key,
    )


def _read(path: Path) -> BackupFile:
    try:
        return describe_backup(path, read_manifest(path))
    except StartupError:
        return BackupFile(file=path, size=path.stat().st_size, fault="damaged")
