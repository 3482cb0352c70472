"""Requests to a vendor's OAuth endpoints: the address of its page, and codes and refresh tokens for access tokens."""

import re
from datetime import datetime, timedelta
from typing import Any

import httpx2

from openslot.domains.oauth.models import (
    AdminConsentNeeded,
    InvalidOAuthResponse,
    OAuthClient,
    OAuthUnreachable,
    TokenAnswer,
)
from openslot.platform.core.outbound import Outbound, OutboundRefused, RequestLimits

LIMITS = RequestLimits(connect_within=timedelta(seconds=5), within=timedelta(seconds=10), at_most=64 * 1024)
SHORTEST_LIFE, LONGEST_LIFE = 60, 86_400
LONGEST_TOKEN = 16_000


# The vendor wants the person themselves, so that asking again is of no use.
FINAL = frozenset({"invalid_grant", "interaction_required", "consent_required", "login_required"})
# Microsoft's numbers for "only an administrator can allow this".
ADMIN_CODES = frozenset({"AADSTS65001", "AADSTS90093", "AADSTS90094", "AADSTS90095"})
CODE = re.compile(r"\bAADSTS[0-9]{4,10}\b")


class GrantRefused(Exception):
    """The vendor does not accept a code or a refresh token, and never will."""

    def __init__(self, description: str) -> None:
        super().__init__()
        self.needs_admin = needs_admin(description)


def needs_admin(description: str) -> bool:
    """Return whether a refusal says that only an administrator can allow access."""
    return not ADMIN_CODES.isdisjoint(CODE.findall(description))


def write_auth_url(outbound: Outbound, client: OAuthClient, *, state: str, verifier: str) -> str:
    """Write the address of the vendor's page on which the person decides."""
    url, _ = _open(outbound, client).create_authorization_url(
        client.auth_url, state=state, code_verifier=verifier, **client.parameters
    )
    return str(url)


async def exchange_code(
    outbound: Outbound, client: OAuthClient, code: str, *, verifier: str, now: datetime
) -> TokenAnswer:
    """Exchange a code for tokens; the vendor checks that we have begun it."""
    try:
        return await _ask(
            outbound, client, {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}, now=now
        )
    except GrantRefused as refusal:
        if refusal.needs_admin:
            raise AdminConsentNeeded from None
        raise InvalidOAuthResponse("the vendor does not accept the code") from None


async def refresh_grant(outbound: Outbound, client: OAuthClient, refresh_token: str, *, now: datetime) -> TokenAnswer:
    """Exchange a refresh token for an access token, and maybe for another refresh token."""
    return await _ask(outbound, client, {"grant_type": "refresh_token", "refresh_token": refresh_token}, now=now)


async def _ask(outbound: Outbound, client: OAuthClient, what: dict[str, str], *, now: datetime) -> TokenAnswer:
    # Loaded with the first connection: every start of a process would wait for the library.
    from authlib.integrations.base_client.errors import OAuthError  # noqa: PLC0415

    async with _open(outbound, client) as session:
        try:
            answer: dict[str, Any] = await session.fetch_token(client.token_url, **what)
        except OAuthError as fault:
            description = str(fault.description or "")
            if fault.error in FINAL:
                raise GrantRefused(description) from None
            codes = "".join(f" ({code})" for code in CODE.findall(description)[:1])
            raise OAuthUnreachable(f"{client.name} refuses: {fault.error}{codes}") from None
        except (httpx2.HTTPError, OutboundRefused, ValueError) as fault:
            raise OAuthUnreachable(f"{client.name} can't be asked for a token: {type(fault).__name__}") from None
    return _read(client, answer, now)


def _read(client: OAuthClient, answer: dict[str, Any], now: datetime) -> TokenAnswer:
    token, renewed, scope = (answer.get(name) for name in ("access_token", "refresh_token", "scope"))
    if not _is_token(token) or str(answer.get("token_type", "")).lower() != "bearer":
        raise OAuthUnreachable(f"{client.name} has sent no access token")
    lasts = answer.get("expires_in")
    seconds = min(max(int(lasts), SHORTEST_LIFE), LONGEST_LIFE) if isinstance(lasts, int) else 3600
    return TokenAnswer(
        access_token=str(token),
        refresh_token=str(renewed) if _is_token(renewed) else None,
        expires_at=now + timedelta(seconds=seconds),
        scopes=tuple(scope.split()) if isinstance(scope, str) else None,
    )


def _is_token(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and 0 < len(value) <= LONGEST_TOKEN


def _open(outbound: Outbound, client: OAuthClient) -> Any:
    from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415

    return AsyncOAuth2Client(
        client_id=client.client_id,
        client_secret=client.client_secret,
        token_endpoint_auth_method="client_secret_post",  # noqa: S106 - the name of a method
        scope=client.scope,
        redirect_uri=client.redirect_uri,
        code_challenge_method="S256",
        transport=outbound.transport(LIMITS),
        timeout=None,
        trust_env=False,
    )
