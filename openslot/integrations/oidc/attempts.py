"""Sign-ins that are under way: only the browser that has begun one can finish it."""

import base64
import hmac
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from openslot.core.secrets import Cipher, SealBroken, new_token
from openslot.integrations.oidc.errors import OidcMismatch
from openslot.integrations.oidc.models import OidcAttempt

ATTEMPT_LASTS = timedelta(minutes=10)
PURPOSE, OWNER = "oidc sign-in", b"browser"


def new_attempt(wanted: str, *, connects: UUID | None, now: datetime) -> OidcAttempt:
    """Begin a sign-in, with secrets that nobody can guess."""
    return OidcAttempt(
        state=new_token(),
        nonce=new_token(),
        verifier=new_token(),
        wanted=wanted,
        expires_at=now + ATTEMPT_LASTS,
        connects=connects,
    )


def seal_attempt(cipher: Cipher, attempt: OidcAttempt) -> str:
    """Write an attempt for a cookie, so that the browser can neither read nor change it."""
    sealed = cipher.seal(PURPOSE, msgspec.json.encode(attempt), owner=OWNER)
    return base64.urlsafe_b64encode(sealed).decode()


def open_attempt(cipher: Cipher, cookie: str, *, state: str, now: datetime) -> OidcAttempt:
    """Read the attempt of this browser, or refuse an answer that does not belong to it."""
    if not cookie or not state:
        raise OidcMismatch("the cookie or the state is missing")
    try:
        sealed = base64.urlsafe_b64decode(cookie)
        attempt = msgspec.json.decode(cipher.open(PURPOSE, sealed, owner=OWNER), type=OidcAttempt)
    except (ValueError, SealBroken, msgspec.MsgspecError):
        raise OidcMismatch("the cookie is not ours") from None
    if not hmac.compare_digest(attempt.state.encode(), state.encode(errors="replace")):
        raise OidcMismatch("the state is another one", is_of_another=True)
    if attempt.expires_at <= now:
        raise OidcMismatch("the sign-in has expired")
    return attempt
