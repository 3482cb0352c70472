"""The verbs of access by OAuth: begin and finish a consent, keep what was granted, and give out access tokens."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import structlog

from openslot.domains.accounts.models import User
from openslot.domains.oauth import store
from openslot.domains.oauth.client import GrantRefused, exchange_code, needs_admin, refresh_grant, write_auth_url
from openslot.domains.oauth.models import (
    AdminConsentNeeded,
    CallbackQuery,
    Consent,
    ConsentAttempt,
    ConsentDeclined,
    ConsentIncomplete,
    ConsentNeeded,
    Grant,
    GrantState,
    InvalidOAuthResponse,
    OAuthClient,
    OAuthNotConfigured,
    OAuthUnreachable,
    OAuthVendor,
    TokenAnswer,
    Tokens,
    find_client,
)
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.sealing import seal
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.jobs.batches import delete_old

ATTEMPT_LASTS = timedelta(minutes=10)
PURPOSE = "oauth consent"
# A token that ends while a request is under way is of no use.
MARGIN = timedelta(minutes=1)
REFRESH_WITHIN = timedelta(seconds=30)
LOOK_EVERY = timedelta(milliseconds=100)

log = structlog.get_logger()


def get_oauth_client(runtime: Runtime, vendor: OAuthVendor) -> OAuthClient:
    """Return our client at a vendor, or refuse."""
    found = find_client(runtime.settings, vendor)
    if found is None:
        raise OAuthNotConfigured
    return found


async def begin_oauth_consent(work: Work, user: User, vendor: OAuthVendor, *, renews: UUID | None = None) -> str:
    """Begin a consent in this session, and return the address of the vendor's page."""
    client = get_oauth_client(work.runtime, vendor)
    state, verifier = new_token(), new_token()
    attempt = ConsentAttempt(
        user_id=user.id,
        vendor=vendor,
        verifier=work.runtime.cipher.seal(PURPOSE, verifier.encode(), owner=user.id.bytes),
        renews=renews,
        expires_at=work.now + ATTEMPT_LASTS,
    )
    await store.insert_attempt(work.db, attempt, state_hash=fingerprint(state), session_id=_session_of(work))
    outbound = work.runtime.outbound.on_behalf_of(user.id)
    return write_auth_url(outbound, client, state=state, verifier=verifier)


async def finish_oauth_consent(work: Work, user: User, vendor: OAuthVendor, answer: CallbackQuery) -> Consent:
    """Return what a user has allowed, or refuse; no connection is held while the vendor is asked."""
    client = get_oauth_client(work.runtime, vendor)
    try:
        attempt = await _take_attempt(work, user, vendor, answer)
        verifier = work.runtime.cipher.open(PURPOSE, attempt.verifier, owner=user.id.bytes).decode()
        outbound = work.runtime.outbound.on_behalf_of(user.id)
        found = await exchange_code(outbound, client, answer.code, verifier=verifier, now=work.now)
        return _read_consent(client, found, renews=attempt.renews)
    except (InvalidOAuthResponse, OAuthUnreachable) as refusal:
        log.warning("an account could not be connected", vendor=vendor, reason=refusal.reason)
        raise


def _read_consent(client: OAuthClient, found: TokenAnswer, *, renews: UUID | None) -> Consent:
    wanted = tuple(each.scope for each in client.permissions)
    granted = wanted if found.scopes is None else found.scopes
    if missing := client.list_missing(granted):
        raise ConsentIncomplete(missing)
    if found.refresh_token is None:
        raise OAuthUnreachable(f"{client.name} has sent no refresh token")
    return Consent(
        vendor=client.vendor,
        tokens=Tokens(access_token=found.access_token, refresh_token=found.refresh_token),
        expires_at=found.expires_at,
        scopes=granted,
        renews=renews,
    )


async def keep_grant(work: Work, owner: User, grant_id: UUID, consent: Consent) -> None:
    """Keep what was allowed for a new connection, which has the same id."""
    grant = Grant(
        id=grant_id,
        owner_id=owner.id,
        vendor=consent.vendor,
        secret=await _seal(work, consent.tokens),
        scopes=consent.scopes,
        state=GrantState.OK,
        expires_at=consent.expires_at,
        created_at=work.now,
    )
    await store.insert_grant(work.db, grant)


async def renew_grant(work: Work, grant_id: UUID, consent: Consent) -> None:
    """Keep what was allowed again for a connection; a refresh that is under way writes nothing."""
    sealed = await _seal(work, consent.tokens)
    await store.renew_grant(work.db, grant_id, sealed, consent.scopes, expires_at=consent.expires_at)


async def drop_grant(work: Work, grant_id: UUID) -> None:
    """Forget the tokens of a connection that ends; a connection without any is fine."""
    await store.delete_grant(work.db, grant_id)


