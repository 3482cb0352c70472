"""A backup is one tar file: a manifest, the secret key and PostgreSQL's own dump."""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from openslot.platform.core.errors import StartupError
from openslot.platform.core.outages import reason
from openslot.platform.core.progress import Advance, progress

FORMAT = 2
MANIFEST, KEY, DUMP = "manifest.json", "secret.key", "database.dump"
LARGEST_MANIFEST = 10_000_000
CHUNK = 1 << 20


class Manifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """The description inside a backup, which a restore is checked against.

    All of it is signed as it is written here: a new field needs a new format.
    """

    format: int
    version: str
    created_at: datetime
    migrations: dict[str, str]
    rows: dict[str, int]
    has_secret_key: bool
    key_proof: str
    checksums: dict[str, str]


class Backup(Struct, frozen=True, kw_only=True):
    """A backup that was read completely and found intact."""

    path: Path
    manifest: Manifest
    secret_key: str | None


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that only its owner can read and that appears complete or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_archive(path: Path, manifest: Manifest, *, dump: IO[bytes], secret_key: str | None) -> None:
    """Write the parts into one file; the dump is read from its beginning."""
    size = dump.seek(0, os.SEEK_END)
    dump.seek(0)
    with (
        progress("Writing the backup", size) as advance,
        private_file(path) as file,
        tarfile.open(fileobj=file, mode="w") as tar,
    ):
        _add(tar, MANIFEST, io.BytesIO(msgspec.json.format(msgspec.json.encode(manifest))), manifest.created_at)
        if secret_key is not None:
            _add(tar, KEY, io.BytesIO(secret_key.encode()), manifest.created_at)
        _add(tar, DUMP, dump, manifest.created_at)
        advance(size)


def read_backup(path: Path) -> Backup:
    """Read and check a whole backup; raise a `StartupError` if anything is wrong with it."""
    manifest = read_manifest(path)
    with _opened(path) as tar, progress("Checking the backup", path.stat().st_size) as advance:
        found = {name: _checksum(_member(tar, path, name), advance) for name in manifest.checksums}
        if found != manifest.checksums or DUMP not in found:
            raise StartupError(f"{path} is damaged: its contents are not what was backed up. Nothing was changed.")
        key = _member(tar, path, KEY).read().decode() if manifest.has_secret_key else None
    return Backup(path=path, manifest=manifest, secret_key=key)


def read_manifest(path: Path) -> Manifest:
    with _opened(path) as tar:
        text = _member(tar, path, MANIFEST).read(LARGEST_MANIFEST)
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError:
        raise StartupError(f"{path} is not a backup of Openslot. Nothing was changed.") from None
    if manifest.format > FORMAT:
        raise StartupError(f"{path} was created by Openslot {manifest.version}, which is newer. Upgrade first.")
    return manifest


@contextmanager
def opened_dump(path: Path) -> Iterator[IO[bytes]]:
    with _opened(path) as tar:
        yield _member(tar, path, DUMP)


def checksum_of(file: IO[bytes]) -> str:
    file.seek(0)
    return _checksum(file, lambda _: None)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, mode="r:") as tar:
            yield tar
    except FileNotFoundError:
        raise StartupError(f"There is no file {path}.") from None
    except (tarfile.TarError, EOFError, UnicodeDecodeError):
        raise StartupError(f"{path} is not a backup of Openslot, or it is damaged. Nothing was changed.") from None
    except OSError as fault:
        raise StartupError(f"{path} can't be read: {fault.strerror or reason(fault)}. Nothing was changed.") from None


def _member(tar: tarfile.TarFile, path: Path, name: str) -> IO[bytes]:
    try:
        member = tar.extractfile(name)
    except KeyError:
        member = None
    if member is None:
        raise StartupError(f"{path} is not a backup of Openslot: it has no {name}. Nothing was changed.")
    return member


def _checksum(file: IO[bytes], advance: Advance) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
        advance(len(chunk))
    return digest.hexdigest()


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], at: datetime) -> None:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = 0o600, int(at.timestamp())
    info.size = content.seek(0, os.SEEK_END)
    content.seek(0)
    tar.addfile(info, content)
