"""Create a backup while the service runs, from one snapshot, and list those that there are."""

import asyncio
import hashlib
import tempfile
from datetime import datetime
from pathlib import Path
from typing import IO, cast

import asyncpg
from msgspec import Struct

from openslot import __version__
from openslot.platform.backups import store
from openslot.platform.backups.archive import DUMP, FORMAT, KEY, Manifest, checksum_of, read_manifest, write_archive
from openslot.platform.backups.programs import address, get_program, major_of, server_kind
from openslot.platform.backups.signature import sign
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.migrate import connect, direct_url, has_table
from openslot.platform.core.progress import progress
from openslot.platform.core.secrets import load_secrets
from openslot.platform.core.work import system_clock


def backups_directory(settings: Settings) -> Path:
    return settings.data_dir / "backups"


async def create_backup(settings: Settings, to: Path | None) -> tuple[Path, Manifest]:
    """Write everything into one file, which appears when it is complete."""
    path = _target(settings, to)
    keys_before = _read_keys(settings)
    connection = await connect(direct_url(settings))
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".dump-") as dump:
            applied, rows = await _dump(connection, direct_url(settings), dump)
            # All keys that may have sealed what was dumped, even if keys were rotated and retired during the dump.
            keys = dict.fromkeys([*_read_keys(settings), *keys_before])
            secret_key = "".join(f"{key}\n" for key in keys) or None
            # Hashing and packing a large dump take a while, and requests must not wait for them.
            manifest = await asyncio.to_thread(_describe, settings, dump, applied, rows, secret_key)
            await asyncio.to_thread(write_archive, path, manifest, dump=dump, secret_key=secret_key)
    finally:
        connection.terminate()
    return path, manifest


def _target(settings: Settings, to: Path | None) -> Path:
    name = f"openslot-{system_clock():%Y%m%dT%H%M%SZ}.tar"
    directory = backups_directory(settings)
    try:
        if to is None:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not to.is_dir():
            to.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise StartupError(f"The backup can't be written: {fault.strerror}: {fault.filename}.") from None
    path = directory / name if to is None else to / name if to.is_dir() else to
    if path.exists():
        raise StartupError(f"{path} already exists; choose another name.")
    return path.absolute()


def _read_keys(settings: Settings) -> tuple[str, ...]:
    """Read the keys for the backup; none if they come from a setting."""
    keys = load_secrets(settings.secret_key, settings.data_dir).keys
    return keys if settings.secret_key is None else ()


def _describe(
    settings: Settings, dump: IO[bytes], migrations: dict[str, str], rows: dict[str, int], secret_key: str | None
) -> Manifest:
    manifest = Manifest(
        format=FORMAT,
        version=__version__,
        created_at=system_clock().replace(microsecond=0),
        migrations=migrations,
        rows=rows,
        has_secret_key=secret_key is not None,
        key_proof="",
        checksums={
            DUMP: checksum_of(dump),
            **({KEY: hashlib.sha256(secret_key.encode()).hexdigest()} if secret_key is not None else {}),
        },
    )
    return sign(manifest, load_secrets(settings.secret_key, settings.data_dir).keys)


async def _dump(connection: asyncpg.Connection, url: str, dump: IO[bytes]) -> tuple[dict[str, str], dict[str, int]]:
    if not await has_table(connection, "migrations"):
        raise StartupError("There is nothing to back up yet: the first start creates the database.")
    program = get_program("pg_dump", await server_kind(connection))
    await connection.execute("set idle_in_transaction_session_timeout = 0")
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        snapshot = await store.export_snapshot(connection)
        applied = await store.read_migrations(connection)
        rows = await count_rows(connection)
        left_out = await store.list_left_out(connection)
        where = address(url)
        command = [program, f"--dbname={where.url}", f"--snapshot={snapshot}", "--format=custom", "--verbose"]
        command += ["--no-owner", "--no-privileges", *(f"--exclude-table-data=public.{name}" for name in left_out)]
        if major_of(program) >= 17:
            command.append("--exclude-extension=*")
        await _run([*command, f"--file={dump.name}"], where.environment, rows)
    return applied, rows


async def count_rows(connection: asyncpg.Connection) -> dict[str, int]:
    """Count the rows of every table in one snapshot."""
    tables = await store.list_tables(connection)
    counted = {}
    with progress("Counting", len(tables)) as advance:
        for table in tables:
            counted[table] = await store.count_rows(connection, table)
            advance(1)
    return counted


async def _run(command: list[str], environment: dict[str, str], rows: dict[str, int]) -> None:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, env=environment)
    last = ""
    try:
        with progress("Dumping", sum(rows.values())) as advance:
            async for line in cast("asyncio.StreamReader", process.stderr):
                text = line.decode("utf-8", "replace").strip()
                last = text.partition("error: ")[2] or last
                if "dumping contents of table" in text:
                    advance(rows.get(text.rpartition(".")[2].strip('"'), 0))
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code != 0:
        raise StartupError(f"The database can't be dumped: {last or f'pg_dump ended with {code}'}.")


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
