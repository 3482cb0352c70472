"""The verbs: begin and finish a sign-in through the provider, connect an account to it and disconnect it."""

import base64
import hmac
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import structlog

from openslot.domains.access.models import SecondFactorNeeded, SignedIn
from openslot.domains.access.operations import let_in, let_in_verified
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.operations import has_password
from openslot.domains.accounts.store import find_password_hash, find_user_by_email
from openslot.domains.oidc import store
from openslot.domains.oidc.events import IdentityConnected, IdentityDisconnected
from openslot.domains.oidc.models import (
    AuthorizationResponse,
    Claims,
    IdentityAlreadyConnected,
    InvalidOidcResponse,
    OidcAccountDisabled,
    OidcAccountNotFound,
    OidcAttempt,
    OidcDeclined,
    OidcEmailUnverified,
    OidcUnreachable,
    ProvenIdentity,
    Provider,
    ProviderMetadata,
    SignInMethodRequired,
    read_identity,
)
from openslot.domains.oidc.provider import (
    exchange_code,
    find_provider,
    get_provider,
    get_provider_keys,
    get_provider_metadata,
    read_userinfo,
    write_authorization_url,
)
from openslot.domains.people.operations import welcome_user
from openslot.platform.core.ids import fingerprint, new_token
from openslot.platform.core.secrets import Cipher, SealBroken
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Periodic, Work
from openslot.platform.i18n.languages import find_locale
from openslot.platform.jobs.batches import delete_old

ATTEMPT_LASTS = timedelta(minutes=10)
PURPOSE, OWNER = "oidc sign-in", b"browser"


log = structlog.get_logger()


async def begin_identity_check(work: Work, *, wanted: str, connects: UUID | None = None) -> tuple[str, str]:
    """Begin a sign-in: return the provider's address, and what the browser keeps until it comes back."""
    provider = get_provider(work.runtime.settings)
    try:
        metadata = await get_provider_metadata(work.runtime, provider)
    except OidcUnreachable as refusal:
        log.warning("sign-in through the provider has failed", reason=refusal.reason)
        raise
    attempt = OidcAttempt(
        state=new_token(),
        nonce=new_token(),
        verifier=new_token(),
        wanted=wanted,
        expires_at=work.now + ATTEMPT_LASTS,
        connects=connects,
    )
    url = write_authorization_url(work.runtime.outbound.on_behalf_of(None), metadata, provider, attempt)
    sealed = work.runtime.cipher.seal(PURPOSE, msgspec.json.encode(attempt), owner=OWNER)
    return url, base64.urlsafe_b64encode(sealed).decode()


async def prove_identity(
    work: Work, answer: AuthorizationResponse, *, cookie: str
) -> tuple[OidcAttempt, ProvenIdentity]:
    """Return who has signed in at the provider, or refuse; no connection is held while the provider is asked."""
    provider = get_provider(work.runtime.settings)
    try:
        attempt = _open_attempt(work.runtime.cipher, cookie, answer, now=work.now)
        metadata = await get_provider_metadata(work.runtime, provider)
        tokens = await exchange_code(work.runtime.outbound.on_behalf_of(None), metadata, provider, answer.code, attempt)
        claims = await _check(work, metadata, provider, attempt, tokens)
        if not isinstance(claims.get("email"), str) and isinstance(tokens.get("access_token"), str):
            claims = await _add_userinfo(work, metadata, claims, str(tokens["access_token"]))
    except (InvalidOidcResponse, OidcUnreachable) as refusal:
        log.warning("sign-in through the provider has failed", reason=refusal.reason)
        raise
    return attempt, read_identity(claims, issuer=provider.issuer)


async def sign_in_by_identity(
    work: Work, attempt: OidcAttempt, identity: ProvenIdentity, *, locale: str, user_agent: str
) -> SignedIn | SecondFactorNeeded:
    """Let a person in whom the provider has proved; unless it is trusted for that, the second factor is asked here."""
    async with work.transaction():
        user = await _finish(work, attempt, identity)
        if user is None:
            user = await _find_or_create(work, identity, locale=locale)
            await _connect(work, identity, user)
        if user.disabled_at is not None:
            raise OidcAccountDisabled
        stored = await find_password_hash(work.db, user.id)
        enter = let_in_verified if work.runtime.settings.oidc_skips_two_factor else let_in
        return await enter(work, user, password_hash=stored, user_agent=user_agent)


async def connect_identity(work: Work, attempt: OidcAttempt, identity: ProvenIdentity, user: User | None) -> None:
    """Connect the account of the user who has begun this and is still signed in."""
    if user is None or attempt.connects != user.id:
        raise InvalidOidcResponse("the user who has begun this is not signed in")
    async with work.transaction():
        known = await _finish(work, attempt, identity)
        if known is None or known.id != user.id:
            await _connect(work, identity, user)


