"""The nouns of access."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.access.limits import LimitVerdict
from openslot.accounts.models import OwnMembership, User
from openslot.core.actor import Actor


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
        """Return whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class SignedIn(Struct, frozen=True, kw_only=True):
    """The result of a sign-in: what the browser stores."""

    user: User
    session: str
    device: str


class AddressChange(Struct, frozen=True, kw_only=True):
    """An address that a user wants to have, until the link that was sent to it is used."""

    id: UUID
    user_id: UUID
    email: str
    expires_at: datetime


class Session(Struct, frozen=True, kw_only=True):
    """A browser in which a user is signed in."""

    id: UUID
    user_agent: str
    created_at: datetime
    last_seen_at: datetime | None
    """To the hour; None: not for more than an hour after it began."""


class SecondFactorNeeded(Struct, frozen=True, kw_only=True):
    """The result of a sign-in whose second factor is missing: there is no session yet."""

    user: User
    token: str
    """Proves the first factor for a short time."""


class Authenticator(Struct, frozen=True, kw_only=True):
    """A user's confirmed authenticator app."""

    secret: bytes
    """Sealed."""
    last_step: int
    """The newest step whose code was used."""


class TwoFactorState(Struct, frozen=True, kw_only=True):
    """What a user's settings say about two-factor authentication."""

    has_password: bool
    on_since: datetime | None
    codes_left: int


class Entry(Struct, frozen=True, kw_only=True):
    """The result of an authentication: who it is, and how much of a limit is left."""

    actor: Actor
    user: User | None = None
    memberships: tuple[OwnMembership, ...] = ()
    """The user's active memberships, if there is a session."""
    limit: LimitVerdict | None = None
    """Of the credential, if it has one."""


class AgentEntry(Entry, frozen=True, kw_only=True):
    """The result of an agent's authentication: its levels, its key's scopes, and whether it is within its limit."""

    agent: str
    key_id: UUID
    autonomy_level: int
    email_level: int
    scopes: tuple[str, ...]
    limit: LimitVerdict
