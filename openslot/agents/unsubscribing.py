"""Unsubscribing from marketing mail by a link that needs no sign-in."""

from uuid import UUID

from openslot.agents import email_store as store
from openslot.agents.events import MarketingOptedOut
from openslot.core.errors import NotFound
from openslot.core.signing import find_signed_id, sign_id
from openslot.core.work import Runtime, Work

PURPOSE = "unsubscribe"


def unsubscribe_url(runtime: Runtime, recipient_id: UUID) -> str:
    """Write the link of one recipient; it never expires."""
    return f"{runtime.settings.public_url}/unsubscribe/{unsubscribe_token(runtime, recipient_id)}"


def unsubscribe_token(runtime: Runtime, recipient_id: UUID) -> str:
    """Sign a recipient's id; the token does not reveal the address."""
    return sign_id(runtime.signer, PURPOSE, recipient_id)


async def get_recipient(work: Work, token: str) -> tuple[UUID, bool]:
    """Read whose link it is, and whether that recipient has unsubscribed."""
    recipient_id = find_signed_id(work.runtime.signer, PURPOSE, token)
    if recipient_id is None:
        raise NotFound
    row = await store.find_marketing_recipient(work.db, recipient_id)
    if row is None:
        raise NotFound
    return recipient_id, row["opted_out_at"] is not None


async def unsubscribe(work: Work, token: str) -> None:
    """Send no more marketing mail to the recipient; doing it again changes nothing."""
    recipient_id, _ = await get_recipient(work, token)
    if await store.opt_out(work.db, recipient_id, now=work.now):
        await work.record(MarketingOptedOut(recipient_id=recipient_id))
