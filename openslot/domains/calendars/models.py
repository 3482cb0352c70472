"""The nouns of calendars: a connection, its calendars, and bookings as they were written into one."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.availability.grid import Interval, subtract


class ConnectionKind(StrEnum):
    CALDAV = "caldav"
    ICS = "ics"
    GOOGLE = "google"
    MICROSOFT = "microsoft"


class ConnectionRef(Struct, frozen=True):
    """Which connection is meant: one of an owner's own, or, for the operator, any."""

    id: UUID
    owner_id: UUID | None = None


class CalDavWanted(Struct, frozen=True, kw_only=True):
    address: str
    """A URL, a server's name, or an email address."""
    username: str
    password: str


class IcsWanted(Struct, frozen=True):
    url: str


class Credentials(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a connection is opened; kept sealed."""

    url: str
    """The address of its calendars, once that is known."""
    username: str = ""
    password: str = ""


class Calendar(Struct, frozen=True, kw_only=True):
    id: UUID
    connection_id: UUID
    url: str
    name: str
    can_write: bool
    is_busy: bool
    """Whether its events close times."""
    receives: bool
    """Whether bookings are written into it."""
    state: str | None
    expanded_at: datetime | None
    unread_events: int
    """How many of its events could not be understood in full."""


class CalendarConnection(Struct, frozen=True, kw_only=True):
    """An account on a calendar's server, or a feed, of one user."""

    id: UUID
    owner_id: UUID
    kind: ConnectionKind
    server: str
    label: str
    addresses: tuple[str, ...]
    trust_hours: int | None
    """How long the last reading is trusted when the calendar can't be read any more; None if not at all."""
    invites: bool = False
    """Whether its server invites those who take part in new bookings that are written into it."""
    synced_at: datetime | None = None
    tried_at: datetime | None = None
    next_sync_at: datetime
    failures: int = 0
    failing_since: datetime | None = None
    told_at: datetime | None = None
    last_error: str | None = None
    created_at: datetime
    listed_at: datetime | None = None
    calendars: tuple[Calendar, ...] = ()

    @property
    def trust(self) -> timedelta | None:
        return None if self.trust_hours is None else timedelta(hours=self.trust_hours)

    @property
    def busy_ids(self) -> list[UUID]:
        return [calendar.id for calendar in self.calendars if calendar.is_busy]

    @property
    def identity(self) -> dict[str, Any]:
        """What every event says of it."""
        return {"connection_id": self.id, "owner_id": self.owner_id, "label": self.label}


class CalendarChannel(Struct, frozen=True, kw_only=True):
    """Where a calendar's server sends notices of changes."""

    id: UUID
    connection_id: UUID
    calendar_id: UUID
    token_hash: bytes
    resource_id: str = ""
    """The server's name of what is watched; empty until it has answered."""
    expires_at: datetime
    renew_at: datetime
    """When it is prolonged, or another one takes its place."""
    created_at: datetime


class Lease(Struct, frozen=True, kw_only=True):
    """The exclusive right to read a connection for a limited time."""

    id: UUID
    connection: CalendarConnection
    secret: bytes
    zone: str
    owner_email: str


class ConnectionChanges(Struct, frozen=True, kw_only=True):
    """The fields to change; None leaves a field as it is."""

    busy: tuple[str, ...] | None = None
    """The names of the calendars that count as busy."""
    write_to: str | None = None
    """The name of the calendar that receives bookings; empty if none does."""
    when_unreadable: str | None = None
    """`trust:HOURS` or `close`."""
    invites: bool | None = None
    """Whether its server invites those who take part in new bookings."""


class KeptObject(Struct, frozen=True, kw_only=True):
    href: str
    etag: str
    uid: str
    repeats: bool
    is_unread: bool
    text: str | None
    """The source of its repetitions; None if it does not repeat."""


class WrittenEvent(Struct, frozen=True, kw_only=True):
    """A booking as it was last written into a calendar."""

    booking_id: UUID
    calendar_id: UUID
    href: str
    etag: str
    sequence: int
    starts_at: datetime
    ends_at: datetime
    missing_since: datetime | None = None
    refused_start: datetime | None = None


class MissingEvent(Struct, frozen=True, kw_only=True):
    """A booking whose event has disappeared together with others, so that its host is asked."""

    booking_id: UUID
    calendar_name: str
    starts_at: datetime
    invitee_name: str
    missing_since: datetime


class WriteTarget(Struct, frozen=True, kw_only=True):
    """A calendar that a booking is written into, and what it contains now."""

    calendar_id: UUID
    url: str
    name: str
    connection_id: UUID
    owner_id: UUID
    kind: ConnectionKind
    secret: bytes
    host_name: str
    host_email: str
    is_shared: bool
    """Whether those who take part may see the event, because it was to invite them."""
    invites: bool
    """Whether its server invites them, and tells them of changes."""
    written: WrittenEvent | None


class OwnTime(Struct, frozen=True):
    """The time of a booking that its own event does not take again, in whole seconds since 1970."""

    claim: UUID
    """The booking's claim, or its seat in a session."""
    spans: tuple[Interval, ...]

    def find_added(self, spans: Iterable[Interval]) -> list[Interval]:
        """Find what the host has added to the booking's time."""
        return subtract(spans, list(self.spans))
