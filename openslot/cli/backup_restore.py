"""Bring a backup back into an empty place: everything, checked against its manifest, or nothing."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from openslot.cli.backup_archive import DUMP, Backup, opened_dump, private_file
from openslot.cli.backup_create import PROOF
from openslot.cli.backup_programs import ServerKind, address, get_program, server_kind
from openslot.cli.database import bring_up_to_date, connect, direct_url
from openslot.cli.progress import progress
from openslot.core.config import Settings
from openslot.core.errors import StartupError
from openslot.core.migrate import LOCK, checksum, known_migrations
from openslot.core.secrets import KEY_FILE, load_secrets

CHUNK = 1 << 20
# Servers before 17 don't know this setting, and pg_restore sends it to all of them.
UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;\n"

TABLES = """
select count(*) as tables, to_regclass('public.migrations') is not null and to_regclass('public.users') is not null as ours
from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"""
OTHERS = """
select count(*) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
  and coalesce(backend_type, 'client backend') = 'client backend'"""

# Tables without a single account in them are from a start that nobody used; they make room.
MAKE_ROOM = """
do $$ declare command text;
begin
  for command in
    select 'drop table if exists ' || string_agg(format('public.%I', relname), ', ') || ' cascade' from pg_class c
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    union all
    select string_agg(format('drop routine if exists public.%I(%s) cascade', proname,
        pg_get_function_identity_arguments(oid)), '; ') from pg_proc p
      where pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    union all
    select string_agg(format('drop type if exists public.%I cascade', typname), '; ') from pg_type t
      where typnamespace = 'public'::regnamespace and typtype in ('e', 'd')
        and not exists (select from pg_depend d where d.objid = t.oid and d.deptype = 'e')
  loop
    if command is not null then execute command; end if;
  end loop;
end $$;
"""


class Restored(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a restore brought back, and what the operator has to know about the secret key."""

    file: Path
    version: str
    rows: int
    tables: int
    applied: list[str]
    secret_key: str


def check_known(backup: Backup) -> None:
    """Refuse a backup that a newer version has made, or another history."""
    known = known_migrations()
    for name, seal in sorted(backup.manifest.migrations.items()):
        if name not in known:
            raise StartupError(
                f"The backup was made by Openslot {backup.manifest.version}, which is newer: it knows {name}. "
                "Upgrade first. Nothing was changed."
            )
        if checksum(known[name]) != seal:
            raise StartupError(f"The migration {name} is another one in the backup. Nothing was changed.")


def restore_backup(settings: Settings, backup: Backup) -> Restored:
    """Restore into an empty database and keep the secret key beside it."""
    url = direct_url(settings)
    kind = asyncio.run(_look(url))
    with _staged_key(settings, backup) as words:
        _pour(url, kind, backup)
    applied = asyncio.run(bring_up_to_date(url))
    rows = backup.manifest.rows
    return Restored(
        file=backup.path,
        version=backup.manifest.version,
        rows=sum(rows.values()),
        tables=len(rows),
        applied=applied,
        secret_key=words,
    )


async def _look(url: str) -> ServerKind:
    """Refuse a place where somebody lives or works."""
    connection = await connect(url)
    try:
        place = await connection.fetchrow(TABLES)
        if place["ours"]:
            users = await connection.fetchval("select count(*) from public.users")
            if users:
                raise StartupError(
                    f"The database has {users} account{'s' if users > 1 else ''} already. Restore into an empty data "
                    "directory (--data-dir) or an empty database (--database-url). Nothing was changed."
                )
        elif place["tables"]:
            raise StartupError(
                "The database holds tables that are not Openslot's. Name an empty one (--database-url). "
                "Nothing was changed."
            )
        others = await connection.fetchval(OTHERS)
        if others:
            raise StartupError(
                f"The database is in use ({others} other connection{'s' if others > 1 else ''}). "
                "Stop openslot first. Nothing was changed."
            )
        return await server_kind(connection)
    finally:
        await connection.close()


