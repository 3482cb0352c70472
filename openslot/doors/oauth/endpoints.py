"""The endpoints of OAuth for programs: metadata, registration, tokens and their revocation."""

from msgspec import Struct

from openslot.doors.http.doors import Exchange
from openslot.doors.oauth import clients, operations
from openslot.doors.oauth.models import AssistantScope, IssuedTokens, TokenRequest
from openslot.doors.oauth.operations import resource_of_tools
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Response, get, post

GRANT_TYPES = ("authorization_code", "refresh_token")
REGISTRATIONS = RateLimit("oauth-registrations", 10)


@get("/.well-known/oauth-protected-resource")
async def describe_resource(work: Work) -> dict[str, object]:
    """Say which tool server tokens are for, and who issues them (RFC 9728)."""
    settings = work.runtime.settings
    return {
        "resource": resource_of_tools(settings),
        "resource_name": "Openslot",
        "authorization_servers": [settings.public_url],
        # Staying connected is a matter between the program and this server, not of the resource.
        "scopes_supported": [scope for scope in AssistantScope if scope is not AssistantScope.OFFLINE_ACCESS],
        "bearer_methods_supported": ["header"],
    }


@get("/.well-known/oauth-protected-resource/mcp")
async def describe_tool_server(work: Work) -> dict[str, object]:
    """Say the same at the address that belongs to the path of the tool server."""
    return await describe_resource(work)


@get("/.well-known/oauth-authorization-server")
async def describe_server(work: Work) -> dict[str, object]:
    """Say what this authorization server can do (RFC 8414)."""
    settings = work.runtime.settings
    issuer = settings.public_url
    described: dict[str, object] = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/oauth/authorize",
        "token_endpoint": f"{issuer}/oauth/token",
        "revocation_endpoint": f"{issuer}/oauth/revoke",
        "scopes_supported": list(AssistantScope),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANT_TYPES,
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }
    if settings.assistant_registration:
        described["registration_endpoint"] = f"{issuer}/oauth/register"
    return described


@post("/oauth/register", status=201, limit=REGISTRATIONS)
async def register_client(request: Exchange, work: Work) -> dict[str, object]:
    """Register a program that has no document of its own (RFC 7591)."""
    client = await clients.register(work, request.body)
    return {
        "client_id": client.id,
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": GRANT_TYPES,
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


@post("/oauth/token", transaction="none")
async def issue_tokens(work: Work, data: TokenRequest) -> IssuedTokens:
    """Exchange a code or a refresh token for tokens (RFC 6749)."""
    return await operations.issue(work, data)


class RevocationRequest(Struct, frozen=True, kw_only=True):
    token: str = ""
    client_id: str = ""


@post("/oauth/revoke")
async def revoke_token(work: Work, data: RevocationRequest) -> Response:
    """End the connection of a token (RFC 7009); the answer is the same for tokens that are not known."""
    await operations.revoke_token(work, data.token, client_id=data.client_id)
    return Response(headers={"content-type": "application/json"}, body=b"{}")
