"""The nouns of access, and what credentials look like, so that a mistyped one is refused without a look-up."""

import re
import secrets
import string
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from math import ceil
from typing import Any, ClassVar
from uuid import UUID
from zlib import crc32

from msgspec import Struct

from openslot.domains.access.errors import LimitReached
from openslot.domains.accounts.models import AssistantPolicy, OwnMembership, User
from openslot.platform.core.actor import Actor
from openslot.platform.core.text import Label
from openslot.platform.i18n import Text

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
AGENTS = (
    "support",
    "cto",
    "data",
    "devops",
    "orchestrator",
    "seo",
    "growth",
    "outbound",
    "customer_success",
    "content",
)
AGENT_KEY = re.compile(rf"svc_agent_({'|'.join(AGENTS)})_[0-9a-f]{{64}}")
CHECKED_KEY = re.compile(r"(svc_(?:live|scim|mcp)_[0-9A-Za-z]{32})([0-9A-Za-z]{6})")


class CredentialKind(StrEnum):
    """The kinds of credentials for programs; each opens only its own door."""

    API_KEY = "api_key"
    SCIM_TOKEN = "scim_token"  # noqa: S105 - a kind, not a token
    AGENT_KEY = "agent_key"
    ASSISTANT_TOKEN = "assistant_token"  # noqa: S105 - a kind, not a token


class KeyName(Label):
    """The name of a key or token: what it is for."""

    __slots__ = ()

    longest: ClassVar[int] = 100
    schema: ClassVar[dict[str, object]] = {**Label.schema, "maxLength": longest}


PREFIXES = {
    CredentialKind.API_KEY: "svc_live_",
    CredentialKind.SCIM_TOKEN: "svc_scim_",
    CredentialKind.ASSISTANT_TOKEN: "svc_mcp_",
}


def new_key(kind: CredentialKind, *, agent: str | None = None) -> str:
    if kind is CredentialKind.AGENT_KEY:
        return f"svc_agent_{agent}_{secrets.token_hex(32)}"
    stem = PREFIXES[kind] + "".join(secrets.choice(BASE62) for _ in range(32))
    return stem + checksum(stem)


def is_wellformed(key: str, kind: CredentialKind) -> bool:
    if kind is CredentialKind.AGENT_KEY:
        return AGENT_KEY.fullmatch(key) is not None
    match = CHECKED_KEY.fullmatch(key)
    return match is not None and key.startswith(PREFIXES[kind]) and checksum(match[1]) == match[2]


def agent_of(key: str) -> str | None:
    match = AGENT_KEY.fullmatch(key)
    return match[1] if match is not None else None


def checksum(stem: str) -> str:
    """Compute six base62 characters that reveal a typing mistake."""
    value = crc32(stem.encode())
    digits = ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        digits = BASE62[digit] + digits
    return digits


class Credential(Struct, frozen=True, kw_only=True):
    """A key or token as its owner sees it afterwards: by name and last four characters."""

    id: UUID
    name: str
    last_four: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def is_active(self, *, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class SignedIn(Struct, frozen=True, kw_only=True):
    user: User
    session: str
    device: str


class AddressChange(Struct, frozen=True, kw_only=True):
    """An address that a user wants to have, until the link that was sent to it is used."""

    id: UUID
    user_id: UUID
    email: str
    expires_at: datetime


class EmailCode(Struct, frozen=True, kw_only=True):
    """A code that proves an address to those who offer an event type, until it is used."""

    id: UUID
    event_type_id: UUID
    email: str
    locale: str | None
    """A language tag; None if the host's is used."""
    expires_at: datetime


class Session(Struct, frozen=True, kw_only=True):
    id: UUID
    user_agent: str
    created_at: datetime
    last_seen_at: datetime | None
    """When it was last used, to the hour; None if only within the first hour."""


class SecondFactorNeeded(Struct, frozen=True, kw_only=True):
    """The result of a sign-in whose second factor is missing: there is no session yet."""

    user: User
    token: str
    """Proves the first factor for a short time."""


class Authenticator(Struct, frozen=True, kw_only=True):
    secret: bytes
    """Sealed."""
    last_step: int
    """The newest step whose code was used."""


class TwoFactorState(Struct, frozen=True, kw_only=True):
    has_password: bool
    on_since: datetime | None
    codes_left: int


class LimitVerdict(Struct, frozen=True, kw_only=True):
    """Whether one more request is accepted, and the state of the log."""

    taken: bool
    limit: int
    used: int
    retry_after: int

    @property
    def left(self) -> int:
        """How many more requests would be accepted now."""
        return max(0, self.limit - self.used)

    def check(self, message: str = Text("Too many requests")) -> None:
        """Refuse the request if it was not taken into the log."""
        if not self.taken:
            raise LimitReached(message, limit=self.limit, retry_after=self.retry_after)


def read_verdict(row: Mapping[str, Any], limit: int, *, nth: int = 1) -> LimitVerdict:
    """Read a row that has the verdict's columns and `now`, for the n-th of the requests that it counts."""
    given = row["taken"]
    return LimitVerdict(
        taken=nth <= given,
        limit=limit,
        used=row["used"] - max(0, given - nth),
        retry_after=seconds_until(row["free_at"], row["now"]),
    )


def seconds_until(instant: int, now: int) -> int:
    """Count whole seconds, at least one, after which the instant has passed."""
    return max(1, ceil((instant - now) / 1_000_000))


class Entry(Struct, frozen=True, kw_only=True):
    """The result of an authentication: who it is, and how much of a limit is left."""

    actor: Actor
    user: User | None = None
    memberships: tuple[OwnMembership, ...] = ()
    """The user's active memberships, if there is a session."""
    waiting_approvals: int = 0
    """How many decisions wait for an administrator of the platform, if one has the session."""
    waiting_requests: int = 0
    """How many calls of their assistants wait for the user's decision, if there is a session."""
    stopped_channels: tuple[str, ...] = ()
    """The outgoing channels that are stopped on the platform, if there is a session."""
    event_colors: tuple[str, ...] = ()
    """The user's event types, active ones first, each as its id and its color, if there is a session."""
    takes_payments: bool = False
    """Whether the user can be paid for meetings or was, if there is a session."""
    has_number: bool = False
    """Whether a number for messages or calls is connected for the user, if there is a session."""
    unread_threads: int = 0
    """How many of the user's conversations have unread messages, counted up to 100, if there is a session."""
    limit: LimitVerdict | None = None
    """The rate limit of the credential, if it has one."""


class AgentEntry(Entry, frozen=True, kw_only=True):
    """The result of an agent's authentication: its levels, its key's scopes, and whether it is within its limit."""

    agent: str
    key_id: UUID
    autonomy_level: int
    email_level: int
    scopes: tuple[str, ...]
    limit: LimitVerdict


class AsksFirst(StrEnum):
    """Which calls of an assistant wait until its user has approved them."""

    NEVER = "never"
    DESTRUCTIVE = "destructive"
    """Calls that change or delete what exists."""
    WRITES = "writes"
    """All calls that change something."""


class AssistantEntry(Entry, frozen=True, kw_only=True):
    """The result of an assistant's authentication: whose it is, and what it may do there."""

    user: User
    grant_id: UUID
    client_name: str
    scopes: frozenset[str]
    """The scopes that the user has granted."""
    resource: str
    """The server for which the token was issued."""
    policies: frozenset[AssistantPolicy]
    """The policies on assistants of the user's organizations."""
    asks_first: AsksFirst = AsksFirst.NEVER
