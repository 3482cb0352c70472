"""The nouns of SCIM."""

from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct


class LoggedRequest(Struct, frozen=True, kw_only=True):
    """What a provider asked for, and how it was answered."""

    at: datetime
    token_name: str
    method: str
    path: str
    status: int
    member_id: UUID | None
    user_name: str | None
    detail: str | None
    """Why it was refused."""


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
