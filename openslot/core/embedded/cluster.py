"""The cluster: the directory where the embedded server keeps its data, created completely or not at all."""

import os
import shutil
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

from openslot.core.embedded.root import VERSION, unprivileged
from openslot.core.errors import StartupError

DATABASE = "openslot"
PORT = "5432"
LONGEST_SOCKET_PATH = 100


def pgdata(data_dir: Path) -> Path:
    """Return where the cluster of a data directory is."""
    return data_dir.resolve() / "postgres"


def has_cluster(data_dir: Path) -> bool:
    """Return whether this data directory has an embedded database."""
    return (pgdata(data_dir) / "PG_VERSION").exists()


def prepare(data_dir: Path) -> Path:
    """Create the directory of a cluster, or raise a `StartupError` if it can't be used."""
    directory = pgdata(data_dir)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        os.chmod(directory, 0o700)
        probe = data_dir / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as fault:
        raise StartupError(f"The data directory {data_dir} can't be written: {fault.strerror}.") from None
    version = directory / "PG_VERSION"
    if version.exists() and version.read_text().strip() != str(VERSION):
        raise StartupError(
            f"The data directory {data_dir} was created by PostgreSQL {version.read_text().strip()}; "
            f"this version of Openslot includes {VERSION}. Restore a backup into an empty directory."
        )
    return directory


def initialise(directory: Path) -> None:
    """Create a cluster in a temporary place and move it when it is complete: a kill never leaves it half made."""
    if (directory / "PG_VERSION").exists():
        return
    fresh = directory.with_name("postgres.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    command = ["initdb", "-D", str(fresh), "-U", "postgres", "--auth=trust", "--encoding=UTF8", *locale]
    _run(fresh, [*command, "--no-instructions"])
    _run(fresh, ["postgres", "--single", "-D", str(fresh), "postgres"], text=f"create database {DATABASE}\n")
    fresh.replace(directory)


def _run(directory: Path, command: list[str], text: str = "") -> None:
    full, extra = unprivileged(directory, command)
    done = subprocess.run(  # noqa: S603 - our own program with our own arguments
        full, input=text, capture_output=True, text=True, check=False, cwd="/", **extra
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason was given."]
        raise StartupError(f"The database can't be created in {directory.parent}: {lines[-1].strip()}")


def socket_directory(directory: Path) -> Path:
    """Return where the server listens: next to its data, or in a shorter path if that one is too long."""
    if len(os.fsencode(directory)) <= LONGEST_SOCKET_PATH - len(f"/.s.PGSQL.{PORT}"):
        return directory
    owner = directory.stat().st_uid
    name = f"openslot-{owner}-{sha256(os.fsencode(directory)).hexdigest()[:16]}"
    short = Path(tempfile.gettempdir()) / name
    try:
        short.mkdir(mode=0o700)
        os.chown(short, owner, -1)
    except FileExistsError:
        if short.is_symlink() or short.stat().st_uid != owner:
            raise StartupError(f"The socket directory {short} belongs to another user.") from None
    return short
