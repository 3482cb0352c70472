"""The port of a calendar server, the same for every vendor."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct


class RemoteCalendar(Struct, frozen=True, kw_only=True):
    url: str
    name: str
    can_write: bool


class RemoteObject(Struct, frozen=True, kw_only=True):
    """One event with all of its repetitions, as the server keeps it."""

    href: str
    etag: str
    text: str


class Changes(Struct, frozen=True, kw_only=True):
    """What is different in a calendar since it was last read."""

    changed: tuple[RemoteObject, ...]
    removed: tuple[str, ...]
    state: str
    """What the next question begins from; only the server's own adapter reads it."""


class CalendarServer(Protocol):
    """One account of a calendar's server; what it refuses is a `CalendarFault`."""

    async def list_calendars(self) -> list[RemoteCalendar]: ...

    async def list_addresses(self) -> frozenset[str]:
        """List the owner's own email addresses, in lower case, as far as the server tells them."""
        ...

    async def list_changes(self, calendar: str, *, state: str | None, known: Mapping[str, str]) -> Changes:
        """List what is different from what is known, by href and ETag; without a state, of the whole calendar."""
        ...

    def place_for(self, calendar: str, name: str) -> str:
        """Name the place of an event that is to be written into a calendar."""
        ...

    async def find(self, href: str) -> RemoteObject | None: ...

    async def put(self, href: str, text: str, *, replaces: str | None) -> str:
        """Write an event where there is none, or in place of the one with this ETag, and return its ETag."""
        ...

    async def delete(self, href: str, *, replaces: str) -> None:
        """Remove the event with this ETag; one that is gone already is no fault."""
        ...

    async def close(self) -> None: ...
