"""The nouns: programs that ask for a connection, what they ask for, what was allowed, and what is issued."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.models import AsksFirst
from openslot.doors.mcp.approvals import ApprovableCall

CODE_LASTS = timedelta(seconds=60)
ACCESS_LASTS = timedelta(hours=1)
# From its last use; each refresh begins anew.
REFRESH_LASTS = timedelta(days=30)
# Until somebody connects a program that has registered itself, and after the last time somebody did.
UNUSED_LASTS = timedelta(days=1)
USED_LASTS = timedelta(days=90)

Parameters = Mapping[str, str]


class AssistantScope(StrEnum):
    """What an assistant may do for the user who has connected it."""

    BOOKINGS_READ = "bookings:read"
    BOOKINGS_WRITE = "bookings:write"
    EVENT_TYPES_READ = "event_types:read"
    CONTACTS_READ = "contacts:read"
    CONTACTS_WRITE = "contacts:write"
    OFFLINE_ACCESS = "offline_access"
    """Stay connected: without it, a connection ends after an hour."""


class ClientOrigin(StrEnum):
    DOCUMENT = "document"
    """Its id is the address of a document that describes it: whoever controls that address has written it."""
    REGISTERED = "registered"
    """It has registered itself, under a name that nobody has checked."""


class AssistantClient(Struct, frozen=True, kw_only=True):
    """A program that may ask users for a connection."""

    id: str
    origin: ClientOrigin
    name: str
    redirect_uris: tuple[str, ...]
    created_at: datetime
    expires_at: datetime


class ListedClient(Struct, frozen=True, kw_only=True):
    client: AssistantClient
    connections: int


class ClientDescription(Struct, frozen=True, kw_only=True):
    """What a program says about itself, in its document or when it registers; the rest is not read."""

    client_id: str = ""
    client_name: Any = None
    redirect_uris: list[str] = []


class RedirectUri(Struct, frozen=True, kw_only=True):
    """An address that a user may be sent back to, in its parts."""

    origin: str
    """Scheme, host and port; the scheme alone, if a program has taken it for itself."""
    site: str
    """The origin, with its port unless that is the usual one."""
    is_loopback: bool
    is_private: bool = False
    """Whether it opens the program that has taken its scheme for itself."""
    without_port: str
    """How it is compared if it is a program on the user's own computer, which listens on any port."""


class AuthorizationRequest(Struct, frozen=True, kw_only=True):
    """What a program asks a user for, checked."""

    client: AssistantClient
    redirect_uri: str
    scopes: frozenset[AssistantScope]
    state: str | None
    challenge: str
    resource: str


class AuthorizationCode(Struct, frozen=True, kw_only=True):
    """What a user has allowed, until the program fetches its tokens."""

    id: UUID
    user_id: UUID
    client_id: str
    client_name: str
    redirect_uri: str
    site: str
    scopes: tuple[str, ...]
    resource: str
    challenge: str
    created_at: datetime
    expires_at: datetime
    grant_id: UUID | None = None
    """The connection that it was exchanged for."""


class AssistantGrant(Struct, frozen=True, kw_only=True):
    """A connection: what a user has allowed a program, as long as it lasts."""

    id: UUID
    user_id: UUID
    client_id: str
    client_name: str
    site: str
    """Where the user was sent back to."""
    scopes: tuple[str, ...]
    resource: str
    created_at: datetime
    expires_at: datetime
    """When the access token expires."""
    ends_at: datetime
    """When nothing that was issued can be used any more."""
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    asks_first: AsksFirst = AsksFirst.NEVER

    def is_running(self, *, now: datetime) -> bool:
        return self.revoked_at is None and self.ends_at > now


class CallOutcome(StrEnum):
    """How a call of an assistant ended."""

    OK = "ok"
    REFUSED = "refused"
    WAITING = "waiting"
    """It waits for the user's approval."""
    FAILED = "failed"
    """It failed by a fault of the installation."""


class LoggedCall(Struct, frozen=True, kw_only=True):
    """A call of a tool as its user reads it."""

    no: int = 0
    user_id: UUID
    grant_id: UUID
    client_name: str
    at: datetime
    tool: str
    outcome: CallOutcome
    code: str | None
    summary: str


class AssistantApproval(ApprovableCall, frozen=True, kw_only=True):
    """A call of an assistant that waits for its user, or that the user has decided."""

    user_id: UUID
    grant_id: UUID
    client_name: str


class RefreshAttempt(Struct, frozen=True, kw_only=True):
    """A refresh token that was sent, and its connection."""

    grant: AssistantGrant
    email: str
    expires_at: datetime
    is_used: bool
    is_open: bool
    """Whether the account of the user is open."""


class TokenRequest(Struct, frozen=True, kw_only=True):
    """What a program sends to get tokens."""

    grant_type: str = ""
    client_id: str = ""
    code: str = ""
    redirect_uri: str = ""
    code_verifier: str = ""
    refresh_token: str = ""
    resource: str = ""
    scope: str = ""


class IssuedTokens(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a program gets, in the names of RFC 6749."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str
    refresh_token: str | None = None
