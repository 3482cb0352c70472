"""The nouns of leavers."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.actor import Actor


class LeaverCounts(Struct, frozen=True, kw_only=True):
    """What would become of the bookings and requests of somebody who leaves."""

    cancelled: int = 0
    """Bookings of their own, and of teams that do not replace who leaves."""
    handed_over: int = 0
    """Bookings of teams that somebody else who is free takes over; without anybody they are cancelled too."""
    declined: int = 0
    """Requests for their own time, and for that of teams that do not replace who leaves."""
    requests_handed_over: int = 0
    """Requests of teams that somebody else who is free is asked for; without anybody they are declined too."""


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
    counts: LeaverCounts


class Preview(Struct, frozen=True, kw_only=True):
    """What would happen if a provider suspended or removed a member now."""

    email: str
    name: str
    is_managed: bool
    counts: LeaverCounts
    is_held: bool
    """Whether the bookings would wait for an administrator."""
    is_kept: bool
    """Whether they would stay, as the organization has chosen for the suspended."""


class DeletionState(StrEnum):
    """How far the deletion of an account is."""

    CANCELLING = "cancelling"
    WAITING = "waiting"
    """Mail, webhooks and calendar entries that follow from it are on their way."""
    TELLING = "telling"
    """The last mail to the owner is on its way."""
    ERASING = "erasing"
    DONE = "done"


class AccountDeletion(Struct, frozen=True, kw_only=True):
    user_id: UUID
    state: DeletionState
    requested_at: datetime
    requested_by: Actor | None
    message: str | None
    finish_by: datetime
    cancelled_bookings: int = 0
    finished_at: datetime | None = None


class UpcomingMeeting(Struct, frozen=True, kw_only=True):
    id: UUID
    invitee_name: str
    event_type_name: str
    starts_at: datetime
    ends_at: datetime


class DeletionPreview(Struct, frozen=True, kw_only=True):
    upcoming: list[UpcomingMeeting]
    """The first of the bookings that would be cancelled, soonest first."""
    counts: dict[str, int]
    """How many there are of what would be deleted, by its name."""


class ShownDeletion(Struct, frozen=True, kw_only=True):
    deletion: AccountDeletion
    unfinished: int
    """How many effects are waited for."""
