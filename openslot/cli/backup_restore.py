"""Bring a backup back into an empty place: everything, checked against its manifest, or nothing."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from openslot.cli.backup_archive import DUMP, Backup
from openslot.cli.backup_create import PROOF
from openslot.cli.backup_pour import pour
from openslot.cli.backup_programs import ServerKind, server_kind
from openslot.cli.database import bring_up_to_date, connect, direct_url
from openslot.core.config import Settings
from openslot.core.errors import StartupError
from openslot.core.key_file import KEY_FILE, changing_keys
from openslot.core.migrate import checksum, known_migrations
from openslot.core.secrets import load_secrets
from openslot.core.signing import Signer

TABLES = """
select count(*) as tables,
       to_regclass('public.migrations') is not null and to_regclass('public.users') is not null as ours
from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"""
OTHERS = """
select count(*) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
  and coalesce(backend_type, 'client backend') = 'client backend'"""


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
        pour(url, kind, backup)
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
        keys = load_secrets(settings.secret_key, settings.data_dir).keys
        fits = Signer(keys).is_signed(PROOF, dump, proof)
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
