"""The nouns of SCIM."""

from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.core.moments import Span


class LoggedRequest(Struct, frozen=True, kw_only=True):
    """What a provider asked for, and how it was answered."""

    id: int
    at: datetime
    token_name: str
    method: str
    path: str
    status: int
    member_id: UUID | None
    user_name: str | None
    detail: str | None
    """Why it was refused."""


class RequestFilter(Struct, frozen=True, kw_only=True):
    """Which requests of an organization's providers are wanted."""

    method: str = ""
    status: str = ""
    """`2`, `4` or `5`: the first digit; empty: all."""
    path: str = ""
    """Part of the path."""
    user: str = ""
    """Part of the user's name."""
    token_id: UUID | None = None
    span: Span = Span()


class HeldDeparture(Struct, frozen=True, kw_only=True):
    """A leaver whose bookings stay until an administrator decides."""

    user_id: UUID
    email: str
    name: str
    held_at: datetime
    removed: bool
    member_id: UUID
    role: str
    profile: dict[str, Any] | None
    upcoming: int


class Preview(Struct, frozen=True, kw_only=True):
    """What would happen if a provider suspended or removed a member now."""

    email: str
    name: str
    is_managed: bool
    upcoming: int
    is_held: bool
    """Whether the bookings would wait for an administrator."""
    is_kept: bool
    """Whether they would stay, as the organization has chosen for the suspended."""


class NewRequest(Struct, frozen=True, kw_only=True):
    """A request that was answered, for the log."""

    token_id: UUID
    at: datetime
    method: str
    path: str
    status: int
    member_id: UUID | None
    user_name: str | None
    detail: str | None