@contextmanager
def _staged_key(settings: Settings, backup: Backup) -> Iterator[str]:
    """Keep the backup's keys in front of those that are here; they appear once the database is back."""
    if settings.secret_key is not None:
        proof, dump = bytes.fromhex(backup.manifest.key_proof), backup.manifest.checksums[DUMP].encode()
        fits = load_secrets(settings.secret_key, settings.data_dir).is_signed(PROOF, dump, proof)
        yield "set by OPENSLOT_SECRET_KEY" + (
            "; no file was written"
            if fits
            else ", which did not seal this backup: add the old key behind it, or what it sealed stays closed"
        )
        return
    if backup.secret_key is None:
        yield "not in this backup: set OPENSLOT_SECRET_KEY to the one of the old installation"
        return
    path = settings.data_dir / KEY_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    here = path.read_text("utf-8").split() if path.exists() else []
    keys = dict.fromkeys([*backup.secret_key.split(), *here])
    with private_file(path) as file:
        file.write("".join(f"{key}\n" for key in keys).encode())
        yield f"restored to {path}"


def _pour(url: str, kind: ServerKind, backup: Backup) -> None:
    """Run the dump, the room that it needs and the check of its rows as one transaction."""
    where = address(url)
    psql = [get_program("psql", kind), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={where.url}"]
    with tempfile.TemporaryFile() as faults:
        writing = subprocess.Popen(  # noqa: S603 - our own program with our own arguments
            psql, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=faults, env=where.environment
        )
        is_whole = False
        with suppress(BrokenPipeError), writing.stdin or suppress() as script:
            script.write(f"begin;\nselect pg_advisory_xact_lock({LOCK});\n{MAKE_ROOM}".encode())
            is_whole = _write_dump(script, kind, backup)
            script.write(f"{_counted(backup)}commit;\n".encode() if is_whole else b"rollback;\n")
        if writing.wait() != 0 or not is_whole:
            faults.seek(0)
            raise StartupError(f"The backup can't be restored: {_first_fault(faults)}. Nothing was changed.")


def _write_dump(script: IO[bytes], kind: ServerKind, backup: Backup) -> bool:
    """Write the dump as a script; False where PostgreSQL's own program can't read it to the end."""
    command = [get_program("pg_restore", kind), "--no-owner", "--no-privileges", "--file=-"]
    with opened_dump(backup.path) as dump, progress("Restoring", sum(backup.manifest.rows.values())) as advance:
        reading = subprocess.Popen(  # noqa: S603 - our own program with our own arguments
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        feeding = threading.Thread(target=_feed, args=(dump, reading.stdin), daemon=True)
        feeding.start()
        try:
            with reading.stdout or suppress() as lines:
                chunk = lines.read(CHUNK)
                chunk = chunk.replace(UNKNOWN_BEFORE_17, b"", 1) if kind.major < 17 else chunk
                while chunk:
                    script.write(chunk)
                    advance(chunk.count(b"\n"))
                    chunk = lines.read(CHUNK)
        finally:
            if reading.poll() is None and not reading.stdout:
                reading.kill()
            code = reading.wait()
            feeding.join()
    return code == 0


def _feed(dump: IO[bytes], to: IO[bytes]) -> None:
    with suppress(BrokenPipeError), to:
        shutil.copyfileobj(dump, to, CHUNK)


def _counted(backup: Backup) -> str:
    """Write the check that every table has its rows, inside the same transaction."""
    checks = "".join(
        f"if (select count(*) from public.{_quoted(table)}) <> {rows} then "
        f"raise exception 'the rows of % are not what was backed up', '{table.replace(chr(39), '')}'; end if;\n"
        for table, rows in backup.manifest.rows.items()
    )
    return f"do $check$ begin\n{checks}end $check$;\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _first_fault(faults: IO[bytes]) -> str:
    lines = faults.read().decode("utf-8", "replace").splitlines()
    found = [
        re.sub(r"^.*?(ERROR|FATAL|error):\s*", "", line) for line in lines if re.search("ERROR|FATAL|error:", line)
    ]
    return (found or lines or ["its dump is damaged"])[0].rstrip(".")
