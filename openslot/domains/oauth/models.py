"""The nouns of access by OAuth: our client at a vendor, a consent under way, its tokens, and what is refused."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Forbidden, NotFound, Unavailable
from openslot.platform.i18n import Text

GOOGLE_SCOPES = "https://www.googleapis.com/auth"
# Microsoft names scopes with and without it, and in any case of letters.
GRAPH_SCOPES = "https://graph.microsoft.com/"
MICROSOFT_LASTING = "offline_access"


class OAuthVendor(StrEnum):
    GOOGLE = "google"
    MICROSOFT = "microsoft"


class Permission(Struct, frozen=True):
    """A part of the consent that people can leave out, in the vendor's words and in ours."""

    scope: str
    meaning: Text


class OAuthClient(Struct, frozen=True, kw_only=True):
    """Openslot as a vendor knows it: the client that the operator has registered there."""

    vendor: OAuthVendor
    name: str
    calendars: Text
    """The usual name of the vendor's calendars."""
    client_id: str
    client_secret: str
    auth_url: str
    token_url: str
    redirect_uri: str
    permissions: tuple[Permission, ...]
    parameters: dict[str, str]
    """Further parameters that the vendor's page needs."""
    lasting: tuple[str, ...] = ()
    """Scopes for access after the visit, which the vendor does not name in its answer."""

    @property
    def scope(self) -> str:
        return " ".join((*self.lasting, *(each.scope for each in self.permissions)))

    def list_missing(self, granted: Collection[str]) -> tuple[Permission, ...]:
        """List what is needed and was not allowed."""
        names = {_short(each) for each in granted}
        return tuple(each for each in self.permissions if _short(each.scope) not in names)


PERMISSIONS = {
    OAuthVendor.GOOGLE: (
        Permission(f"{GOOGLE_SCOPES}/calendar.calendarlist.readonly", Text("See the list of your calendars")),
        Permission(f"{GOOGLE_SCOPES}/calendar.events", Text("See and edit the events of your calendars")),
    ),
    OAuthVendor.MICROSOFT: (
        Permission("User.Read", Text("See the address of your account")),
        Permission("Calendars.ReadWrite", Text("See and edit the events of your calendars")),
    ),
}


def _short(scope: str) -> str:
    return scope.lower().removeprefix(GRAPH_SCOPES)


def redirect_uri(settings: Settings, vendor: OAuthVendor) -> str:
    """Return the one address that the operator registers at the vendor."""
    return f"{settings.public_url}/connect/{vendor}/callback"


def find_client(settings: Settings, vendor: OAuthVendor) -> OAuthClient | None:
    """Return our client at a vendor; None if the operator has registered none."""
    return _find_google(settings) if vendor is OAuthVendor.GOOGLE else _find_microsoft(settings)


def list_clients(settings: Settings) -> list[OAuthClient]:
    """List our clients at all vendors at which the operator has registered one."""
    return [client for vendor in OAuthVendor if (client := find_client(settings, vendor)) is not None]


def _find_google(settings: Settings) -> OAuthClient | None:
    if settings.google_client_id is None or settings.google_client_secret is None:
        return None
    return OAuthClient(
        vendor=OAuthVendor.GOOGLE,
        name="Google",
        calendars=Text("Google Calendar"),
        client_id=settings.google_client_id,
        client_secret=settings.google_client_secret,
        auth_url=settings.google_auth_url,
        token_url=settings.google_token_url,
        redirect_uri=redirect_uri(settings, OAuthVendor.GOOGLE),
        permissions=PERMISSIONS[OAuthVendor.GOOGLE],
        # Without these two, Google gives a token that can be renewed only at the first consent.
        parameters={"access_type": "offline", "prompt": "consent"},
    )


def _find_microsoft(settings: Settings) -> OAuthClient | None:
    if settings.microsoft_client_id is None or settings.microsoft_client_secret is None:
        return None
    base = f"{settings.microsoft_login_url.rstrip('/')}/{settings.microsoft_tenant}/oauth2/v2.0"
    return OAuthClient(
        vendor=OAuthVendor.MICROSOFT,
        name="Microsoft",
        calendars=Text("Microsoft 365"),
        client_id=settings.microsoft_client_id,
        client_secret=settings.microsoft_client_secret,
        auth_url=f"{base}/authorize",
        token_url=f"{base}/token",
        redirect_uri=redirect_uri(settings, OAuthVendor.MICROSOFT),
        permissions=PERMISSIONS[OAuthVendor.MICROSOFT],
        # Otherwise Microsoft takes the account that the browser is signed in to, without asking.
        parameters={"prompt": "select_account"},
        lasting=(MICROSOFT_LASTING,),
    )


