"""Ids with our signature, as links carry them: nobody can guess one, and each has one spelling."""

import base64
import binascii
from collections.abc import Iterable
from uuid import UUID

from openslot.core.signing import Signer

ID_BYTES = SIGNATURE_BYTES = 16
URL_SAFE = bytes.maketrans(b"+/", b"-_")


def sign_id(signer: Signer, purpose: str, named: UUID) -> str:
    """Write the token of an id, which is good for one purpose."""
    return sign_ids(signer, purpose, [named])[0]


def sign_ids(signer: Signer, purpose: str, named: Iterable[UUID]) -> list[str]:
    """Write the token of each id."""
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