class GrantTokens:
    """The access tokens of one connection, renewed when they end."""

    def __init__(self, runtime: Runtime, grant_id: UUID) -> None:
        self._runtime = runtime
        self._grant_id = grant_id

    async def get(self, *, refused: str | None = None) -> str:
        """Give an access token; one process at a time asks the vendor for another, and the others look again."""
        until = asyncio.get_running_loop().time() + REFRESH_WITHIN.total_seconds()
        while True:
            found = await self._look(refused)
            if isinstance(found, str):
                return found
            if found is not None:
                return await self._refresh(*found)
            if asyncio.get_running_loop().time() >= until:
                raise OAuthUnreachable("another process has been waiting for a token for too long")
            await asyncio.sleep(LOOK_EVERY.total_seconds())

    async def _look(self, refused: str | None) -> str | tuple[Grant, UUID] | None:
        """Return a valid token, or the right to ask for another; None while somebody else has that right."""
        async with self._runtime.transaction(SYSTEM) as work:
            grant = await store.lock_grant(work.db, self._grant_id)
            if grant is None or grant.state is GrantState.NEEDS_CONSENT:
                raise ConsentNeeded
            token = self._open(grant).access_token
            if token != refused and work.now < grant.expires_at - MARGIN:
                return token
            if grant.refreshing_until is not None and work.now < grant.refreshing_until:
                return None
            refresher = new_id()
            await store.begin_refresh(work.db, grant.id, refresher, until=work.now + REFRESH_WITHIN)
            return grant, refresher

    async def _refresh(self, grant: Grant, refresher: UUID) -> str:
        outbound, now = self._runtime.outbound.on_behalf_of(grant.owner_id), self._runtime.clock()
        before = self._open(grant)
        try:
            client = get_oauth_client(self._runtime, grant.vendor)
            found = await refresh_grant(outbound, client, before.refresh_token, now=now)
        except GrantRefused:
            log.info("a consent has ended", vendor=grant.vendor, connection=str(grant.id))
            await self._leave(grant, refresher, GrantState.NEEDS_CONSENT)
            raise ConsentNeeded from None
        except BaseException:
            await self._leave(grant, refresher, GrantState.OK)
            raise
        # A vendor that does not rotate its refresh tokens sends none.
        after = Tokens(access_token=found.access_token, refresh_token=found.refresh_token or before.refresh_token)
        await self._keep(grant, refresher, after, found.expires_at)
        return after.access_token

    async def _keep(self, grant: Grant, refresher: UUID, tokens: Tokens, expires_at: datetime) -> None:
        async with self._runtime.transaction(SYSTEM) as work:
            sealed = await _seal(work, tokens)
            if not await store.end_refresh(work.db, grant.id, refresher, sealed, expires_at=expires_at):
                log.info("tokens came too late and are not kept", vendor=grant.vendor, connection=str(grant.id))

    async def _leave(self, grant: Grant, refresher: UUID, state: GrantState) -> None:
        async with self._runtime.transaction(SYSTEM) as work:
            await store.leave_refresh(work.db, grant.id, refresher, state=state)

    def _open(self, grant: Grant) -> Tokens:
        return msgspec.json.decode(self._runtime.secrets.open(grant.secret), type=Tokens)


def _session_of(work: Work) -> UUID:
    if work.actor.credential_id is None:
        raise InvalidOAuthResponse("nobody is signed in")
    return work.actor.credential_id


async def _take_attempt(work: Work, user: User, vendor: OAuthVendor, answer: CallbackQuery) -> ConsentAttempt:
    """Find what this session has begun, only once, or refuse an answer that does not belong to it."""
    async with work.transaction():
        attempt = await store.take_attempt(work.db, fingerprint(answer.state), session_id=_session_of(work))
    if attempt is None or attempt.user_id != user.id or attempt.vendor is not vendor:
        raise InvalidOAuthResponse("this session has not begun it, or has finished it before")
    if attempt.expires_at <= work.now:
        raise InvalidOAuthResponse("it took too long")
    if answer.error:
        raise AdminConsentNeeded if needs_admin(answer.error_description) else ConsentDeclined
    if not answer.code:
        raise InvalidOAuthResponse("the answer has no code")
    return attempt


async def _seal(work: Work, tokens: Tokens) -> bytes:
    return await seal(work, msgspec.json.encode(tokens).decode())


async def tidy_attempts(work: Work) -> str:
    """Remove consents that were begun and never finished."""
    gone = await delete_old(work.db, "oauth_attempts", "expires_at", before=work.now, key="state_hash")
    return f"{gone} unfinished consents forgotten"


OAUTH_JOBS = (Periodic(name="oauth.tidy", expression="23 * * * *", run=tidy_attempts, transaction="none"),)
