"""The file of the secret keys: one per line, newest first, changed by one command at a time."""

import fcntl
import os
import re
import secrets as random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openslot.core.errors import StartupError

KEY_FILE = "secret.key"

# What a killed command, of this version or an earlier one, may have left next to the file.
LEFTOVER = re.compile(r"\.(new|\d+\.[0-9a-f]{8})")


def new_key() -> str:
    """Make a key that nobody can guess."""
    return random.token_urlsafe(48)


def read_key_file(path: Path) -> list[str]:
    """Read one key per line, newest first; create the file if there is none, once even if two processes start."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = _write_beside(path, [new_key()])
        try:
            # The file exists if a leftover was cleaned up or another process was faster.
            with suppress(FileExistsError, FileNotFoundError):
                os.link(fresh, path)
                _sync_directory(path.parent)
        finally:
            fresh.unlink(missing_ok=True)
    return read_keys(path)


def read_keys(path: Path) -> list[str]:
    """Read the keys of an existing file."""
    return [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]


def rotate_key_file(path: Path) -> list[str]:
    """Add a new key in front of the others."""
    with changing_keys(path, lambda keys: [new_key(), *keys]) as keys:
        return keys


@contextmanager
def changing_keys(path: Path, change: Callable[[list[str]], list[str]]) -> Iterator[list[str]]:
    """Yield the changed keys; they are written, complete and on disk, once the `with` ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        _remove_leftovers(path)
        keys = change(read_keys(path) if path.exists() else [])
        fresh = _write_beside(path, keys)
        try:
            if path.exists():
                _keep_owner(fresh, path)
            yield keys
            fresh.replace(path)
            _sync_directory(path.parent)
        finally:
            fresh.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.with_name(f"{path.name}.lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StartupError(
                f"Another command is changing {path} right now; try again when it has finished."
            ) from None
        yield


def _remove_leftovers(path: Path) -> None:
    for beside in path.parent.iterdir():
        if beside.name.startswith(path.name) and LEFTOVER.fullmatch(beside.name.removeprefix(path.name)):
            beside.unlink(missing_ok=True)


def _write_beside(path: Path, keys: list[str]) -> Path:
    """Write keys into a file that only its owner can read, and sync it to disk."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{random.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("".join(f"{key}\n" for key in keys))
        file.flush()
        os.fsync(file.fileno())
    return fresh


def _keep_owner(fresh: Path, path: Path) -> None:
    """Keep the file's owner, even when root changes it: the service has to read it."""
    before, now = path.stat(), fresh.stat()
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        os.chown(fresh, before.st_uid, before.st_gid)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
