"""The verbs of the second factor: set up, confirm, check, renew the recovery codes, turn off; and its codes."""

import base64
import hashlib
import hmac
import secrets
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from openslot.domains.access import errors
from openslot.domains.access.events import RecoveryCodesRenewed, RecoveryCodeUsed, TwoFactorTurnedOff, TwoFactorTurnedOn
from openslot.domains.access.limits.operations import by_own_code, by_session, counted
from openslot.domains.access.models import SecondFactorNeeded, TwoFactorState
from openslot.domains.access.passwords import is_password
from openslot.domains.access.two_factor import store
from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import find_password_hash
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.sealing import seal
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

HOW_MANY = 10
# Digits alone, because the field shows phones a keyboard for digits. 20 of them have 66 bits: a plain hash is enough.
LENGTH, GROUP = 20, 5
ISSUER = "Openslot"
STEP_SECONDS = 30
SECRET_BYTES = 20
# Clocks differ and people type slowly: the code before and the code after the current one are accepted too.
WINDOW = 1
SETUP_LASTS = timedelta(minutes=30)
LOST_SEAL = "no secret key opens the secret of an authenticator app; openslot user reset-two-factor removes it"
PENDING_LASTS = timedelta(minutes=10)

log = structlog.get_logger()


async def get_two_factor_state(work: Work, user: User) -> TwoFactorState:
    return await store.find_state(work.db, user.id)


async def has_two_factor(work: Work, user: User) -> bool:
    return await store.is_on(work.db, user.id)


async def check_current_password(work: Work, user: User, password: str) -> None:
    async with counted(work, by_session(work.actor.credential_id)):
        stored = await find_password_hash(work.db, user.id)
        if stored is None:
            raise errors.PasswordRequired
        if not await is_password(password, stored):
            raise errors.InvalidPassword


async def confirm_second_factor(work: Work, user: User, code: str) -> None:
    """Refuse someone in the user's session who has no code; without a second factor nothing is asked."""
    if not await store.is_on(work.db, user.id):
        return
    if not code.strip():
        raise Invalid(details={"code": Text("Enter a code")})
    async with counted(work, by_own_code(user.id)), work.transaction():
        await store.lock_user(work.db, user.id)
        await use_code(work, user, code)


async def begin_two_factor_setup(work: Work, user: User, *, password: str) -> None:
    """Make a secret that only this session can see and confirm; the second factor stays off until then."""
    await check_current_password(work, user, password)
    async with work.transaction():
        sealed = await seal(work, new_secret())
        if not await store.replace_setup(
            work.db, new_id(), user.id, secret=sealed, begun_in=work.actor.credential_id, now=work.now
        ):
            raise errors.TwoFactorAlreadyEnabled


async def get_two_factor_secret(work: Work, user: User) -> str:
    return work.runtime.secrets.open(await _get_sealed_setup(work, user))


async def confirm_two_factor_setup(work: Work, user: User, *, code: str) -> tuple[str, ...]:
    """Turn the second factor on if the app shows the right code, and return the recovery codes, which is done once."""
    sealed = await _get_sealed_setup(work, user)
    async with counted(work, by_session(work.actor.credential_id)):
        step = find_step(work.runtime.secrets.open(sealed), bare_code(code), now=work.now)
        if step is None:
            raise errors.InvalidCode
    async with work.transaction():
        await store.lock_user(work.db, user.id)
        if not await store.confirm(work.db, user.id, secret=sealed, step=step, now=work.now):
            raise errors.TwoFactorSetupExpired
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


async def turn_off_two_factor(work: Work, user: User, *, password: str, code: str) -> None:
    await check_current_password(work, user, password)
    async with counted(work, by_own_code(user.id)), work.transaction():
        await store.lock_user(work.db, user.id)
        await use_code(work, user, code)
        await store.delete_two_factor(work.db, user.id)
        await work.record(TwoFactorTurnedOff(user_id=user.id, email=user.email, by_operator=False))


async def drop_two_factor(work: Work, user: User) -> bool:
    """Turn the second factor off for a user who has lost everything; False if it was not on."""
    await store.lock_user(work.db, user.id)
    if not await store.delete_two_factor(work.db, user.id):
        return False
    await work.record(TwoFactorTurnedOff(user_id=user.id, email=user.email, by_operator=True))
    return True


