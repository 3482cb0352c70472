"""The nouns: the provider, a sign-in that is under way, and who has signed in."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct


class Provider(Struct, frozen=True, kw_only=True):
    """The identity provider that the operator has chosen."""

    issuer: str
    client_id: str
    client_secret: str
    redirect_uri: str


class ProviderMetadata(Struct, frozen=True, kw_only=True):
    """What the provider says about itself, as far as it is used."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class OidcAttempt(Struct, frozen=True, kw_only=True):
    """A sign-in that this browser has begun; it is kept, encrypted, in a cookie of the browser."""

    state: str
    nonce: str
    verifier: str
    wanted: str
    """The page to open afterwards."""
    expires_at: datetime
    connects: UUID | None = None
    """The user who connects the account, if it is not a sign-in."""


class AuthorizationResponse(Struct, frozen=True, kw_only=True):
    """What the provider has sent back through the browser."""

    code: str = ""
    state: str = ""
    error: str = ""


class ProvenIdentity(Struct, frozen=True, kw_only=True):
    """A person as the provider has proved it."""

    issuer: str
    subject: str
    email: str | None
    is_email_verified: bool
    name: str | None
    zone: str | None
    locale: str | None
