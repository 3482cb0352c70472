"""Secrets: sealed at rest, signed on their way out, and random where they are made."""

import base64
import hashlib
import hmac
import secrets as random
from functools import lru_cache
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from openslot.core.errors import StartupError
from openslot.core.key_file import KEY_FILE, read_key_file

SHORTEST = 32


class Secrets:
    """Keys of one installation: the first one seals and signs, every one opens and verifies."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        if not keys or any(len(key) < SHORTEST for key in keys):
            raise StartupError(f"OPENSLOT_SECRET_KEY is wrong: each key needs {SHORTEST} characters or more.")
        self._keys = keys
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(derive(key, "seal"))) for key in keys])

    def seal(self, secret: str) -> bytes:
        """Encrypt a secret for the database."""
        return self._fernet.encrypt(secret.encode())

    def open(self, sealed: bytes) -> str:
        """Decrypt what any of our keys has sealed."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken:
            raise SealBroken from None

    def reseal(self, sealed: bytes) -> bytes:
        """Seal again with the newest key, for a rotation."""
        try:
            return self._fernet.rotate(sealed)
        except InvalidToken:
            raise SealBroken from None

    def sign(self, purpose: str, message: bytes) -> bytes:
        """Make a signature for one purpose with the newest key."""
        return _sign(self._keys[0], purpose, message)

    def is_signed(self, purpose: str, message: bytes, signature: bytes, *, length: int = 32) -> bool:
        """Tell whether one of our keys made this signature, or its beginning of some length, for this purpose."""
        made = (_sign(key, purpose, message)[:length] for key in self._keys)
        return any(hmac.compare_digest(signature, one) for one in made)


class SealBroken(Exception):  # noqa: N818 - names the state of the thing
    """None of the keys opens this: it was sealed by a key that is gone."""


@lru_cache(maxsize=256)
def derive(key: str, purpose: str) -> bytes:
    """Make an independent 32-byte key for one purpose."""
    return HKDF(algorithm=SHA256(), length=32, salt=b"openslot", info=purpose.encode()).derive(key.encode())


@lru_cache(maxsize=256)
def _begin_signing(key: str, purpose: str) -> hmac.HMAC:
    return hmac.new(derive(key, f"sign {purpose}"), digestmod="sha256")


def _sign(key: str, purpose: str, message: bytes) -> bytes:
    # A list signs a link a row: to go on from a copy saves hashing the key each time.
    signature = _begin_signing(key, purpose).copy()
    signature.update(message)
    return signature.digest()


def fingerprint(token: str) -> bytes:
    """Hash a random credential for look-up; it has entropy enough to need no salt."""
    return hashlib.sha256(token.encode()).digest()


def new_token() -> str:
    """Make an unguessable string for links and sessions."""
    return random.token_urlsafe(32)


def load_secrets(configured: str | None, data_dir: Path) -> Secrets:
    """Take the keys from the setting, or from the data directory, where the first start makes one."""
    if configured is not None:
        return Secrets(tuple(key.strip() for key in configured.split(",") if key.strip()))
    return Secrets(tuple(read_key_file(data_dir / KEY_FILE)))
