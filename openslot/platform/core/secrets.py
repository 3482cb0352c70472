"""Secrets: encrypted at rest with the secret key, whose file is changed by one command at a time."""

import base64
import fcntl
import os
import re
import secrets as random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import derive

KEY_FILE = "secret.key"

SHORTEST = 32
RESTORE = "Restore it from a backup. Only for a new installation: remove it, and the next start creates one."
ACCESS = "Make sure that the user who runs Openslot can read and write it and its directory."

# What a killed command may have left next to the file.
LEFTOVER = re.compile(r"\.\d+\.[0-9a-f]{8}")


def new_key() -> str:
    return random.token_urlsafe(48)


def read_key_file(path: Path) -> list[str]:
    """Read one key per line, newest first; create the file if there is none, once even if two processes start."""
    try:
        if not path.exists():
            _create(path)
    except OSError as fault:
        raise _unusable(path, f"it can't be created ({fault.strerror})", ACCESS) from None
    return read_keys(path)


def read_keys(path: Path) -> list[str]:
    """Read the keys of an existing file, or raise a `StartupError` that says what is wrong with it."""
    try:
        text = path.read_text("utf-8")
    except IsADirectoryError:
        raise _unusable(path, "it is a directory", RESTORE) from None
    except OSError as fault:
        raise _unusable(path, f"it can't be read ({fault.strerror})", ACCESS) from None
    except UnicodeDecodeError:
        raise _unusable(path, "it is not UTF-8 text", RESTORE) from None
    keys = [line.strip() for line in text.splitlines() if line.strip()]
    if not keys:
        raise _unusable(path, "it is empty", RESTORE)
    if not are_strong(keys):
        raise _unusable(path, f"each key, one per line, needs {SHORTEST} characters or more", RESTORE)
    return keys


def are_strong(keys: Sequence[str]) -> bool:
    """Return whether there is a key and none of them can be guessed."""
    return bool(keys) and all(len(key) >= SHORTEST for key in keys)


def _unusable(path: Path, fault: str, fix: str) -> StartupError:
    return StartupError(f"The secret key in {path} can't be used: {fault}. {fix}")


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = _write_beside(path, [new_key()])
    try:
        # The file exists if a leftover was cleaned up or another process was faster.
        with suppress(FileExistsError, FileNotFoundError):
            os.link(fresh, path)
            _sync_directory(path.parent)
    finally:
        fresh.unlink(missing_ok=True)


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


class Secrets:
    """The secret keys of one installation: the first is the newest, and each opens what it has sealed."""

    def __init__(self, keys: tuple[str, ...], *, file: Path | None = None) -> None:
        if not are_strong(keys):
            raise StartupError(f"OPENSLOT_SECRET_KEY is wrong: each key needs {SHORTEST} characters or more.")
        self._file = file
        self._use(keys)

    def _use(self, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(derive(key, "seal"))) for key in keys])

    def seal(self, secret: str) -> bytes:
        """Encrypt a secret with the newest key; values for the database are sealed by `core.sealing.seal`."""
        return self._fernet.encrypt(secret.encode())

    def open(self, sealed: bytes) -> str:
        """Decrypt what any of our keys has sealed, including a key that was added to the file since."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken:
            if self.reload():
                return self.open(sealed)
            raise SealBroken from None

    def reseal(self, sealed: bytes) -> bytes:
        """Seal a value again with the newest key, or return it unchanged if that key has sealed it."""
        if self.newest().opens(sealed):
            return sealed
        return self.seal(self.open(sealed))

    def opens(self, sealed: bytes) -> bool:
        """Return whether one of the loaded keys has sealed this."""
        try:
            self._fernet.decrypt(sealed)
        except InvalidToken:
            return False
        return True

    def newest(self) -> "Secrets":
        return Secrets(self.keys[:1])

    def find(self, name: bytes) -> "Secrets | None":
        """Return only the key with this name, including one that was added to the file since."""
        for key in self.keys:
            if name_of(key) == name:
                return Secrets((key,))
        return self.find(name) if self.reload() else None

    def reload(self) -> bool:
        """Read the key file again; return True if its keys have changed."""
        if self._file is None:
            return False
        try:
            keys = tuple(read_keys(self._file))
        except StartupError:
            return False
        if keys == self.keys:
            return False
        self._use(keys)
        return True


class SealBroken(Exception):
    """None of the keys opens this: it was sealed with a key that no longer exists."""


def name_of(key: str) -> bytes:
    """Return a name for a key that reveals nothing about it."""
    return derive(key, "name")[:16]


def load_secrets(configured: str | None, data_dir: Path, *, is_first: bool = False) -> Secrets:
    """Load the keys from the setting or from the data directory, where only a first start creates one."""
    if configured is not None:
        return Secrets(tuple(key.strip() for key in configured.split(",") if key.strip()))
    path = data_dir / KEY_FILE
    if not is_first and not path.exists():
        raise StartupError(
            f"The secret key is missing: there is no {path}. Copy secret.key from the data directory of the machine "
            "that uses this database or used it last, or set OPENSLOT_SECRET_KEY as it is set there. A backup has the "
            f"file too: tar xf BACKUP -C {data_dir} {KEY_FILE}"
        )
    return Secrets(tuple(read_key_file(path)), file=path)


NONCE_BYTES = 12


class Cipher:
    """Encryption keys: the first one encrypts, and each of them can decrypt.

    These are the data keys. They outlive the secret key, so what they have encrypted stays valid when that is retired.
    """

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys

    def seal(self, purpose: str, content: bytes, *, owner: bytes) -> bytes:
        """Encrypt a value of one owner, such as a row's id; only the same purpose and owner can decrypt it."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + _cipher(self._keys[0], purpose).encrypt(nonce, content, owner)

    def open(self, purpose: str, sealed: bytes, *, owner: bytes) -> bytes:
        """Decrypt what any of the keys has encrypted for this purpose and owner."""
        nonce, encrypted = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        for key in self._keys:
            try:
                return _cipher(key, purpose).decrypt(nonce, encrypted, owner)
            except (InvalidTag, ValueError):
                continue
        raise SealBroken


def _cipher(key: str, purpose: str) -> AESGCM:
    return AESGCM(derive(key, f"keep {purpose}"))
