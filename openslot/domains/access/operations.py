"""The verbs of access: make, list and revoke credentials; sign in, in one step or two, and out; passwords."""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from openslot.domains.access import errors, store
from openslot.domains.access.limits.operations import (
    by_code,
    by_device,
    by_session,
    by_stranger,
    counted,
    forgive_strangers,
)
from openslot.domains.access.models import (
    AGENTS,
    Credential,
    CredentialKind,
    KeyName,
    SecondFactorNeeded,
    SignedIn,
    new_key,
)
from openslot.domains.access.passwords import KNOWN, STRANGERS, check_password, hash_password, is_password
from openslot.domains.access.sessions import find_device, new_device
from openslot.domains.access.two_factor.operations import confirm_second_factor, hold_sign_in, use_code
from openslot.domains.access.two_factor.store import find_pending_sign_in, is_on, lock_user, use_pending_sign_in
from openslot.domains.accounts.events import UserPasswordChanged
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.operations import replace_password, set_password_hash
from openslot.domains.accounts.plans import PLANS_WITH_API
from openslot.domains.accounts.store import find_password_hash, find_sign_in, has_users, to_user
from openslot.platform.core.errors import Invalid, Unauthorized
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.text import INVISIBLE, is_line, is_visible
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

SESSION_LASTS = timedelta(days=30)
SETUP_LASTS = timedelta(hours=24)


async def create_api_key(
    work: Work, user: User, *, name: str, expires_at: datetime | None = None
) -> tuple[str, Credential]:
    """Make an API key for a user; the key itself is returned only once."""
    if user.effective_plan not in PLANS_WITH_API:
        raise errors.ApiPlanRequired
    _check_new(work, name=name, expires_at=expires_at)
    return await _create(work, CredentialKind.API_KEY, user.id, name=name, expires_at=expires_at)


async def create_scim_token(
    work: Work, organization: Organization, *, name: str, expires_at: datetime | None = None
) -> tuple[str, Credential]:
    """Make a SCIM token for an organization; the token itself is returned only once."""
    _check_new(work, name=name, expires_at=expires_at)
    return await _create(work, CredentialKind.SCIM_TOKEN, organization.id, name=name, expires_at=expires_at)


async def create_agent_key(
    work: Work, agent: str, *, name: str, expires_at: datetime | None = None
) -> tuple[str, Credential]:
    """Make a key with its agent's scopes for one of the ten agents; the key itself is returned only once."""
    if agent not in AGENTS:
        raise Invalid(details={"agent": f"must be one of {', '.join(AGENTS)}"})
    _check_new(work, name=name, expires_at=expires_at)
    key, credential = await _create(work, CredentialKind.AGENT_KEY, agent, name=name, expires_at=expires_at)
    await store.give_default_scopes(work.db, agent, credential.id)
    return key, credential


async def set_key_scopes(work: Work, agent: str, scopes: Collection[str]) -> int:
    """Give every active key of an agent these scopes; return how many keys there are."""
    return await store.set_key_scopes(work.db, agent, sorted(scopes), now=work.now)


async def list_credentials(work: Work, kind: CredentialKind, owner: UUID | str) -> list[Credential]:
    return await store.list_credentials(work.db, kind, owner)


async def revoke_credential(work: Work, kind: CredentialKind, owner: UUID | str, credential_id: UUID) -> None:
    """Close a credential from the next request on."""
    if not await store.revoke_credential(work.db, kind, owner, credential_id, now=work.now):
        raise errors.CredentialNotFound


