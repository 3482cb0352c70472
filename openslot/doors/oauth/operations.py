"""The verbs: read what a program asks for, allow it, issue and renew tokens, and end connections."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from openslot.domains.access.models import AsksFirst, CredentialKind, new_key
from openslot.domains.accounts.models import AssistantPolicy, User
from openslot.doors.oauth import store
from openslot.doors.oauth.clients import forget_client, get_client, is_id
from openslot.doors.oauth.errors import (
    AssistantNotFound,
    AssistantsForbidden,
    InvalidClient,
    InvalidGrant,
    InvalidOAuthRequest,
    InvalidRedirectUri,
    InvalidScope,
    InvalidTarget,
    OAuthRefusal,
    UnsupportedGrantType,
    UnsupportedResponseType,
)
from openslot.doors.oauth.events import AssistantConnected, AssistantDisconnected, EndedBy
from openslot.doors.oauth.models import (
    ACCESS_LASTS,
    CODE_LASTS,
    REFRESH_LASTS,
    USED_LASTS,
    AssistantClient,
    AssistantGrant,
    AssistantScope,
    AuthorizationCode,
    AuthorizationRequest,
    IssuedTokens,
    Parameters,
    TokenRequest,
)
from openslot.doors.oauth.rules import (
    CHALLENGE,
    READ_SCOPES,
    allowed_by,
    is_document_address,
    is_proven,
    may_return_to,
    parse_redirect,
    read_scopes,
    with_implied,
    write_scopes,
)
from openslot.doors.oauth.store import expire_of_grant
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.text import is_line
from openslot.platform.core.work import Periodic, Work
from openslot.platform.i18n import Text
from openslot.platform.jobs.batches import delete_old, repeat

READ_ONLY = Text("Your organization allows assistants to read only")
LONGEST_STATE = 2000
# Connections that have ended are kept, so that what they did can be told from what others did.
ENDED_KEPT = timedelta(days=30)
USED_CODES_KEPT = timedelta(days=1)


def resource_of_tools(settings: Settings) -> str:
    """Name the tool server that tokens are issued for."""
    return f"{settings.public_url}/mcp"


async def get_asking_client(work: Work, user: User, given: Parameters) -> AssistantClient:
    """Return the program that asks, or refuse without sending the user anywhere.

    Whoever asks in its name must want the user back at one of the program's own addresses.
    """
    client = await get_client(work, user, given.get("client_id", ""))
    if not may_return_to(client.redirect_uris, given.get("redirect_uri", "")):
        raise InvalidRedirectUri
    return client


def read_request(settings: Settings, client: AssistantClient, given: Parameters) -> AuthorizationRequest:
    """Check all else that a program asks for."""
    if given.get("response_type") != "code":
        raise UnsupportedResponseType
    if given.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(given.get("code_challenge", "")):
        raise InvalidOAuthRequest(Text("The request must have a code challenge with the method S256"))
    state = given.get("state")
    if state is not None and (len(state) > LONGEST_STATE or not is_line(state)):
        raise InvalidOAuthRequest(Text("The state is too long or has characters that are not allowed"))
    resource = given.get("resource", resource_of_tools(settings))
    if resource != resource_of_tools(settings):
        raise InvalidTarget
    asked = given.get("scope", "").strip()
    scopes = read_scopes(asked) if asked else READ_SCOPES
    if not scopes - {AssistantScope.OFFLINE_ACCESS}:
        raise InvalidScope
    return AuthorizationRequest(
        client=client,
        redirect_uri=given["redirect_uri"],
        scopes=with_implied(scopes),
        state=state,
        challenge=given["code_challenge"],
        resource=resource,
    )


async def list_policies(work: Work, user: User) -> frozenset[AssistantPolicy]:
    """List what the organizations of a user say about assistants."""
    return frozenset(await store.list_policies(work.db, user.id))


async def list_grantable(work: Work, user: User, asked: AuthorizationRequest) -> frozenset[AssistantScope]:
    """Return which of the scopes the user can allow; organizations of the user may forbid some, or all."""
    policies = await list_policies(work, user)
    if AssistantPolicy.FORBIDDEN in policies:
        raise AssistantsForbidden
    granted = allowed_by(policies, asked.scopes)
    if not granted - {AssistantScope.OFFLINE_ACCESS}:
        raise InvalidScope(READ_ONLY)
    return granted


async def approve(work: Work, user: User, asked: AuthorizationRequest, chosen: frozenset[AssistantScope]) -> str:
    """Allow what the user has chosen of what was asked for, and return where to send the user with the code."""
    scopes = with_implied(chosen) & await list_grantable(work, user, asked)
    if not scopes - {AssistantScope.OFFLINE_ACCESS}:
        raise InvalidScope
    code, redirect = new_token(), parse_redirect(asked.redirect_uri)
    kept = AuthorizationCode(
        id=new_id(),
        user_id=user.id,
        client_id=asked.client.id,
        client_name=asked.client.name,
        redirect_uri=asked.redirect_uri,
        site=redirect.site if redirect else "",
        scopes=tuple(sorted(scopes)),
        resource=asked.resource,
        challenge=asked.challenge,
        created_at=work.now,
        expires_at=work.now + CODE_LASTS,
    )
    await store.insert_code(work.db, kept, code_hash=fingerprint(code))
    return return_address(work.runtime.settings, asked.redirect_uri, {"code": code, "state": asked.state})


def return_address(settings: Settings, redirect_uri: str, values: dict[str, str | None]) -> str:
    """Write where a user is sent back to; `iss` says which server answers, so that no other can pass for it."""
    sent = {name: value for name, value in values.items() if value is not None}
    return f"{redirect_uri}{'&' if '?' in redirect_uri else '?'}{urlencode({**sent, 'iss': settings.public_url})}"


async def issue(work: Work, asked: TokenRequest) -> IssuedTokens:
    """Issue tokens for a code or a refresh token, each of which is good for once."""
    if asked.grant_type not in {"authorization_code", "refresh_token"}:
        raise UnsupportedGrantType
    if asked.resource and asked.resource != resource_of_tools(work.runtime.settings):
        raise InvalidTarget
    await _check_client(work, asked.client_id)
    exchange = redeem_code if asked.grant_type == "authorization_code" else refresh
    # A refusal is answered after the commit: that a code or token was used twice ends its connection for good.
    async with work.transaction():
        issued = await exchange(work, asked)
    if isinstance(issued, OAuthRefusal):
        raise issued
    return issued


async def _check_client(work: Work, client_id: str) -> None:
    """Refuse a program that is not known; one with a document is known by its address."""
    if is_document_address(client_id):
        return
    if not is_id(client_id) or await store.find_client(work.db, client_id) is None:
        raise InvalidClient


async def redeem_code(work: Work, asked: TokenRequest) -> IssuedTokens | OAuthRefusal:
    """Exchange a code; whatever is wrong with the request, the code can't be used again."""
    code_hash, grant_id = fingerprint(asked.code), new_id()
    code = await store.use_code(work.db, code_hash, grant_id=grant_id, now=work.now)
    if code is None:
        used_for = await store.find_used_code(work.db, code_hash)
        if used_for is not None:
            await end_grant(work, used_for, by="reuse")
        return InvalidGrant()
    is_same = code.client_id == asked.client_id and asked.redirect_uri in {"", code.redirect_uri}
    if not is_same or not is_proven(code.challenge, asked.code_verifier):
        return InvalidGrant()
    if code.resource != resource_of_tools(work.runtime.settings):
        return InvalidTarget()
    lasts = REFRESH_LASTS if AssistantScope.OFFLINE_ACCESS in code.scopes else ACCESS_LASTS
    grant = AssistantGrant(
        id=grant_id,
        user_id=code.user_id,
        client_id=code.client_id,
        client_name=code.client_name,
        site=code.site,
        scopes=code.scopes,
        resource=code.resource,
        created_at=work.now,
        expires_at=work.now + ACCESS_LASTS,
        ends_at=work.now + lasts,
        asks_first=await store.find_asks_first(work.db, code.user_id, code.client_id),
    )
    token = new_key(CredentialKind.ASSISTANT_TOKEN)
    email = await store.insert_grant(work.db, grant, access_hash=fingerprint(token))
    if email is None:
        return InvalidGrant()
    await store.keep_client(work.db, code.client_id, until=work.now + USED_LASTS)
    connected = AssistantConnected(
        user_id=grant.user_id,
        email=email,
        grant_id=grant.id,
        client_id=grant.client_id,
        client_name=grant.client_name,
        scopes=grant.scopes,
    )
    await work.record(connected)
    return await _hand_out(work, grant, token)


