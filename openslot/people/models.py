"""The nouns of leavers."""

from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct


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
