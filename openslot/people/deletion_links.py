"""Links by mail that prove who deletes an account that has no password."""

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.work import Runtime, Work

LINK_LASTS = timedelta(hours=1)
SEND_LINK = "mail.confirm_deletion"
PURPOSE = "delete account"
PATH = "/settings/data/delete"
TIME_BYTES = 8


class DeletionLinkRequested(Struct, frozen=True, kw_only=True):
    """Whose account is to be deleted."""

    user_id: UUID


async def request_link(work: Work, user: User) -> None:
    """Plan the mail with the link; two requests that wait at the same time are one."""
    requested = DeletionLinkRequested(user_id=user.id)
    await work.plan(SEND_LINK, str(user.id), due_at=work.now, payload=requested, tenant_id=user.id)


def write_link(runtime: Runtime, user: User, *, expires_at: datetime) -> str:
    """Write the address of the page that deletes the account; the user who opens it must be signed in as well."""
    time = int(expires_at.timestamp()).to_bytes(TIME_BYTES)
    signed = time + runtime.signer.sign(PURPOSE, _message(user, time))
    return f"{runtime.settings.public_url}{PATH}/{base64.urlsafe_b64encode(signed).decode().rstrip('=')}"


def is_proof(runtime: Runtime, user: User, token: str, *, now: datetime) -> bool:
    """Return whether a token was sent to the address that the user has, not long ago."""
    try:
        signed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return False
    time, signature = signed[:TIME_BYTES], signed[TIME_BYTES:]
    if not runtime.signer.is_signed(PURPOSE, _message(user, time), signature):
        return False
    return datetime.fromtimestamp(int.from_bytes(time), tz=UTC) > now


def _message(user: User, time: bytes) -> bytes:
    return user.id.bytes + time + user.email.lower().encode()
