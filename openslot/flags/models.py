"""The nouns: flags, and the users for whom a flag differs."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct


class FlagKey(StrEnum):
    """The flags that the product checks; each has a row in the database."""

    API_DOCS = "api_docs"
    BOOKING_HOLDS = "booking_holds"
    CALENDAR_FEEDS = "calendar_feeds"
    CALENDAR_TWO_WAY = "calendar_two_way"
    MAIL_REMINDERS = "mail_reminders"


class Flag(Struct, frozen=True, kw_only=True):
    """A part of the product that can be switched off."""

    key: str
    description: str
    enabled: bool
    override_count: int
    """For how many users it is set separately."""
    updated_at: datetime


class FlagOverride(Struct, frozen=True, kw_only=True):
    user_id: UUID
    enabled: bool
    updated_at: datetime


class FlagForUser(Struct, frozen=True, kw_only=True):
    key: str
    user_id: UUID
    enabled: bool
    is_override: bool
    """Whether it is set for this user; if not, it is what the flag is for everyone."""


class FlagValues(Struct, frozen=True, kw_only=True):
    """All flags and overrides, as a process keeps them in memory."""

    version: UUID | None = None
    """None until they are read."""

    flags: Mapping[str, bool] = {}
    overrides: Mapping[tuple[str, str], bool] = {}
    """By flag and user id."""