async def use_code(work: Work, user: User, code: str) -> None:
    """Use up a code of the app or a recovery code, or refuse it; each is accepted once."""
    if is_recovery_code(code):
        if not await store.use_recovery_code(work.db, user.id, hash_recovery_code(user.id, code), now=work.now):
            raise errors.InvalidCode
        left = await store.count_recovery_codes(work.db, user.id)
        await work.record(RecoveryCodeUsed(user_id=user.id, email=user.email, left=left))
        return
    authenticator = await store.find_authenticator(work.db, user.id)
    if authenticator is None:
        raise errors.TwoFactorNotEnabled
    try:
        secret = work.runtime.secrets.open(authenticator.secret)
    except SealBroken:
        log.error(LOST_SEAL, user_id=str(user.id))  # noqa: TRY400 - the trace says nothing more
        raise errors.InvalidCode from None
    step = find_step(secret, bare_code(code), now=work.now)
    if step is None or not await store.use_step(work.db, user.id, step):
        raise errors.InvalidCode


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
        raise errors.InvalidCredentials
    return SecondFactorNeeded(user=user, token=token)


async def has_pending(work: Work, token: str) -> bool:
    return await store.find_pending_sign_in(work.db, fingerprint(token), now=work.now) is not None


async def _get_sealed_setup(work: Work, user: User) -> bytes:
    since = work.now - SETUP_LASTS
    sealed = await store.find_setup(work.db, user.id, begun_in=work.actor.credential_id, since=since)
    if sealed is None:
        raise errors.TwoFactorSetupExpired
    return sealed


async def _replace_recovery_codes(work: Work, user: User) -> tuple[str, ...]:
    codes = new_recovery_codes()
    hashes = [hash_recovery_code(user.id, code) for code in codes]
    await store.replace_recovery_codes(work.db, user.id, hashes, now=work.now)
    return codes


def new_recovery_codes() -> tuple[str, ...]:
    """Make a set of codes as they are shown: four groups of five digits."""
    return tuple(_grouped(f"{secrets.randbelow(10**LENGTH):0{LENGTH}}") for _ in range(HOW_MANY))


def is_recovery_code(text: str) -> bool:
    """Return whether this looks like a recovery code, however it was typed."""
    bare = bare_code(text)
    return len(bare) == LENGTH and bare.isascii() and bare.isdigit()


def bare_code(text: str) -> str:
    """Return what was typed without spaces and hyphens; the digits of every script become ASCII."""
    kept = (sign for sign in text if not sign.isspace() and sign != "-")
    return "".join(str(int(sign)) if sign.isdecimal() else sign for sign in kept)


def hash_recovery_code(user_id: UUID, code: str) -> bytes:
    """Hash a code for keeping, together with whose it is."""
    return hashlib.sha256(user_id.bytes + bare_code(code).encode()).digest()


def _grouped(code: str) -> str:
    return "-".join(code[start : start + GROUP] for start in range(0, LENGTH, GROUP))


def new_secret() -> str:
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def code_at(secret: str, step: int) -> str:
    return _totp(secret).generate(step * STEP_SECONDS).decode()


def step_of(now: datetime) -> int:
    return int(now.timestamp()) // STEP_SECONDS


def find_step(secret: str, code: str, *, now: datetime) -> int | None:
    """Return the newest step within the window whose code this is; None if there is none."""
    present = step_of(now)
    # Every code is compared, whichever fits: the time tells nothing.
    fits = [
        step
        for step in range(present - WINDOW, present + WINDOW + 1)
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode(errors="replace"))
    ]
    return max(fits, default=None)


def setup_url(secret: str, account: str) -> str:
    return _totp(secret).get_provisioning_uri(account, ISSUER)


def grouped(secret: str) -> str:
    return " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))


def _totp(secret: str) -> TOTP:
    # SHA-1 is what every app supports; as an HMAC it is sound.
    return TOTP(base64.b32decode(secret), 6, SHA1(), STEP_SECONDS)  # noqa: S303
