"""Signatures that prove that a link is ours."""

import base64
import hmac
from functools import lru_cache
from uuid import UUID

from openslot.core.secrets import derive


class Signer:
    """Signing keys: the first one signs, and each of them can verify."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys

    def sign(self, purpose: str, message: bytes) -> bytes:
        """Make a signature for one purpose with the first key."""
        return _sign(self._keys[0], purpose, message)

    def is_signed(self, purpose: str, message: bytes, signature: bytes, *, length: int = 32) -> bool:
        """Return whether one of our keys made this signature, or its first `length` bytes, for this purpose."""
        made = (_sign(key, purpose, message)[:length] for key in self._keys)
        return any(hmac.compare_digest(signature, one) for one in made)

    def write_token(self, purpose: str, named: UUID) -> str:
        """Derive the token of a link, the same each time, so that only its hash needs to be stored."""
        return base64.urlsafe_b64encode(self.sign(purpose, named.bytes)).decode().rstrip("=")


@lru_cache(maxsize=256)
def _begin_signing(key: str, purpose: str) -> hmac.HMAC:
    return hmac.new(derive(key, f"sign {purpose}"), digestmod="sha256")


def _sign(key: str, purpose: str, message: bytes) -> bytes:
    # A list signs one link per row; copying the state saves hashing the key each time.
    signature = _begin_signing(key, purpose).copy()
    signature.update(message)
    return signature.digest()
