"""Password resets: a link by mail that works once, for an hour, and only while the password stays as it was."""

from datetime import timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.access import store
from openslot.domains.access.errors import InvalidResetLink
from openslot.domains.access.limits.operations import forgive_strangers
from openslot.domains.access.passwords import STRANGERS, check_password, hash_password
from openslot.domains.access.resets.store import count_resets, delete_resets_of, find_reset, insert_reset, lock_reset
from openslot.domains.accounts.events import UserPasswordChanged
from openslot.domains.accounts.members.store import find_managing_organization
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import find_user_by_email, set_password_hash
from openslot.domains.allowances.models import Cost
from openslot.domains.allowances.operations import causes_of, spend
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import CodedReason

RESET_LASTS = timedelta(hours=1)
MAX_IN_AN_HOUR = 3
MAX_IN_A_DAY = 10
SEND_RESET = "mail.reset_password"
PURPOSE = "password reset"


class ResetRequested(Struct, frozen=True, kw_only=True):
    """What was typed in the form, sealed: it may be the address of somebody who has no account."""

    email: bytes


class NoReset(Struct, frozen=True):
    reason: CodedReason


KEY_LOST = CodedReason("resets.key_lost", "it is no longer needed", said="the key that sealed the address is lost")
NO_ACCOUNT = CodedReason("resets.no_account", "the account is deleted", said="no account has this address")
CLOSED = CodedReason("resets.closed", "the account is closed")
ENOUGH = CodedReason(
    "resets.enough",
    "a limit of emails is reached",
    said="the recipient was sent as many links as allowed",
)


class Reset(Struct, frozen=True, kw_only=True):
    """A link that was made, or the organization that has to be asked instead."""

    user: User
    url: str
    managed_by: str | None


async def request_reset(work: Work, email: str) -> None:
    """Plan the mail with the link, in the same steps whether or not the address has an account."""
    await spend(work, Cost.CODE, await causes_of(work))
    # Two requests for one address that wait at the same time are one.
    key = work.runtime.signer.sign(PURPOSE, fold_ascii(email.strip()).encode()).hex()
    sealed = work.runtime.cipher.seal(PURPOSE, email.strip().encode(), owner=b"")
    await work.plan(SEND_RESET, key, due_at=work.now, payload=ResetRequested(email=sealed))


async def begin_reset(work: Work, reset_id: UUID, requested: ResetRequested) -> Reset | NoReset:
    """Make the link of an account that may have one; with the same id, it is the same link."""
    try:
        email = work.runtime.cipher.open(PURPOSE, requested.email, owner=b"").decode()
    except SealBroken:
        return NoReset(KEY_LOST)
    user = await find_user_by_email(work, email)
    if user is None:
        return NoReset(NO_ACCOUNT)
    if user.disabled_at is not None:
        return NoReset(CLOSED)
    in_an_hour, in_a_day = await count_resets(work.db, user, but=reset_id, now=work.now)
    if in_an_hour >= MAX_IN_AN_HOUR or in_a_day >= MAX_IN_A_DAY:
        return NoReset(ENOUGH)
    token = reset_token(work.runtime, reset_id)
    await insert_reset(
        work.db, reset_id, user, token_hash=fingerprint(token), now=work.now, expires_at=work.now + RESET_LASTS
    )
    url = f"{work.runtime.settings.public_url}/password/reset/{token}"
    return Reset(user=user, url=url, managed_by=await find_managing_organization(work.db, user.id))


def reset_token(runtime: Runtime, reset_id: UUID) -> str:
    """Derive the token from the installation's key: only its hash is stored."""
    return runtime.signer.write_token(PURPOSE, reset_id)


async def get_reset_user(work: Work, token: str) -> User:
    user = await find_reset(work.db, fingerprint(token), now=work.now)
    if user is None or await find_managing_organization(work.db, user.id) is not None:
        raise InvalidResetLink
    return user


async def reset_password(work: Work, token: str, *, new: str) -> User:
    """Replace a forgotten password: all sessions, known devices and other links end, and API keys stay.

    No connection is held while the password is hashed. Of two concurrent uses, or a use and another change of the
    password, one is refused.
    """
    await get_reset_user(work, token)
    check_password(new)
    password_hash = await hash_password(new, STRANGERS)
    async with work.transaction():
        await lock_reset(work.db, fingerprint(token))
        user = await get_reset_user(work, token)
        await set_password_hash(work, user, password_hash)
        await delete_resets_of(work.db, user.id)
        await store.delete_sessions_of(work.db, user.id)
        await forgive_strangers(work.db, user.email)
        await work.record(UserPasswordChanged(user_id=user.id, email=user.email, by_link=True))
    return user