async def rotate_credential(
    work: Work, kind: CredentialKind, owner: UUID | str, credential_id: UUID, *, kept_for: timedelta
) -> tuple[str, Credential]:
    """Make a new credential in place of an active one, which stays valid for a time and can't be rotated again."""
    found = await store.list_credentials(work.db, kind, owner)
    old = next((each for each in found if each.id == credential_id), None)
    if old is None or not old.is_active(now=work.now):
        raise errors.CredentialNotFound
    made = await _create(work, kind, owner, name=old.name, expires_at=None)
    if kind is CredentialKind.AGENT_KEY:
        await store.give_default_scopes(work.db, str(owner), made[1].id)
    at = work.now + kept_for
    if not await store.replace_credential(work.db, kind, owner, credential_id, by=made[1].id, at=at):
        raise errors.CredentialAlreadyRotated
    return made


async def sign_in(
    work: Work, *, email: str, password: str, device: str = "", address: str, user_agent: str
) -> SignedIn | SecondFactorNeeded:
    """Let a user in if the password of this account is right, or refuse without saying what is wrong.

    The steps are the same whether or not the email address is known. Tries from a known device of the account's owner
    are counted separately.
    """
    if len(email) > 254 or not is_line(email):
        raise errors.InvalidCredentials
    user, stored = await find_sign_in(work.db, email.strip(), now=work.now)
    known = None
    if user is not None and stored is not None:
        known = find_device(work.runtime.signer, device, user.id, password_hash=stored, now=work.now)
    async with counted(work, by_stranger(email, address) if known is None else by_device(known)):
        is_right = await is_password(password, stored, STRANGERS if known is None else KNOWN)
        if not is_right or user is None or stored is None:
            raise errors.InvalidCredentials
        return await let_in(work, user, password_hash=stored, user_agent=user_agent)


async def let_in(
    work: Work, user: User, *, password_hash: str | None, user_agent: str
) -> SignedIn | SecondFactorNeeded:
    """Begin a session for a user whose first factor was checked or chosen just now, or ask for the second one.

    Every way in ends here, with the password's hash, which is None for an account without a password.
    """
    if await is_on(work.db, user.id):
        return await hold_sign_in(work, user, password_hash=password_hash)
    return await _open(work, user, password_hash=password_hash, user_agent=user_agent, is_verified=False)


async def let_in_verified(work: Work, user: User, *, password_hash: str | None, user_agent: str) -> SignedIn:
    """Begin a session for a user who needs no second factor now: it was verified here, or by someone who is trusted."""
    return await _open(work, user, password_hash=password_hash, user_agent=user_agent, is_verified=True)


async def begin_session(
    work: Work, user: User, *, user_agent: str, password_hash: str | None = None, is_verified: bool = False
) -> str:
    """Open a session; if a password was checked, only if the user still has it."""
    token = new_token()
    if not await store.insert_session(
        work.db,
        new_id(),
        user.id,
        token_hash=fingerprint(token),
        password_hash=password_hash,
        is_verified=is_verified,
        user_agent=user_agent[:300],
        now=work.now,
        expires_at=work.now + SESSION_LASTS,
    ):
        raise errors.InvalidCredentials
    return token


async def _open(work: Work, user: User, *, password_hash: str | None, user_agent: str, is_verified: bool) -> SignedIn:
    session = await begin_session(
        work, user, user_agent=user_agent, password_hash=password_hash, is_verified=is_verified
    )
    device = new_device(work.runtime.signer, user.id, password_hash=password_hash or "", now=work.now)
    return SignedIn(user=user, session=session, device=device)


async def sign_out(work: Work) -> None:
    if work.actor.credential_id is not None:
        await store.delete_session(work.db, work.actor.credential_id)


async def end_sessions(work: Work, user: User) -> None:
    await store.delete_sessions_of(work.db, user.id)


async def change_password(
    work: Work, user: User, *, current: str, new: str, code: str = "", user_agent: str
) -> SignedIn:
    """Replace a password, end every session and begin a new one; of two concurrent changes one is refused.

    With a second factor, its code is needed too. No connection is held while a password is checked or hashed.
    """
    check_password(new)
    stored = await confirm_password(work, user, current)
    await confirm_second_factor(work, user, code)
    password_hash = await hash_password(new)
    async with work.transaction():
        if not await replace_password(work, user, old=stored, new=password_hash):
            raise errors.PasswordChanged
        if work.actor.credential_id not in await store.delete_sessions_of(work.db, user.id):
            raise Unauthorized
        await forgive_strangers(work.db, user.email)
        await work.record(UserPasswordChanged(user_id=user.id, email=user.email, by_link=False))
        return await let_in_verified(work, user, password_hash=password_hash, user_agent=user_agent)