async def refresh(work: Work, asked: TokenRequest) -> IssuedTokens | OAuthRefusal:
    """Exchange a refresh token for new tokens; one that was used before has been copied, and ends the connection."""
    token_hash = fingerprint(asked.refresh_token)
    found = await store.find_refresh(work.db, token_hash)
    if found is None or found.grant.client_id != asked.client_id:
        return InvalidGrant()
    grant = found.grant
    if not found.is_used:
        is_usable = found.is_open and found.expires_at > work.now and grant.is_running(now=work.now)
        if not is_usable or grant.resource != resource_of_tools(work.runtime.settings):
            return InvalidGrant()
        if not set(asked.scope.split()) <= set(grant.scopes):
            return InvalidScope("A refresh can't add scopes. Ask the user again")
    if found.is_used or not await store.use_refresh(work.db, token_hash, now=work.now):
        await end_grant(work, grant.id, by="reuse")
        return InvalidGrant()
    token = new_key(CredentialKind.ASSISTANT_TOKEN)
    is_renewed = await store.renew_grant(
        work.db,
        grant.id,
        access_hash=fingerprint(token),
        expires_at=work.now + ACCESS_LASTS,
        ends_at=work.now + REFRESH_LASTS,
    )
    return await _hand_out(work, grant, token) if is_renewed else InvalidGrant()


