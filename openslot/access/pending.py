"""Pending sign-ins: the first factor was right, and for a short time the second one may follow."""

from datetime import timedelta

from openslot.access import two_factor_store as store
from openslot.access.errors import WrongSignIn
from openslot.access.models import SecondFactorNeeded
from openslot.accounts.models import User
from openslot.core.ids import new_id
from openslot.core.secrets import fingerprint, new_token
from openslot.core.work import Work

PENDING_LASTS = timedelta(minutes=10)


async def hold_sign_in(work: Work, user: User, *, password_hash: str | None) -> SecondFactorNeeded:
    """Remember for ten minutes that the first factor was right; a new password ends it."""
    token = new_token()
    if not await store.insert_pending(
        work.db,
        new_id(),
        user.id,
        token_hash=fingerprint(token),
        password_hash=password_hash,
        now=work.now,
        expires_at=work.now + PENDING_LASTS,
    ):
        raise WrongSignIn
    return SecondFactorNeeded(user=user, token=token)


async def has_pending(work: Work, token: str) -> bool:
    """Return whether a sign-in waits for its code."""
    return await store.find_pending(work.db, fingerprint(token), now=work.now) is not None
