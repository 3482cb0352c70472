"""A cipher for values that have to be stored verbatim and must not be readable in a copy of the database."""

import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from openslot.core.secrets import SealBroken, derive

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
