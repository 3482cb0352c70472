"""Load a dump into a database in one transaction, which also drops what is in the way and checks the row counts."""

import re
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress
from typing import IO, cast

from openslot.backups.archive import CHUNK, Backup, opened_dump
from openslot.backups.programs import ServerKind, address, get_newest, get_program
from openslot.backups.store import write_beginning, write_end
from openslot.core.errors import StartupError
from openslot.core.inventory import DatabaseObject
from openslot.core.progress import progress

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
    told = [re.split(r"(?:ERROR|FATAL|error):\s*", line)[-1] for line in lines if re.search("ERROR|FATAL|error:", line)]
    return (told or lines or ["its dump is damaged"])[0].rstrip(".")