async def confirm_password(work: Work, user: User, password: str) -> str | None:
    """Refuse unless a signed-in user knows the password, and return its hash; the tries are counted for the session.

    No connection is held while the password is checked.
    """
    stored = await find_password_hash(work.db, user.id)
    async with counted(work, by_session(work.actor.credential_id)):
        if not await is_password(password, stored):
            raise errors.InvalidPassword
    return stored


async def give_password(work: Work, user: User, password_hash: str) -> None:
    """Give a user a password without asking for the old one; sessions and known devices end, and no pause is left."""
    await set_password_hash(work, user, password_hash)
    await store.delete_sessions_of(work.db, user.id)
    await forgive_strangers(work.db, user.email)


async def create_setup_link(work: Work) -> str | None:
    """Make the one-time link to the first account, or return None if there is already an account."""
    if await has_users(work.db):
        return None
    token = new_token()
    await store.insert_setup_link(work.db, fingerprint(token), now=work.now, expires_at=work.now + SETUP_LASTS)
    return token


async def needs_set_up(work: Work) -> bool:
    """Return whether nobody has an account yet."""
    return not await has_users(work.db)


async def check_setup_link(work: Work, token: str) -> None:
    if not await store.has_setup_link(work.db, fingerprint(token), now=work.now) or await has_users(work.db):
        raise errors.InvalidSetupLink


async def use_setup_link(work: Work, token: str) -> None:
    used = await store.use_setup_link(work.db, fingerprint(token), now=work.now)
    if not used or await has_users(work.db):
        raise errors.InvalidSetupLink


def _check_new(work: Work, *, name: str, expires_at: datetime | None) -> None:
    faults = {}
    if not 1 <= len(name.strip()) <= KeyName.longest or not is_line(name):
        faults["name"] = Text("must be 1 to 100 characters on one line")
    elif not is_visible(name):
        faults["name"] = INVISIBLE
    if expires_at is not None and expires_at <= work.now:
        faults["expiresAt"] = Text("must be in the future")
    if faults:
        raise Invalid(details=faults)


async def _create(
    work: Work, kind: CredentialKind, owner: UUID | str, *, name: str, expires_at: datetime | None
) -> tuple[str, Credential]:
    key = new_key(kind, agent=str(owner))
    credential = Credential(
        id=new_id(),
        name=name.strip(),
        last_four=key[-4:],
        created_at=work.now,
        expires_at=expires_at,
        revoked_at=None,
        last_used_at=None,
    )
    await store.insert_credential(work.db, kind, owner, credential, key_hash=fingerprint(key))
    return key, credential


async def finish_sign_in(
    work: Work, *, token: str, code: str, device: str = "", address: str, user_agent: str
) -> SignedIn:
    """Begin the session of a pending sign-in if the code is right; wrong codes are limited as passwords are."""
    row = await find_pending_sign_in(work.db, fingerprint(token), now=work.now)
    if row is None:
        raise errors.SignInExpired
    user, stored = to_user(row, now=work.now), row["password_hash"]
    known = find_device(work.runtime.signer, device, user.id, password_hash=stored or "", now=work.now)
    async with counted(work, by_code(user.id, address, device=known)), work.transaction():
        await lock_user(work.db, user.id)
        if not await use_pending_sign_in(work.db, fingerprint(token), now=work.now):
            raise errors.SignInExpired
        await use_code(work, user, code)
        return await let_in_verified(work, user, password_hash=stored, user_agent=user_agent)
