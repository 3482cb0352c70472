"""The nouns: the provider, a sign-in that is under way, who has signed in by which claims, and what is refused."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.errors import Conflict, Forbidden, NotFound, Unavailable
from openslot.platform.core.text import is_line, is_visible, parse_email
from openslot.platform.core.times import find_zone
from openslot.platform.i18n import Text


class Provider(Struct, frozen=True, kw_only=True):
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


class OidcNotConfigured(NotFound):
    """No identity provider is configured."""

    code = "oidc_not_configured"


class OidcUnreachable(Unavailable):
    """The identity provider can't be reached, or its response is invalid; the log says why."""

    code = "oidc_unreachable"

    def __init__(self, reason: str) -> None:
        super().__init__(Text("The sign-in service can't be reached right now"), retry_after=10)
        self.reason = reason


class OidcDeclined(Forbidden):
    """The identity provider returned an error: the person has cancelled, or may not use this application."""

    code = "oidc_declined"
    message = Text("The sign-in was cancelled or not allowed by the sign-in service")


class InvalidOidcResponse(Forbidden):
    """The response is not for a sign-in that this browser has started, or not from the provider; the log says why."""

    code = "invalid_oidc_response"

    def __init__(self, reason: str, *, is_of_another: bool = False) -> None:
        super().__init__(Text("This sign-in could not be verified, or has expired"))
        self.reason = reason
        self.is_of_another = is_of_another
        """Whether the answer belongs to another sign-in than the one that this browser has begun last."""


class OidcAccountNotFound(Forbidden):
    """There is no account for this person, and none is created."""

    code = "oidc_account_not_found"
    message = Text("There is no account for you here")


class OidcEmailUnverified(Forbidden):
    """The provider does not say that the person's email address is verified, so that no account can be found by it."""

    code = "oidc_email_unverified"
    message = Text("The sign-in service does not confirm your email address")


class OidcAccountDisabled(Forbidden):
    """The account of this person is disabled."""

    code = "oidc_account_disabled"
    message = Text("Your account is disabled")


class IdentityAlreadyConnected(Conflict):
    """The account is connected to another person of the provider, or this person to another account."""

    code = "identity_already_connected"
    message = Text("Another account is already connected")


class SignInMethodRequired(Conflict):
    """An account without a password can't be disconnected from the provider."""

    code = "sign_in_method_required"
    message = Text("Your account has no password yet, so this is your only way to sign in")


LONGEST_NAME = 200

Claims = Mapping[str, object]


def read_identity(claims: Claims, *, issuer: str) -> ProvenIdentity:
    """Return the person that claims are about; only the word `true` makes an email address a verified one."""
    email = _text(claims, "email")
    try:
        email = parse_email(email) if email else None
    except ValueError:
        email = None
    name, zone = _text(claims, "name"), _text(claims, "zoneinfo")
    return ProvenIdentity(
        issuer=issuer,
        subject=str(claims["sub"]),
        email=email,
        is_email_verified=claims.get("email_verified") is True,
        name=name[:LONGEST_NAME] if name and is_line(name) and is_visible(name) else None,
        zone=zone if zone and find_zone(zone) else None,
        locale=_text(claims, "locale"),
    )


def _text(claims: Claims, name: str) -> str | None:
    found = claims.get(name)
    return found.strip() or None if isinstance(found, str) else None
