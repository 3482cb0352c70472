"""The verbs of access: make, list and revoke credentials; sign in and out."""

from datetime import datetime, timedelta
from uuid import UUID

from openslot.access import store
from openslot.access.errors import CredentialNotFound, PlanWithoutApi, SetupLinkInvalid, WrongPassword, WrongSignIn
from openslot.access.keys import AGENTS, CredentialKind, new_key
from openslot.access.models import Credential
from openslot.access.passwords import check_password, hash_password, is_password
from openslot.accounts import operations as accounts
from openslot.accounts.models import Organization, User
from openslot.accounts.plans import PLANS_WITH_API
from openslot.accounts.store import find_password_hash, has_users
from openslot.core.errors import Invalid
from openslot.core.ids import new_id
from openslot.core.secrets import fingerprint, new_token
from openslot.core.text import is_line
from openslot.core.work import Work
from openslot.i18n import Text

SESSION_LASTS = timedelta(days=30)
SETUP_LASTS = timedelta(hours=24)


async def create_api_key(
    work: Work, user: User, *, name: str, expires_at: datetime | None = None
) -> tuple[str, Credential]:
    """Make an API key for a user; the key itself is returned this once."""
    if user.effective_plan not in PLANS_WITH_API:
        raise PlanWithoutApi
    return await _create(work, CredentialKind.API_KEY, user.id, name=name, expires_at=expires_at)


async def create_scim_token(
    work: Work, organization: Organization, *, name: str, expires_at: datetime | None = None
) -> tuple[str, Credential]:
    """Make a SCIM token for an organization; the token itself is returned this once."""
    return await _create(work, CredentialKind.SCIM_TOKEN, organization.id, name=name, expires_at=expires_at)


async def create_agent_key(
    work: Work, agent: str, *, name: str, expires_at: datetime | None = None
) -> tuple[str, Credential]:
    """Make a key for one of the ten agents; the key itself is returned this once."""
    if agent not in AGENTS:
        raise Invalid(details={"agent": f"must be one of {', '.join(AGENTS)}"})
    return await _create(work, CredentialKind.AGENT_KEY, agent, name=name, expires_at=expires_at)


async def list_credentials(work: Work, kind: CredentialKind, owner: UUID | str) -> list[Credential]:
    """List an owner's credentials, newest first."""
    return await store.list_credentials(work.db, kind, owner)


async def revoke_credential(work: Work, kind: CredentialKind, owner: UUID | str, credential_id: UUID) -> None:
    """Close a credential from the next request on."""
    if not await store.revoke_credential(work.db, kind, owner, credential_id, now=work.now):
        raise CredentialNotFound


async def authenticate(work: Work, *, email: str, password: str) -> User:
    """Find who has this e-mail address and knows the password, or refuse without telling what is wrong."""
    user = await accounts.find_user_by_email(work, email) if len(email) <= 254 and is_line(email) else None
    stored = await find_password_hash(work.db, user.id) if user else None
    if not await is_password(password, stored) or user is None or user.disabled_at is not None:
        raise WrongSignIn
    return user


async def begin_session(work: Work, user: User, *, user_agent: str) -> str:
    """Open a session without asking for a password."""
    token = new_token()
    await store.insert_session(
        work.db,
        new_id(),
        user.id,
        token_hash=fingerprint(token),
        user_agent=user_agent[:300],
        now=work.now,
        expires_at=work.now + SESSION_LASTS,
    )
    return token


async def sign_out(work: Work) -> None:
    """End the session that this work came in by."""
    if work.actor.credential_id is not None:
        await store.delete_session(work.db, work.actor.credential_id)


async def end_sessions(work: Work, user: User) -> None:
    """Sign a user out everywhere."""
    await store.delete_sessions_of(work.db, user.id)


async def confirm_password(work: Work, user: User, password: str) -> None:
    """Refuse whoever does not know the user's password."""
    if not await is_password(password, await find_password_hash(work.db, user.id)):
        raise WrongPassword


async def change_password(work: Work, user: User, new: str) -> None:
    """Replace a password, and end every session but this one; no connection is held while it is hashed."""
    check_password(new)
    password_hash = await hash_password(new)
    async with work.transaction():
        await accounts.set_password(work, user, password_hash)
        await store.delete_other_sessions(work.db, user.id, keep=work.actor.credential_id)


async def create_setup_link(work: Work) -> str | None:
    """Make the one-time link to the first account, or None where somebody lives here already."""
    if await has_users(work.db):
        return None
    token = new_token()
    await store.insert_setup_link(work.db, fingerprint(token), now=work.now, expires_at=work.now + SETUP_LASTS)
    return token


async def check_setup_link(work: Work, token: str) -> None:
    """Refuse a set-up link that is not good, or no longer needed."""
    if not await store.has_setup_link(work.db, fingerprint(token), now=work.now) or await has_users(work.db):
        raise SetupLinkInvalid


async def use_setup_link(work: Work, token: str) -> None:
    """Use the set-up link up, or refuse one that is not good."""
    used = await store.use_setup_link(work.db, fingerprint(token), now=work.now)
    if not used or await has_users(work.db):
        raise SetupLinkInvalid


async def _create(
    work: Work, kind: CredentialKind, owner: UUID | str, *, name: str, expires_at: datetime | None
) -> tuple[str, Credential]:
    faults = {}
    if not 1 <= len(name.strip()) <= 100 or not is_line(name):
        faults["name"] = Text("must be 1 to 100 characters on one line")
    if expires_at is not None and expires_at <= work.now:
        faults["expiresAt"] = Text("must be in the future")
    if faults:
        raise Invalid(details=faults)
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