class ConsentAttempt(Struct, frozen=True, kw_only=True):
    """A consent that a user has begun in one session."""

    user_id: UUID
    vendor: OAuthVendor
    verifier: bytes
    """Encrypted."""
    renews: UUID | None
    """The connection whose consent has ended."""
    expires_at: datetime


class CallbackQuery(Struct, frozen=True, kw_only=True):
    """What a vendor sends back through the browser."""

    code: str = ""
    state: str = ""
    error: str = ""
    error_description: str = ""
    """Never shown: anybody can write it."""


class Tokens(Struct, frozen=True, kw_only=True):
    """Kept sealed."""

    access_token: str
    refresh_token: str


class TokenAnswer(Struct, frozen=True, kw_only=True):
    access_token: str
    refresh_token: str | None
    expires_at: datetime
    scopes: tuple[str, ...] | None
    """None if the vendor does not say, so that they are those that were asked for."""


class Consent(Struct, frozen=True, kw_only=True):
    """What a user has allowed just now."""

    vendor: OAuthVendor
    tokens: Tokens
    expires_at: datetime
    scopes: tuple[str, ...]
    renews: UUID | None


class GrantState(StrEnum):
    OK = "ok"
    NEEDS_CONSENT = "needs_consent"


class Grant(Struct, frozen=True, kw_only=True):
    """What the owner of a connection has allowed; it has the connection's id."""

    id: UUID
    owner_id: UUID
    vendor: OAuthVendor
    secret: bytes
    scopes: tuple[str, ...]
    state: GrantState
    expires_at: datetime
    """When the access token expires."""
    refresher: UUID | None = None
    refreshing_until: datetime | None = None
    """The time until which one process asks the vendor for new tokens, and all others wait."""
    created_at: datetime


class TokenSource(Protocol):
    async def get(self, *, refused: str | None = None) -> str:
        """Give an access token that is valid, and another one than the vendor has just refused."""
        ...


class OneToken(Struct, frozen=True):
    """The token of a consent that is not stored yet."""

    token: str

    async def get(self, *, refused: str | None = None) -> str:
        if refused == self.token:
            raise ConsentNeeded
        return self.token


class OAuthNotConfigured(NotFound):
    """The operator has registered no client at this vendor."""

    code = "oauth_not_configured"


class OAuthUnreachable(Unavailable):
    """The vendor can't be reached, or its response is invalid; the log says why."""

    code = "oauth_unreachable"

    def __init__(self, reason: str) -> None:
        super().__init__(Text("The other service can't be reached right now"), retry_after=10)
        self.reason = reason


class ConsentDeclined(Forbidden):
    """The person has cancelled at the vendor, or may not use this application there."""

    code = "oauth_declined"
    message = Text("You cancelled, or access was not allowed there. Nothing was connected")


class AdminConsentNeeded(Forbidden):
    """At the vendor, only an administrator of the person's organization can allow this application."""

    code = "oauth_admin_consent_needed"
    message = Text(
        "Your organization lets only its administrators allow new applications. Ask one of them to allow Openslot, "
        "then connect again. Nothing was connected"
    )


class ConsentIncomplete(Forbidden):
    """The person has left out a part of the consent that is needed."""

    code = "oauth_incomplete"

    def __init__(self, missing: tuple[Permission, ...]) -> None:
        super().__init__(Text("Not everything that is needed was allowed. Nothing was connected"))
        self.missing = missing


class InvalidOAuthResponse(Forbidden):
    """The response does not belong to a consent that this session has begun; the log says why."""

    code = "invalid_oauth_response"

    def __init__(self, reason: str) -> None:
        super().__init__(Text("This could not be verified, or took too long. Start again"))
        self.reason = reason


class ConsentNeeded(Forbidden):
    """The consent was revoked or has expired; only its owner can give it again."""

    code = "oauth_consent_needed"
    message = Text("Access was revoked or has expired. Connect the account again")
