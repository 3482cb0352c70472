"""Restore a backup into an empty database: everything, checked against its manifest, or nothing."""

import asyncio
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

import asyncpg
from msgspec import Struct

from openslot.platform.backups import store
from openslot.platform.backups.archive import CHUNK, Backup, opened_dump
from openslot.platform.backups.programs import ServerKind, address, get_newest, get_program, server_kind
from openslot.platform.backups.signature import Signed, check_signature, is_signed
from openslot.platform.backups.store import write_beginning, write_end
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.inventory import DatabaseObject, read_inventory
from openslot.platform.core.migrate import (
    bring_up_to_date,
    check_baseline,
    checksum,
    choose_migrations,
    connect,
    direct_url,
)
from openslot.platform.core.progress import progress
from openslot.platform.core.secrets import KEY_FILE, changing_keys, load_secrets

# Servers before 17 don't know this setting, but pg_restore sends it to all of them.
UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;\n"


def load_dump(url: str, kind: ServerKind, backup: Backup, *, in_place_of: tuple[DatabaseObject, ...]) -> None:
    """Load the dump and commit when it is complete; after an error or a kill before that, nothing has changed."""
    where = address(url)
    psql = [get_program("psql", kind), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={where.url}"]
    is_whole = False
    with tempfile.TemporaryFile() as faults:
        with (
            suppress(BrokenPipeError),
            subprocess.Popen(  # noqa: S603 - our own program with our own arguments
                psql, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=faults, env=where.environment
            ) as writing,
        ):
            script = cast("IO[bytes]", writing.stdin)
            script.write(write_beginning(in_place_of).encode())
            is_whole = _write_dump(script, kind, backup, faults)
            script.write(write_end(backup.manifest.rows).encode() if is_whole else b"rollback;\n")
        if writing.returncode != 0 or not is_whole:
            faults.seek(0)
            raise StartupError(f"The backup can't be restored: {_first_fault(faults)}. Nothing was changed.")


def _write_dump(script: IO[bytes], kind: ServerKind, backup: Backup, faults: IO[bytes]) -> bool:
    """Write the dump as a script; return False if pg_restore can't read it completely."""
    command = [get_newest("pg_restore"), "--no-owner", "--no-privileges", "--file=-"]
    with (
        opened_dump(backup.path) as dump,
        progress("Restoring", sum(backup.manifest.rows.values())) as advance,
        subprocess.Popen(  # noqa: S603 - our own program with our own arguments
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=faults
        ) as reading,
    ):
        feeding = threading.Thread(target=_feed, args=(dump, cast("IO[bytes]", reading.stdin)))
        feeding.start()
        try:
            with cast("IO[bytes]", reading.stdout) as lines:
                chunk = lines.read(CHUNK)
                chunk = chunk.replace(UNKNOWN_BEFORE_17, b"", 1) if kind.major < 17 else chunk
                while chunk:
                    # If psql has exited, its own error says why: the archive is not the problem.
                    with suppress(BrokenPipeError):
                        script.write(chunk)
                    advance(chunk.count(b"\n"))
                    chunk = lines.read(CHUNK)
        finally:
            feeding.join()
    return reading.returncode == 0


def _feed(dump: IO[bytes], to: IO[bytes]) -> None:
    with suppress(BrokenPipeError), to:
        shutil.copyfileobj(dump, to, CHUNK)


def _first_fault(faults: IO[bytes]) -> str:
    lines = faults.read().decode("utf-8", "replace").splitlines()
    named = [
        re.split(r"(?:ERROR|FATAL|error):\s*", line)[-1] for line in lines if re.search("ERROR|FATAL|error:", line)
    ]
    return (named or lines or ["its dump is damaged"])[0].rstrip(".")


# At least one of these has a row as soon as the installation was used.
TRACES = ("users", "organizations", "events", "bookings", "contacts")
ELSEWHERE = (
    "Restore into an empty data directory (--data-dir) or an empty database (--database-url). Nothing was changed."
)
MAX_NAMED = 5


class Restored(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was restored, and what the operator has to know about the secret key."""

    file: Path
    version: str
    rows: int
    tables: int
    applied: list[str]
    secret_key: str
    signed: Signed


def check_known(backup: Backup) -> None:
    """Refuse a backup with migrations that this version does not know or that differ from its own."""
    known = choose_migrations(backup.manifest.migrations)
    check_baseline("backup", backup.manifest.migrations, known)
    for name, seal in sorted(backup.manifest.migrations.items()):
        if name not in known:
            raise StartupError(
                f"The backup was created by Openslot {backup.manifest.version}, which is newer: it knows {name}. "
                "Upgrade first. Nothing was changed."
            )
        if checksum(known[name]) != seal:
            raise StartupError(f"The migration {name} differs from the one in the backup. Nothing was changed.")


def restore_backup(settings: Settings, backup: Backup, *, unverified: bool = False) -> Restored:
    """Restore into an empty database and keep the secret key beside it; its signature is checked unless unverified."""
    signed: Signed = "nothing" if unverified else check_signature(settings, backup)
    url = direct_url(settings)
    kind, left = asyncio.run(_look(url))
    with _staged_key(settings, backup) as words:
        load_dump(url, kind, backup, in_place_of=left)
    applied = asyncio.run(bring_up_to_date(url))
    rows = backup.manifest.rows
    return Restored(
        file=backup.path,
        version=backup.manifest.version,
        rows=sum(rows.values()),
        tables=len(rows),
        applied=applied,
        secret_key=words,
        signed=signed,
    )


async def _look(url: str) -> tuple[ServerKind, tuple[DatabaseObject, ...]]:
    """Refuse a database that holds data or is in use, and return what a start without any use has created in it."""
    connection = await connect(url)
    try:
        found = await read_inventory(connection)
        await _check_unused(connection, found.ours)
        if found.others:
            raise StartupError(
                f"The database contains objects that Openslot does not recognize ({_name(found.others)}). {ELSEWHERE}"
            )
        others = await store.count_others(connection)
        if others:
            raise StartupError(
                f"The database is in use ({others} other connection{'s' if others > 1 else ''}). "
                "Stop openslot first. Nothing was changed."
            )
        return await server_kind(connection), found.ours
    finally:
        await connection.close()


def _name(things: tuple[DatabaseObject, ...]) -> str:
    named = ", ".join(map(str, sorted(things, key=lambda thing: thing.kind != "table")[:MAX_NAMED]))
    return named if len(things) <= MAX_NAMED else f"{named} and {len(things) - MAX_NAMED} more"


async def _check_unused(connection: asyncpg.Connection, ours: tuple[DatabaseObject, ...]) -> None:
    tables = {thing.name for thing in ours if thing.kind == "table"}
    for table in TRACES:
        rows = await store.count_rows(connection, table) if table in tables else 0
        if rows and table == "users":
            raise StartupError(f"The database already has {rows} account{'s' if rows > 1 else ''}. {ELSEWHERE}")
        if rows:
            raise StartupError(f"The database already has {rows} row{'s' if rows > 1 else ''} in {table}. {ELSEWHERE}")


@contextmanager
def _staged_key(settings: Settings, backup: Backup) -> Iterator[str]:
    """Put the backup's keys in front of the current ones; they are written once the database is restored."""
    if settings.secret_key is not None:
        fits = is_signed(backup.manifest, load_secrets(settings.secret_key, settings.data_dir).keys)
        yield "set by OPENSLOT_SECRET_KEY" + (
            "; no file was written"
            if fits
            else ", which did not seal this backup: add the old key behind it, or Openslot can't start with it"
        )
        return
    if backup.secret_key is None:
        yield "not in this backup: set OPENSLOT_SECRET_KEY to the one of the old installation"
        return
    path = settings.data_dir / KEY_FILE
    brought = backup.secret_key.split()
    with changing_keys(path, lambda here: list(dict.fromkeys([*brought, *here]))):
        yield f"restored to {path}"
