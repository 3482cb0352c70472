"""The provider over HTTP: what it says about itself, its keys, and the exchange of a code for tokens."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.oidc.models import (
    InvalidOidcResponse,
    OidcAttempt,
    OidcNotConfigured,
    OidcUnreachable,
    Provider,
    ProviderMetadata,
)
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound, OutboundRefused, RequestLimits
from openslot.platform.core.work import Runtime

if TYPE_CHECKING:
    from joserfc.jwk import Key

CALLBACK = "/login/oidc/callback"
SCOPE = "openid email profile"
LIMITS = RequestLimits(connect_within=timedelta(seconds=5), within=timedelta(seconds=10), at_most=256 * 1024)
KEPT_SECONDS = 600.0
# A key that is not known may be new; an attacker's token must not make us ask again and again.
READ_AGAIN_SECONDS = 30.0
TRY_AGAIN_SECONDS = 5.0
UNREADABLE = (httpx2.HTTPError, OutboundRefused, msgspec.MsgspecError, UnicodeDecodeError)


class KeysDocument(Struct, frozen=True):
    """The provider's public keys, as they are published."""

    keys: list[dict[str, Any]]


class ProviderCache:
    """What this process has read from the provider, and when."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.metadata: tuple[float, ProviderMetadata] | None = None
        self.keys: tuple[float, tuple[Key, ...]] | None = None
        self.failure: tuple[float, str] | None = None

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Let one reader at a time ask the provider; if it has just failed, the others do not wait for it again."""
        async with self.lock:
            if self.failure is not None and time.monotonic() - self.failure[0] < TRY_AGAIN_SECONDS:
                raise OidcUnreachable(self.failure[1])
            try:
                yield
            except OidcUnreachable as refusal:
                self.failure = (time.monotonic(), refusal.reason)
                raise


def find_provider(settings: Settings) -> Provider | None:
    if settings.oidc_issuer is None or settings.oidc_client_id is None or settings.oidc_client_secret is None:
        return None
    return Provider(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        redirect_uri=f"{settings.public_url}{CALLBACK}",
    )


def get_provider(settings: Settings) -> Provider:
    """Return the provider that the settings name, or refuse."""
    provider = find_provider(settings)
    if provider is None:
        raise OidcNotConfigured
    return provider


async def get_provider_metadata(runtime: Runtime, provider: Provider) -> ProviderMetadata:
    """Return what the provider says about itself, at most ten minutes old."""
    cache = runtime.one(ProviderCache)
    async with cache.asking():
        if cache.metadata is None or time.monotonic() - cache.metadata[0] > KEPT_SECONDS:
            cache.metadata = (time.monotonic(), await read_metadata(runtime.outbound.on_behalf_of(None), provider))
        return cache.metadata[1]


async def get_provider_keys(
    runtime: Runtime, metadata: ProviderMetadata, *, read_again: bool = False
) -> "tuple[Key, ...]":
    """Return the provider's keys, at most ten minutes old, or as new as possible."""
    cache = runtime.one(ProviderCache)
    async with cache.asking():
        age = time.monotonic() - cache.keys[0] if cache.keys else KEPT_SECONDS + 1
        if cache.keys is None or age > (READ_AGAIN_SECONDS if read_again else KEPT_SECONDS):
            cache.keys = (time.monotonic(), await read_keys_of(runtime.outbound.on_behalf_of(None), metadata))
        return cache.keys[1]


async def read_metadata(outbound: Outbound, provider: Provider) -> ProviderMetadata:
    """Read and check what the provider says about itself."""
    url = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
    metadata: ProviderMetadata = await _get(outbound, url, ProviderMetadata)
    if metadata.issuer != provider.issuer:
        raise OidcUnreachable(f"the provider calls itself {metadata.issuer!r}, not {provider.issuer!r}")
    endpoints = (metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri)
    for endpoint in (*endpoints, metadata.userinfo_endpoint or endpoints[0]):
        is_plain = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
        is_secure = endpoint.startswith("https://") or provider.issuer.startswith("http://")
        if not (is_plain and is_secure):
            raise OidcUnreachable(f"the endpoint {endpoint!r} does not begin with https://")
    return metadata


async def read_keys_of(outbound: Outbound, metadata: ProviderMetadata) -> "tuple[Key, ...]":
    # Loaded with the first sign-in: every start of a process would wait for the library.
    from openslot.domains.oidc.tokens import read_keys  # noqa: PLC0415

    document: KeysDocument = await _get(outbound, metadata.jwks_uri, KeysDocument)
    keys = read_keys(document.keys)
    if not keys:
        raise OidcUnreachable(f"{metadata.jwks_uri} has no key for signatures")
    return keys


def write_authorization_url(
    outbound: Outbound, metadata: ProviderMetadata, provider: Provider, attempt: OidcAttempt
) -> str:
    """Write the address at the provider where the person signs in."""
    url, _ = _open_client(provider, metadata, outbound).create_authorization_url(
        metadata.authorization_endpoint, state=attempt.state, nonce=attempt.nonce, code_verifier=attempt.verifier
    )
    return str(url)


async def exchange_code(
    outbound: Outbound, metadata: ProviderMetadata, provider: Provider, code: str, attempt: OidcAttempt
) -> Mapping[str, object]:
    """Exchange a code for tokens; the provider checks that it was this very sign-in that has asked for it."""
    from authlib.integrations.base_client.errors import OAuthError  # noqa: PLC0415

    async with _open_client(provider, metadata, outbound) as client:
        try:
            tokens: Mapping[str, object] = await client.fetch_token(
                metadata.token_endpoint, code=code, code_verifier=attempt.verifier, grant_type="authorization_code"
            )
        except OAuthError as fault:
            if fault.error == "invalid_grant":
                raise InvalidOidcResponse("the provider does not accept the code") from None
            raise OidcUnreachable(f"the provider refuses to exchange the code: {fault.error}") from None
        except (*UNREADABLE, ValueError) as fault:
            raise OidcUnreachable(f"the code can't be exchanged: {fault}") from None
    return tokens


async def read_userinfo(outbound: Outbound, metadata: ProviderMetadata, access_token: str) -> Mapping[str, object]:
    """Read claims that the ID token does not have."""
    if metadata.userinfo_endpoint is None:
        return {}
    headers = {"Authorization": f"Bearer {access_token}"}
    claims: Mapping[str, object] = await _get(outbound, metadata.userinfo_endpoint, dict[str, Any], headers=headers)
    return claims


async def _get(outbound: Outbound, url: str, kind: type[Any], *, headers: Mapping[str, str] | None = None) -> Any:
    try:
        async with outbound.client(limits=LIMITS, headers={"Accept": "application/json", **(headers or {})}) as client:
            response = await client.get(url)
        if response.status_code != httpx2.codes.OK:
            raise OidcUnreachable(f"{url} answers with status {response.status_code}")
        return msgspec.json.decode(response.content, type=kind)
    except UNREADABLE as fault:
        raise OidcUnreachable(f"{url} can't be read: {fault}") from None


def _open_client(provider: Provider, metadata: ProviderMetadata, outbound: Outbound) -> Any:
    from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415

    methods = metadata.token_endpoint_auth_methods_supported
    is_basic = "client_secret_basic" in methods or "client_secret_post" not in methods
    return AsyncOAuth2Client(
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        token_endpoint_auth_method="client_secret_basic" if is_basic else "client_secret_post",
        scope=SCOPE,
        redirect_uri=provider.redirect_uri,
        code_challenge_method="S256",
        transport=outbound.transport(LIMITS),
        timeout=None,
        trust_env=False,
    )
