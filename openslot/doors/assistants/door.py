"""The doors of OAuth and of assistants: who holds a token of this server, and errors as OAuth writes them."""

from msgspec.structs import replace

from openslot.domains.access.door import enter, refuse_failed
from openslot.domains.access.models import AssistantEntry, CredentialKind, Entry
from openslot.domains.accounts.models import AssistantPolicy
from openslot.doors.http.doors import JSON, Door, Exchange, encode, enter_freely
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.http.forms import URLENCODED
from openslot.doors.http.security import api_headers
from openslot.doors.mcp.door import (
    MAX_BYTES,
    READ_BY_CLIENTS,
    SENT_BY_CLIENTS,
    admit_some_origins,
    is_loopback_origin,
    is_public_origin,
    refuse_with_rpc,
)
from openslot.doors.oauth import operations
from openslot.doors.oauth.errors import AssistantScopeRequired, AssistantsForbidden, InvalidOAuthRequest, OAuthRefusal
from openslot.doors.oauth.models import AssistantScope
from openslot.doors.oauth.operations import resource_of_tools
from openslot.doors.oauth.rules import READ_SCOPES, allowed_by, with_implied, write_scopes
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal, RefusalKind, Unauthorized
from openslot.platform.core.work import Runtime
from openslot.platform.routing import RateLimit, Response

PATH = "/mcp"
STDIO = "openslot mcp"
METADATA = "/.well-known/oauth-protected-resource"
# The pages of assistants that call from the browser, and not only from their makers' servers.
ORIGINS = frozenset({"https://claude.ai", "https://claude.com", "https://chatgpt.com"})
READS = RateLimit("oauth-reads", 120)
# The programs of many people come from the addresses of one company.
WRITES = RateLimit("oauth-writes", 120)
CODES = {
    RefusalKind.RATE_LIMITED: "temporarily_unavailable",
    RefusalKind.UNAVAILABLE: "temporarily_unavailable",
    RefusalKind.INTERNAL: "server_error",
}


def oauth_doors(settings: Settings) -> tuple[Door, ...]:
    """Open what programs need before they have a token; every page may ask, because no cookie counts here."""
    tokens = Door(
        name="oauth",
        prefixes=("/oauth/token", "/oauth/revoke"),
        enter=enter_freely,
        refuse=refuse_with_oauth,
        media_types=(URLENCODED,),
        max_bytes=16 * 1024,
        headers=api_headers(settings),
        open_to_other_origins=True,
        allowed_headers="Content-Type, MCP-Protocol-Version",
        reads=READS,
        writes=WRITES,
    )
    prefixes = ("/oauth/register", METADATA, "/.well-known/oauth-authorization-server")
    return tokens, replace(tokens, name="oauth metadata", prefixes=prefixes, media_types=(JSON,))


def refuse_with_oauth(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse as RFC 6749 says: `error` is a name that programs know, `error_description` a sentence."""
    if isinstance(refusal, OAuthRefusal) and not isinstance(refusal, InvalidOAuthRequest):
        error = refusal.code
    else:
        error = CODES.get(refusal.kind, "invalid_request")
    faults = ", ".join(f"{field} {fault}" for field, fault in (refusal.details or {}).items())
    described = f"{refusal.message}: {faults}" if faults else refusal.message
    headers = {"content-type": JSON, "x-error-code": refusal.code, **headers_of(refusal)}
    body = encode({"error": error, "error_description": described})
    return Response(status=status_of(refusal), headers=headers, body=body)


async def enter_as_assistant(exchange: Exchange) -> Entry:
    """Authenticate by an access token that was issued for this server, with what may be done with it now."""
    runtime = exchange.runtime
    kind = CredentialKind.ASSISTANT_TOKEN
    authorization = exchange.headers.get("authorization", "")
    entry = await enter(runtime, kind, authorization=authorization, address=exchange.address)
    if not isinstance(entry, AssistantEntry) or entry.resource != resource_of_tools(runtime.settings):
        await refuse_failed(runtime, exchange.address, kind)
    if AssistantPolicy.FORBIDDEN in entry.policies:
        raise AssistantsForbidden
    allowed = allowed_by(entry.policies, with_implied(map(AssistantScope, entry.scopes)))
    return replace(entry, scopes=frozenset(allowed))


async def enter_with_key(runtime: Runtime, key: str) -> AssistantEntry:
    """Authenticate a program on the user's own machine by an API key; it may do what the user's organizations allow."""
    entry = await enter(runtime, CredentialKind.API_KEY, authorization=f"Bearer {key}", address=STDIO)
    if entry.user is None or entry.actor.credential_id is None:
        raise Unauthorized
    policies = await operations.list_policies(runtime.work(entry.actor), entry.user)
    if AssistantPolicy.FORBIDDEN in policies:
        raise AssistantsForbidden
    return AssistantEntry(
        actor=replace(entry.actor, assistant=STDIO),
        user=entry.user,
        grant_id=entry.actor.credential_id,
        client_name=STDIO,
        scopes=frozenset(allowed_by(policies, AssistantScope)),
        resource=resource_of_tools(runtime.settings),
        policies=policies,
        limit=entry.limit,
    )


def assistant_door(settings: Settings) -> Door:
    return Door(
        name="assistants",
        prefixes=(PATH,),
        enter=enter_as_assistant,
        refuse=_refuse,
        media_types=(JSON,),
        max_bytes=MAX_BYTES,
        headers=api_headers(settings),
        open_to=find_open_origin,
        allowed_headers=f"Authorization, {SENT_BY_CLIENTS}",
        exposed_headers=READ_BY_CLIENTS,
        admit=admit_some_origins,
    )


def find_open_origin(exchange: Exchange) -> str | None:
    """Return the origin of a page that may call: ours, those of known assistants, and programs on one's own computer.

    All of them need a token that the user has allowed: no cookie counts here.
    """
    origin = exchange.headers.get("origin", "")
    given = origin.strip().lower()
    is_open = given in ORIGINS or is_public_origin(given, exchange.runtime.settings) or is_loopback_origin(given)
    return origin if is_open else None


def _refuse(refusal: Refusal, exchange: Exchange) -> Response:
    """Refuse as every tool server does, and tell a program without a token where to get one."""
    answer = refuse_with_rpc(refusal, exchange)
    shown = exchange.headers.get("authorization", "")
    return replace(answer, headers={**answer.headers, **challenge(refusal, exchange.runtime.settings, shown=shown)})


def challenge(refusal: Refusal, settings: Settings, *, shown: str = "") -> dict[str, str]:
    """Tell a program where to get a token, or for what else it must ask the user.

    A program that has shown a token is told that it is not valid (RFC 6750), so that it does not show it again.
    """
    metadata = f'resource_metadata="{settings.public_url}{METADATA}{PATH}"'
    if isinstance(refusal, Unauthorized):
        why = 'error="invalid_token", ' if shown.partition(" ")[0].lower() == "bearer" else ""
        return {"WWW-Authenticate": f'Bearer {why}{metadata}, scope="{write_scopes(READ_SCOPES)}"'}
    if isinstance(refusal, AssistantScopeRequired):
        return {"WWW-Authenticate": f'Bearer error="insufficient_scope", {metadata}, scope="{refusal.scope}"'}
    return {}
