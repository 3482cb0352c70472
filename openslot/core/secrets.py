"""Secrets: encrypted at rest with the secret key, and random where they are generated."""

import base64
import os
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from openslot.core.errors import StartupError
from openslot.core.ids import derive
from openslot.core.key_file import KEY_FILE, SHORTEST, are_strong, read_key_file, read_keys


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
        """Return only the newest key."""
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


def load_secrets(configured: str | None, data_dir: Path) -> Secrets:
    """Load the keys from the setting or from the data directory, where the first start creates one."""
    if configured is not None:
        return Secrets(tuple(key.strip() for key in configured.split(",") if key.strip()))
    path = data_dir / KEY_FILE
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


@lru_cache(maxsize=256)
def _cipher(key: str, purpose: str) -> AESGCM:
    return AESGCM(derive(key, f"keep {purpose}"))