async def disconnect_identity(work: Work, user: User) -> None:
    """End the connection of an account that has a password."""
    provider = get_provider(work.runtime.settings)
    if not await has_password(work, user):
        raise SignInMethodRequired
    if await store.delete_identity(work.db, provider.issuer, user.id):
        await work.record(IdentityDisconnected(user_id=user.id, email=user.email, issuer=provider.issuer))


async def find_identity_connected_at(work: Work, user: User) -> datetime | None:
    """Return since when a user is connected to the provider; None if not, or if there is no provider."""
    provider = find_provider(work.runtime.settings)
    return await store.find_connected_at(work.db, provider.issuer, user.id) if provider else None


def _open_attempt(cipher: Cipher, cookie: str, answer: AuthorizationResponse, *, now: datetime) -> OidcAttempt:
    """Read the attempt of this browser, or refuse an answer that does not belong to it."""
    if not cookie or not answer.state:
        raise InvalidOidcResponse("the cookie or the state is missing")
    try:
        sealed = base64.urlsafe_b64decode(cookie)
        attempt = msgspec.json.decode(cipher.open(PURPOSE, sealed, owner=OWNER), type=OidcAttempt)
    except (ValueError, SealBroken, msgspec.MsgspecError):
        raise InvalidOidcResponse("the cookie is not ours") from None
    if not hmac.compare_digest(attempt.state.encode(), answer.state.encode(errors="replace")):
        raise InvalidOidcResponse("the state is another one", is_of_another=True)
    if attempt.expires_at <= now:
        raise InvalidOidcResponse("the sign-in has expired")
    if answer.error:
        raise OidcDeclined
    if not answer.code:
        raise InvalidOidcResponse("the answer has no code")
    return attempt


async def _check(
    work: Work, metadata: ProviderMetadata, provider: Provider, attempt: OidcAttempt, tokens: Claims
) -> Claims:
    # Loaded with the first sign-in: every start of a process would wait for the library.
    from openslot.domains.oidc.tokens import UnknownKey, check_token  # noqa: PLC0415

    token = tokens.get("id_token")
    if not isinstance(token, str):
        raise InvalidOidcResponse("the provider has sent no ID token")
    for read_again in (False, True):
        keys = await get_provider_keys(work.runtime, metadata, read_again=read_again)
        try:
            return check_token(token, keys, provider, attempt, now=work.now)
        except UnknownKey:
            continue
    raise InvalidOidcResponse("the token is signed with an unknown key")


async def _add_userinfo(work: Work, metadata: ProviderMetadata, claims: Claims, access_token: str) -> Claims:
    more = await read_userinfo(work.runtime.outbound.on_behalf_of(None), metadata, access_token)
    if more.get("sub") != claims["sub"]:
        return claims
    # An address and whether it is verified come from the same place.
    return {**more, **{name: value for name, value in claims.items() if name != "email_verified"}}


async def _finish(work: Work, attempt: OidcAttempt, identity: ProvenIdentity) -> User | None:
    """Finish a sign-in, only once, and return the user who is known as this person."""
    if not await store.insert_finished(work.db, fingerprint(attempt.state), expires_at=attempt.expires_at):
        raise InvalidOidcResponse("the sign-in was finished before")
    await store.lock_identity(work.db, identity.issuer, identity.subject)
    return await store.find_user_by_identity(work.db, identity.issuer, identity.subject, now=work.now)


async def _find_or_create(work: Work, identity: ProvenIdentity, *, locale: str) -> User:
    """Find the account with the person's verified email address, or create one if the operator wants that."""
    if identity.email is None or not identity.is_email_verified:
        raise OidcEmailUnverified
    user = await find_user_by_email(work.db, identity.email, now=work.now)
    if user is not None and fold_ascii(user.email) == fold_ascii(identity.email):
        return user
    # The database takes İ and i for the same letter, but they are the mailboxes of two people.
    if user is not None or not work.runtime.settings.oidc_creates_accounts:
        raise OidcAccountNotFound
    known = find_locale(identity.locale or "")
    wanted = UserWanted(
        email=identity.email,
        name=identity.name or identity.email.partition("@")[0],
        zone=identity.zone or "UTC",
        locale=known.language.tag if known else locale,
    )
    return await welcome_user(work, wanted)


async def _connect(work: Work, identity: ProvenIdentity, user: User) -> None:
    """Connect a user to a subject; an account that belongs to another subject is not handed over."""
    if user.disabled_at is not None:
        raise OidcAccountDisabled
    if not await store.insert_identity(work.db, identity.issuer, identity.subject, user.id, now=work.now):
        raise IdentityAlreadyConnected
    await work.record(IdentityConnected(user_id=user.id, email=user.email, issuer=identity.issuer))


async def tidy_oidc(work: Work) -> str:
    """Remove finished sign-ins that have expired."""
    gone = await delete_old(work.db, "finished_oidc_sign_ins", "expires_at", before=work.now, key="hash")
    return f"{gone} finished sign-ins forgotten"


OIDC_JOBS = (Periodic(name="oidc.tidy", expression="17 * * * *", run=tidy_oidc, transaction="none"),)
