"""Known devices: a signed token for browsers that their owner has signed in with."""

import base64
from datetime import datetime, timedelta
from secrets import token_bytes
from uuid import UUID

from openslot.core.signing import Signer

DEVICE_LASTS = timedelta(days=365)
PURPOSE = "known device"
# Random bytes that name the device, the user, when it was made, and the signature.
NAME, USER, TIME, SIGNATURE = 16, 16, 8, 32
LENGTH = (NAME + USER + TIME + SIGNATURE) * 4 // 3


def new_device(signer: Signer, user_id: UUID, *, password_hash: str, now: datetime) -> str:
    """Make a token for a device; it becomes invalid when the user's password changes."""
    told = token_bytes(NAME) + user_id.bytes + int(now.timestamp()).to_bytes(TIME, "big")
    return base64.urlsafe_b64encode(told + signer.sign(PURPOSE, told + password_hash.encode())).decode()


def find_device(signer: Signer, token: str, user_id: UUID, *, password_hash: str, now: datetime) -> str | None:
    """Name the device whose token this is; None where it is not this user's, too old, or of an earlier password."""
    if len(token) != LENGTH:
        return None
    try:
        whole = base64.b64decode(token, altchars=b"-_", validate=True)
    except ValueError:
        return None
    # The decoder also accepts `+` for `-` and `/` for `_`, but a token must have only one spelling.
    if base64.urlsafe_b64encode(whole).decode() != token:
        return None
    told, signature = whole[:-SIGNATURE], whole[-SIGNATURE:]
    if not signer.is_signed(PURPOSE, told + password_hash.encode(), signature):
        return None
    name, user, made_at = told[:NAME], told[NAME : NAME + USER], int.from_bytes(told[NAME + USER :], "big")
    is_fresh = now.timestamp() < made_at + DEVICE_LASTS.total_seconds()
    return name.hex() if user == user_id.bytes and is_fresh else None
