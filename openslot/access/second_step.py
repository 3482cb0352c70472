"""The second step of a sign-in: the code that turns a pending sign-in into a session."""

from openslot.access import operations as access
from openslot.access import two_factor_store as store
from openslot.access.devices import find_device
from openslot.access.errors import SignInExpired
from openslot.access.models import SignedIn
from openslot.access.tries import by_code, counted
from openslot.access.two_factor import use_code
from openslot.accounts.store import to_user
from openslot.core.secrets import fingerprint
from openslot.core.work import Work


async def finish_sign_in(
    work: Work, *, token: str, code: str, device: str = "", address: str, user_agent: str
) -> SignedIn:
    """Begin the session of a pending sign-in if the code is right; wrong codes are limited as passwords are."""
    row = await store.find_pending(work.db, fingerprint(token), now=work.now)
    if row is None:
        raise SignInExpired
    user, stored = to_user(row, now=work.now), row["password_hash"]
    known = find_device(work.runtime.signer, device, user.id, password_hash=stored or "", now=work.now)
    async with counted(work, by_code(user.id, address, device=known)), work.transaction():
        await store.lock_user(work.db, user.id)
        if not await store.use_pending(work.db, fingerprint(token), now=work.now):
            raise SignInExpired
        await use_code(work, user, code)
        return await access.let_in_verified(work, user, password_hash=stored, user_agent=user_agent)
