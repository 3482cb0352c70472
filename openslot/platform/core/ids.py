"""Ids that sort by time, tokens that nobody can guess, and signatures that prove that a link is ours."""

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from openslot.platform.core.errors import NotFound, Refusal

# `UUID()` also accepts braces, `urn:uuid:`, missing hyphens and underscores: one resource would have many URLs.
SHAPE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def new_id() -> UUID:
    """Make an id from the time, to a 4096th of a millisecond, and 62 random bits."""
    return UUID(int=_new_value())


def new_id_text() -> str:
    """Make an id as text, several times faster than making a UUID and formatting it."""
    digits = f"{_new_value():032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _new_value() -> int:
    """Make the number of an id as RFC 9562 lays it out (section 6.2, method 3).

    Ids that are made after each other sort so, also within one millisecond: what is listed by id is in order.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    random = int.from_bytes(os.urandom(8)) >> 2
    return milliseconds << 80 | 0x7 << 76 | (rest << 12) // 1_000_000 << 64 | 0x2 << 62 | random


def parse_id(text: str, refusal: type[Refusal] = NotFound) -> UUID:
    """Parse an id; refuse what is none like an id that nothing has."""
    if SHAPE.fullmatch(text) is None:
        raise refusal
    return UUID(text)


def fingerprint(token: str) -> bytes:
    """Hash a random credential for look-up; it has enough entropy to need no salt."""
    return hashlib.sha256(token.encode()).digest()


def new_token() -> str:
    """Make an unguessable string for links and sessions."""
    return secrets.token_urlsafe(32)


def derive(key: str, purpose: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=b"openslot", info=purpose.encode()).derive(key.encode())


Sign = Callable[[bytes], bytes]


class Signer:
    """Signing keys: the first one signs, and each of them can verify."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys

    def sign(self, purpose: str, message: bytes) -> bytes:
        """Make a signature for one purpose with the first key."""
        return self.prepare(purpose)(message)

    def prepare(self, purpose: str) -> Sign:
        """Return the function that signs for one purpose with the first key; for those who sign a lot."""
        return _prepare(self._keys[0], purpose)

    def is_signed(self, purpose: str, message: bytes, signature: bytes, *, length: int = 32) -> bool:
        """Return whether one of our keys made this signature, or its first `length` bytes, for this purpose."""
        made = (_prepare(key, purpose)(message)[:length] for key in self._keys)
        return any(hmac.compare_digest(signature, one) for one in made)

    def write_token(self, purpose: str, named: UUID) -> str:
        """Derive the token of a link, the same each time, so that only its hash needs to be stored."""
        return base64.urlsafe_b64encode(self.sign(purpose, named.bytes)).decode().rstrip("=")


# benchmarks/caches.py: sign a link, 3.8 times
@lru_cache(maxsize=256)
def _prepare(key: str, purpose: str) -> Sign:
    # The key is hashed once: a list signs a link for each of its rows.
    keyed = hmac.new(derive(key, f"sign {purpose}"), digestmod=hashlib.sha256)

    def sign(message: bytes) -> bytes:
        made = keyed.copy()
        made.update(message)
        return made.digest()

    return sign


ID_BYTES = SIGNATURE_BYTES = 16
URL_SAFE = bytes.maketrans(b"+/", b"-_")


def sign_id(signer: Signer, purpose: str, named: UUID) -> str:
    """Write the token of an id, which is good for one purpose."""
    return sign_ids(signer, purpose, [named])[0]


def sign_ids(signer: Signer, purpose: str, named: Iterable[UUID]) -> list[str]:
    sign = signer.prepare(purpose)
    return [_write(each + sign(each)[:SIGNATURE_BYTES]) for each in (one.bytes for one in named)]


def find_signed_id(signer: Signer, purpose: str, token: str) -> UUID | None:
    """Read the id of a token that we have signed, accepting only the spelling that we give it."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    # The decoder also accepts padding, `+` for `-`, and any of four letters at the end.
    if len(raw) != ID_BYTES + SIGNATURE_BYTES or _write(raw) != token:
        return None
    named, signature = raw[:ID_BYTES], raw[ID_BYTES:]
    is_ours = signer.is_signed(purpose, named, signature, length=SIGNATURE_BYTES)
    return UUID(bytes=named) if is_ours else None


def _write(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).translate(URL_SAFE, b"=").decode()
