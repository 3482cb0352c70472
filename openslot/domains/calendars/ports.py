"""The port of a calendar server in nouns of our own, the same for every vendor.

A `ref` says where something is at its server, and only the server's own adapter reads it: a URL, an id, a path.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Protocol
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.domains.availability.grid import Interval
from openslot.domains.calendars.models import CalendarChannel
from openslot.domains.mail.calendar_entry import CalendarEntry
from openslot.platform.core.times import floor_second


class RemoteCalendar(Struct, frozen=True, kw_only=True):
    ref: str
    name: str
    can_write: bool


class Scope(Struct, frozen=True, kw_only=True):
    """Whose calendar it is, and which time counts."""

    zone: ZoneInfo
    """The host's: of all-day events, and of times that name no zone."""
    addresses: frozenset[str] = frozenset()
    """The host's own, in lower case: what one of them has declined keeps nobody busy."""
    first: datetime
    last: datetime

    def list_spans(self, times: tuple[datetime, datetime] | None) -> tuple[Interval, ...]:
        """Write the time of one event in whole seconds, if it takes place within the scope."""
        if times is None or not times[0] < times[1] or times[1] <= self.first or times[0] >= self.last:
            return ()
        return ((floor_second(times[0]), floor_second(times[1])),)


class RemoteEvent(Struct, frozen=True, kw_only=True):
    """One event as its server keeps it: with all of its repetitions, or one repetition of a series."""

    ref: str
    version: str
    """The version, which differs after every change."""
    uid: str
    """The same at every server that has the event; the UID of a booking if it is the booking's own event."""
    spans: tuple[Interval, ...]
    """The times at which it keeps the host busy, merged, in whole seconds since 1970."""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    """Set if the event does not repeat."""
    is_live: bool = True
    """False if it is cancelled or declined."""
    series: str | None = None
    """The source of its repetitions, kept for days that come within the scope later; None if not needed."""
    is_unread: bool = False
    """Whether it could not be understood in full."""


class Changes(Struct, frozen=True, kw_only=True):
    """What is different in a calendar since it was last read."""

    changed: tuple[RemoteEvent, ...]
    removed: tuple[str, ...]
    cursor: str
    """The state from which the next reading goes on; only the server's own adapter reads it."""


class KeptSeries(Struct, frozen=True):
    """What an adapter has given of an event that repeats."""

    ref: str
    text: str


class StoredEvent(Struct, frozen=True, kw_only=True):
    """Where an event is, in which version, and what its UID is."""

    ref: str
    version: str
    uid: str


class CalendarServer(Protocol):
    """One account of a calendar's server; what it refuses is a `CalendarFault`."""

    can_invite: ClassVar[bool]
    """Whether it can invite those who take part in an event, and tell them of changes."""

    async def list_calendars(self) -> list[RemoteCalendar]: ...

    async def list_addresses(self) -> frozenset[str]:
        """List the owner's own email addresses, in lower case, as far as the server tells them."""
        ...

    async def list_changes(
        self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
    ) -> Changes:
        """List what is different from what is known, by ref and version; without a cursor, of the whole calendar."""
        ...

    async def expand(self, kept: Sequence[KeptSeries], scope: Scope) -> list[RemoteEvent]:
        """Work out again when events that repeat take place; their versions are empty."""
        ...

    async def find_own(self, calendar: str, uid: str, *, ref: str | None) -> StoredEvent | None:
        """Find the event at a place, or where events with this UID are written to; it may be another one's."""
        ...

    async def put(self, calendar: str, event: CalendarEntry, *, ref: str | None, replaces: str | None) -> StoredEvent:
        """Write an event in place of the one with this version, or, without one, where there is none.

        Without a ref the place follows from the UID, so that two tries can't write two events. If the event invites,
        those who take part are told once of what they see changed, however often that is tried.
        """
        ...

    async def delete(self, calendar: str, ref: str, *, replaces: str, tells: bool = False) -> None:
        """Remove the event with this version, and tell those it invited if asked to; one that is gone is no fault."""
        ...

    async def close(self) -> None: ...


class WantedChannel(Struct, frozen=True, kw_only=True):
    """Where notices of changes in a calendar are to be sent, and until when."""

    channel_id: UUID
    calendar: str
    address: str
    token: str
    """A secret that each notice has, so that nobody else can send one."""
    now: datetime
    until: datetime


class Watch(Struct, frozen=True):
    """The server's own name of a channel, and when it ends."""

    resource_id: str
    expires_at: datetime


class PushServer(Protocol):
    """One account of a server that tells of changes; what it refuses is a `CalendarFault`."""

    async def watch(self, wanted: WantedChannel) -> Watch: ...

    async def renew(self, channel: CalendarChannel, *, until: datetime) -> datetime | None:
        """Prolong a channel, and return when it ends; None if a new one is needed."""
        ...

    async def stop(self, channel: CalendarChannel) -> None: ...

    async def close(self) -> None: ...