async def _hand_out(work: Work, grant: AssistantGrant, token: str) -> IssuedTokens:
    refresh_token = None
    if AssistantScope.OFFLINE_ACCESS in grant.scopes:
        refresh_token = new_token()
        await store.insert_refresh_token(
            work.db,
            new_id(),
            grant.id,
            token_hash=fingerprint(refresh_token),
            now=work.now,
            expires_at=work.now + REFRESH_LASTS,
        )
    return IssuedTokens(
        access_token=token,
        token_type="Bearer",  # noqa: S106 - a kind, not a token
        expires_in=int(ACCESS_LASTS.total_seconds()),
        scope=write_scopes(grant.scopes),
        refresh_token=refresh_token,
    )


async def revoke_token(work: Work, token: str, *, client_id: str) -> None:
    """End the connection of a token that its program gives back; tokens that are not known need no answer."""
    grant = await store.find_grant_by_token(work.db, fingerprint(token))
    if grant is not None and client_id in {"", grant.client_id}:
        await end_grant(work, grant.id, by="program")


async def list_assistants(work: Work, user: User) -> list[AssistantGrant]:
    """List the connections that a user has now, newest first."""
    return await store.list_grants(work.db, user.id, now=work.now)


async def get_assistant(work: Work, user: User, grant_id: UUID) -> AssistantGrant:
    grant = await store.find_grant(work.db, user.id, grant_id)
    if grant is None:
        raise AssistantNotFound
    return grant


async def change_asks_first(work: Work, user: User, grant_id: UUID, asks_first: AsksFirst) -> None:
    """Change which calls of an assistant wait for the user's approval, from the next call on."""
    grant = await get_assistant(work, user, grant_id)
    await store.change_asks_first(work.db, user.id, grant.id, asks_first)


async def end_assistant_grant(work: Work, user: User, grant_id: UUID, *, by: EndedBy = "user") -> None:
    """End a connection of a user, from the next call on."""
    await end_grant(work, (await get_assistant(work, user, grant_id)).id, by=by)


async def remove_client(work: Work, client_id: str) -> int:
    """Forget a program and end all its connections; return how many there were."""
    running = await store.list_grants_of_client(work.db, client_id, now=work.now)
    for grant_id in running:
        await end_grant(work, grant_id, by="operator")
    if not running:
        await forget_client(work, client_id)
    else:
        await store.delete_client(work.db, client_id)
    return len(running)


async def end_grant(work: Work, grant_id: UUID, *, by: EndedBy) -> None:
    """End a connection, if it has not ended before."""
    ended = await store.revoke_grant(work.db, grant_id, now=work.now)
    if ended is None:
        return
    grant, email = ended
    await expire_of_grant(work.db, grant.id, now=work.now)
    gone = AssistantDisconnected(
        user_id=grant.user_id, email=email, grant_id=grant.id, client_name=grant.client_name, by=by
    )
    await work.record(gone)


async def tidy_assistants(work: Work) -> str:
    """Forget programs that nobody has connected, and what was issued and can't be used any more."""
    programs = await repeat(lambda limit: store.delete_unused_clients(work.db, before=work.now, limit=limit))
    await delete_old(work.db, "assistant_codes", "expires_at", before=work.now - USED_CODES_KEPT)
    await delete_old(work.db, "assistant_refresh_tokens", "expires_at", before=work.now)
    ended = await delete_old(work.db, "assistant_grants", "ends_at", before=work.now - ENDED_KEPT)
    return f"{programs} programs and {ended} ended connections removed"


ASSISTANT_JOBS = (Periodic(name="assistants.tidy", expression="26 * * * *", run=tidy_assistants, transaction="none"),)
