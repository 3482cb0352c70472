"""What happened to calendar connections, and what their owners are to be told."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event


class CalendarEvent(Event, frozen=True, kw_only=True):
    """Something happened to a calendar connection."""

    connection_id: UUID
    owner_id: UUID
    label: str

    @property
    def tenant_id(self) -> UUID | None:
        return self.owner_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "calendar", self.connection_id


class CalendarConnected(CalendarEvent, frozen=True, kw_only=True):
    """A calendar was connected."""

    type: ClassVar[str] = "calendar.connected"


class CalendarDisconnected(CalendarEvent, frozen=True, kw_only=True):
    """A calendar was disconnected, and what was read from it was deleted."""

    type: ClassVar[str] = "calendar.disconnected"


class CalendarBroken(CalendarEvent, frozen=True, kw_only=True):
    """A calendar could not be read for some time; its owner will be notified."""

    type: ClassVar[str] = "calendar.broken"
    reason: str
    since: datetime
    closes_at: datetime | None
    """When times stop being offered unless it can be read again; None if they are offered as before."""


class CalendarRecovered(CalendarEvent, frozen=True, kw_only=True):
    """A calendar that could not be read can be read again."""

    type: ClassVar[str] = "calendar.recovered"


class CalendarChangeRefused(CalendarEvent, frozen=True, kw_only=True):
    """The host has moved or deleted a booking's event in a way that is not allowed; the host will be notified."""

    type: ClassVar[str] = "calendar.change_refused"
    booking_id: UUID
    wanted_start: datetime | None
    """None if the event was deleted."""
    reason: str


class CalendarEventsMissing(CalendarEvent, frozen=True, kw_only=True):
    """Events of several bookings disappeared at once: nothing was cancelled, and the host will be asked."""

    type: ClassVar[str] = "calendar.events_missing"
    booking_ids: tuple[UUID, ...]


class CalendarRestoreWanted(CalendarEvent, frozen=True, kw_only=True):
    """The host has asked to restore a booking's event that disappeared from the calendar."""

    type: ClassVar[str] = "calendar.restore_wanted"
    booking_id: UUID
    calendar_id: UUID


CALENDAR_EVENTS: tuple[type[Event], ...] = (
    CalendarConnected,
    CalendarDisconnected,
    CalendarBroken,
    CalendarRecovered,
    CalendarChangeRefused,
    CalendarEventsMissing,
    CalendarRestoreWanted,
)
