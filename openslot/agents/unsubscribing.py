"""Unsubscribing from marketing mail by a link that needs no sign-in."""

import base64
import binascii
from uuid import UUID

from openslot.agents import email_store as store
from openslot.agents.events import MarketingOptedOut
from openslot.core.errors import NotFound
from openslot.core.work import Runtime, Work

PURPOSE = "unsubscribe"
SIGNATURE_BYTES = 16


def unsubscribe_url(runtime: Runtime, recipient_id: UUID) -> str:
    """Write the link of one recipient; it never expires."""
    return f"{runtime.settings.public_url}/unsubscribe/{unsubscribe_token(runtime, recipient_id)}"


def unsubscribe_token(runtime: Runtime, recipient_id: UUID) -> str:
    """Sign a recipient's id; the token does not reveal the address."""
    signature = runtime.signer.sign(PURPOSE, recipient_id.bytes)[:SIGNATURE_BYTES]
    return _write(recipient_id.bytes + signature)


async def get_recipient(work: Work, token: str) -> tuple[UUID, bool]:
    """Read whose link it is, and whether that recipient has unsubscribed."""
    recipient_id = _read(work.runtime, token)
    row = await store.find_marketing_recipient(work.db, recipient_id)
    if row is None:
        raise NotFound
    return recipient_id, row["opted_out_at"] is not None


async def unsubscribe(work: Work, token: str) -> None:
    """Send no more marketing mail to the recipient; doing it again changes nothing."""
    recipient_id, _ = await get_recipient(work, token)
    if await store.opt_out(work.db, recipient_id, now=work.now):
        await work.record(MarketingOptedOut(recipient_id=recipient_id))


def _read(runtime: Runtime, token: str) -> UUID:
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise NotFound from None
    # Only the spelling that we give it: the decoder accepts others too.
    if len(raw) != 16 + SIGNATURE_BYTES or _write(raw) != token:
        raise NotFound
    recipient_id = UUID(bytes=raw[:16])
    if not runtime.signer.is_signed(PURPOSE, recipient_id.bytes, raw[16:], length=SIGNATURE_BYTES):
        raise NotFound
    return recipient_id


def _write(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
