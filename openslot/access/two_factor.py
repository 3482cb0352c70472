"""The verbs of the second factor: set up, confirm, check, renew the recovery codes, turn off."""

from datetime import timedelta

import structlog

from openslot.access import two_factor_store as store
from openslot.access.errors import (
    NoPasswordYet,
    SetupExpired,
    TwoFactorIsOff,
    TwoFactorIsOn,
    WrongCode,
    WrongPassword,
)
from openslot.access.events import RecoveryCodesRenewed, RecoveryCodeUsed, TwoFactorTurnedOff, TwoFactorTurnedOn
from openslot.access.models import TwoFactorState
from openslot.access.passwords import is_password
from openslot.access.recovery import bare_code, hash_recovery_code, is_recovery_code, new_recovery_codes
from openslot.access.totp import find_step, new_secret
from openslot.access.tries import by_own_code, by_session, counted
from openslot.accounts.models import User
from openslot.accounts.store import find_password_hash
from openslot.core.errors import Invalid
from openslot.core.ids import new_id
from openslot.core.sealing import seal
from openslot.core.secrets import SealBroken
from openslot.core.work import Work
from openslot.i18n import Text

SETUP_LASTS = timedelta(minutes=30)
NO_CODE = Text("Enter a code")
LOST_SEAL = "no secret key opens the secret of an authenticator app; openslot user reset-two-factor removes it"

log = structlog.get_logger()


async def get_state(work: Work, user: User) -> TwoFactorState:
    """Return whether a user's second factor is on, since when, and how many recovery codes are left."""
    return await store.find_state(work.db, user.id)


async def is_on(work: Work, user: User) -> bool:
    """Return whether a user's second factor is on."""
    return await store.is_on(work.db, user.id)


async def check_current_password(work: Work, user: User, password: str) -> None:
    """Refuse someone in the user's session who does not know the password."""
    async with counted(work, by_session(work.actor.credential_id)):
        await _check_password(work, user, password)


async def confirm_code(work: Work, user: User, code: str) -> None:
    """Refuse someone in the user's session who has no code; without a second factor nothing is asked."""
    if not await store.is_on(work.db, user.id):
        return
    if not code.strip():
        raise Invalid(details={"code": NO_CODE})
    async with counted(work, by_own_code(user.id)), work.transaction():
        await store.lock_user(work.db, user.id)
        await use_code(work, user, code)


async def begin_setup(work: Work, user: User, *, password: str) -> None:
    """Make a secret that only this session can see and confirm; the second factor stays off until then."""
    await check_current_password(work, user, password)
    async with work.transaction():
        sealed = await seal(work, new_secret())
        if not await store.replace_setup(
            work.db, new_id(), user.id, secret=sealed, begun_in=work.actor.credential_id, now=work.now
        ):
            raise TwoFactorIsOn


async def get_setup(work: Work, user: User) -> str:
    """Return the secret that this session is setting up."""
    return work.runtime.secrets.open(await _get_sealed_setup(work, user))


async def confirm_setup(work: Work, user: User, *, code: str) -> tuple[str, ...]:
    """Turn the second factor on if the app shows the right code, and return the recovery codes, which is done once."""
    sealed = await _get_sealed_setup(work, user)
    async with counted(work, by_session(work.actor.credential_id)):
        step = find_step(work.runtime.secrets.open(sealed), bare_code(code), now=work.now)
        if step is None:
            raise WrongCode
    async with work.transaction():
        await store.lock_user(work.db, user.id)
        if not await store.confirm(work.db, user.id, secret=sealed, step=step, now=work.now):
            raise SetupExpired
        codes = await _replace_recovery_codes(work, user)
        await work.record(TwoFactorTurnedOn(user_id=user.id, email=user.email))
        return codes


async def renew_recovery_codes(work: Work, user: User, *, password: str, code: str) -> tuple[str, ...]:
    """Make new recovery codes in place of all earlier ones, and return them, which is done once."""
    await check_current_password(work, user, password)
    async with counted(work, by_own_code(user.id)), work.transaction():
        await store.lock_user(work.db, user.id)
        await use_code(work, user, code)
        codes = await _replace_recovery_codes(work, user)
        await work.record(RecoveryCodesRenewed(user_id=user.id, email=user.email))
        return codes


async def turn_off(work: Work, user: User, *, password: str, code: str) -> None:
    """Turn the second factor off for a user who knows the password and has a code."""
    await check_current_password(work, user, password)
    async with counted(work, by_own_code(user.id)), work.transaction():
        await store.lock_user(work.db, user.id)
        await use_code(work, user, code)
        await store.delete_two_factor(work.db, user.id)
        await work.record(TwoFactorTurnedOff(user_id=user.id, email=user.email, by_operator=False))


async def reset(work: Work, user: User) -> bool:
    """Turn the second factor off for a user who has lost everything; False where it was not on."""
    await store.lock_user(work.db, user.id)
    if not await store.delete_two_factor(work.db, user.id):
        return False
    await work.record(TwoFactorTurnedOff(user_id=user.id, email=user.email, by_operator=True))
    return True


async def use_code(work: Work, user: User, code: str) -> None:
    """Use up a code of the app or a recovery code, or refuse it; each is accepted once."""
    if is_recovery_code(code):
        await _use_recovery_code(work, user, code)
        return
    authenticator = await store.find_authenticator(work.db, user.id)
    if authenticator is None:
        raise TwoFactorIsOff
    try:
        secret = work.runtime.secrets.open(authenticator.secret)
    except SealBroken:
        log.error(LOST_SEAL, user_id=str(user.id))  # noqa: TRY400 - the trace says nothing more
        raise WrongCode from None
    step = find_step(secret, bare_code(code), now=work.now)
    if step is None or not await store.use_step(work.db, user.id, step):
        raise WrongCode


async def _use_recovery_code(work: Work, user: User, code: str) -> None:
    if not await store.use_recovery_code(work.db, user.id, hash_recovery_code(user.id, code), now=work.now):
        raise WrongCode
    left = await store.count_recovery_codes(work.db, user.id)
    await work.record(RecoveryCodeUsed(user_id=user.id, email=user.email, left=left))


async def _check_password(work: Work, user: User, password: str) -> None:
    stored = await find_password_hash(work.db, user.id)
    if stored is None:
        raise NoPasswordYet
    if not await is_password(password, stored):
        raise WrongPassword


async def _get_sealed_setup(work: Work, user: User) -> bytes:
    since = work.now - SETUP_LASTS
    sealed = await store.find_setup(work.db, user.id, begun_in=work.actor.credential_id, since=since)
    if sealed is None:
        raise SetupExpired
    return sealed


async def _replace_recovery_codes(work: Work, user: User) -> tuple[str, ...]:
    codes = new_recovery_codes()
    hashes = [hash_recovery_code(user.id, code) for code in codes]
    await store.replace_recovery_codes(work.db, user.id, hashes, now=work.now)
    return codes
