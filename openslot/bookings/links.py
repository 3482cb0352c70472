"""Manage links: signed, so that anyone who has the link may change that one booking without signing in."""

import base64
import binascii
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from openslot.bookings.errors import BookingNotFound
from openslot.core.work import Runtime

PURPOSE = "manage link"
PAGE = "/manage/"
SIGNATURE_BYTES = 16
URL_SAFE = bytes.maketrans(b"+/", b"-_")


def manage_url(runtime: Runtime, booking_id: UUID) -> str:
    """Write the address of a booking's own page."""
    return list_manage_urls(runtime, [booking_id])[0]


def list_manage_urls(runtime: Runtime, booking_ids: Iterable[UUID]) -> list[str]:
    """Write the address of each booking's own page."""
    begin, sign = begin_manage_url(runtime.settings.public_url), runtime.signer.prepare(PURPOSE)
    named = (booking_id.bytes for booking_id in booking_ids)
    return [f"{begin}{_write(each + sign(each)[:SIGNATURE_BYTES])}" for each in named]


def begin_manage_url(base_url: str) -> str:
    """Write the part of a link that is not secret and the same for every booking."""
    return f"{base_url}{PAGE}"


def calendar_url(runtime: Runtime, booking_id: UUID) -> str:
    """Write the address of a booking's calendar file."""
    return f"{manage_url(runtime, booking_id)}/calendar.ics"


def booking_url(runtime: Runtime, booking_id: UUID) -> str:
    """Write the address of a booking's page in the dashboard, which asks the host to sign in."""
    return f"{runtime.settings.public_url}/bookings/{booking_id}"


def fill_manage_url(runtime: Runtime, booking_id: UUID, shown: bytes) -> bytes:
    """Write the token at the end of the link in the JSON that was kept of a booking; the rest stays as it is."""
    fields = msgspec.json.decode(shown, type=dict[str, Any])
    base_url, _, _ = fields["manageUrl"].rpartition(PAGE)
    return msgspec.json.encode({**fields, "manageUrl": begin_manage_url(base_url) + manage_token(runtime, booking_id)})


def manage_token(runtime: Runtime, booking_id: UUID) -> str:
    """Sign a booking's id."""
    return _write(booking_id.bytes + runtime.signer.sign(PURPOSE, booking_id.bytes)[:SIGNATURE_BYTES])


def read_manage_token(runtime: Runtime, token: str) -> UUID:
    """Read a booking's id from a token that we have signed, accepting only the spelling that we give it."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BookingNotFound from None
    # The decoder also accepts padding, `+` for `-`, and any of four letters at the end.
    if len(raw) != 16 + SIGNATURE_BYTES or _write(raw) != token:
        raise BookingNotFound
    booking_id = UUID(bytes=raw[:16])
    if not runtime.signer.is_signed(PURPOSE, booking_id.bytes, raw[16:], length=SIGNATURE_BYTES):
        raise BookingNotFound
    return booking_id


def _write(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).translate(URL_SAFE, b"=").decode()
