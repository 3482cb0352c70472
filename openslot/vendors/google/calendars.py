"""Google Calendar over its REST API: Google works repetitions out, within a window that moves from day to day."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.calendars.errors import TOO_MANY_EVENTS, CalendarChanged, CalendarGone, CalendarUnreadable
from openslot.domains.calendars.ports import Changes, KeptSeries, RemoteCalendar, RemoteEvent, Scope, StoredEvent
from openslot.domains.mail.calendar_entry import CalendarEntry
from openslot.domains.oauth.models import TokenSource
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.text import fold_ascii
from openslot.vendors.google.client import GoogleClient, path_of
from openslot.vendors.google.events import (
    EVENT,
    SHARED,
    GoogleEvent,
    SharedEvent,
    is_over,
    list_attendees,
    read_event,
    write_event,
    write_time,
)
from openslot.vendors.json_client import AlreadyThere, is_plain, to_plain

MAX_CALENDARS = 100
MAX_EVENTS = 50_000
MAX_PAGES = 200
LONGEST_NAME = 200
MOVE_AFTER = timedelta(days=1)
OWN_ID = re.compile(r"[0-9a-f]{32}")
ALLOWED_ID = re.compile(r"[0-9a-v]{5,1024}")
ALWAYS = {
    "singleEvents": "true",
    "maxResults": "2500",
    "maxAttendees": "1",
    "fields": f"items({EVENT}),nextPageToken,nextSyncToken",
}
# A link to a meeting that an event has is not lost.
KEEPING = {"conferenceDataVersion": "1", "fields": EVENT}


class GoogleCursor(Struct, frozen=True):
    token: str
    until: datetime
    """The end of the window that the token stands for."""


class ListedCalendar(Struct, frozen=True, rename="camel"):
    id: str
    summary: str = ""
    summary_override: str = ""
    access_role: str = ""
    primary: bool = False
    deleted: bool = False


class CalendarPage(Struct, frozen=True, rename="camel"):
    items: tuple[ListedCalendar, ...] = ()
    next_page_token: str | None = None


class EventPage(Struct, frozen=True, rename="camel"):
    items: tuple[GoogleEvent, ...] = ()
    next_page_token: str | None = None
    next_sync_token: str | None = None


class GoogleCalendars:
    can_invite: ClassVar[bool] = True

    def __init__(self, outbound: Outbound, url: str, tokens: TokenSource) -> None:
        self._client = GoogleClient(outbound, url, tokens)
        self._listed: list[ListedCalendar] | None = None

    async def list_calendars(self) -> list[RemoteCalendar]:
        """List the calendars of the account, its own first."""
        return [
            RemoteCalendar(ref=each.id, name=_name(each), can_write=each.access_role in {"writer", "owner"})
            for each in sorted(await self._list(), key=lambda each: not each.primary)
        ]

    async def list_addresses(self) -> frozenset[str]:
        """Name the account: the id of its own calendar is its address."""
        return frozenset(fold_ascii(each.id) for each in await self._list() if each.primary and "@" in each.id)

    async def list_changes(
        self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
    ) -> Changes:
        """List what has changed since the token, or everything within a window that begins and ends a day later."""
        before = msgspec.json.decode(cursor, type=GoogleCursor) if cursor else None
        if before is not None and scope.last - before.until < MOVE_AFTER:
            try:
                found, token = await self._list_pages(calendar, {"syncToken": before.token})
            except CalendarGone:
                # The token has expired, or the calendar is gone, which the next question finds out.
                before = None
            else:
                gone = [each.id for each in found if each.is_cancelled]
                return await self._tell(calendar, found, gone, known, scope, GoogleCursor(token, before.until))
        window = {"timeMin": write_time(scope.first), "timeMax": write_time(scope.last)}
        found, token = await self._list_pages(calendar, window)
        there = {each.id for each in found if not each.is_cancelled}
        gone = [ref for ref in known if ref not in there]
        return await self._tell(calendar, found, gone, known, scope, GoogleCursor(token, scope.last))

    async def expand(self, kept: Sequence[KeptSeries], scope: Scope) -> list[RemoteEvent]:
        return []

    async def find_own(self, calendar: str, uid: str, *, ref: str | None) -> StoredEvent | None:
        found = await self._find(calendar, ref or _id_for(uid))
        return StoredEvent(ref=found.id, version=found.version, uid=found.own_uid) if found else None

    async def put(self, calendar: str, event: CalendarEntry, *, ref: str | None, replaces: str | None) -> StoredEvent:
        if replaces is not None and ref is not None:
            written = await self._change(path_of(calendar, ref), event, replaces=replaces)
        else:
            written = await self._create(calendar, event, ref)
        return StoredEvent(ref=written.id, version=written.version, uid=event.uid)

    async def delete(self, calendar: str, ref: str, *, replaces: str, tells: bool = False) -> None:
        try:
            await self._client.delete(path_of(calendar, ref), query=_telling(tells), replaces=replaces)
        except CalendarGone:
            return

    async def close(self) -> None:
        await self._client.close()

    async def _list(self) -> list[ListedCalendar]:
        if self._listed is None:
            found: list[ListedCalendar] = []
            query = {"maxResults": "250"}
            for _ in range(MAX_PAGES):
                page = await self._client.get("users/me/calendarList", CalendarPage, query)
                found += (each for each in page.items if not each.deleted and is_plain(each.id))
                if page.next_page_token is None or len(found) >= MAX_CALENDARS:
                    break
                query["pageToken"] = page.next_page_token
            self._listed = found[:MAX_CALENDARS]
        return self._listed

    async def _list_pages(self, calendar: str, query: Mapping[str, str]) -> tuple[list[GoogleEvent], str]:
        """Read all pages, of which some may be empty; only the last has a token for the next question."""
        found: dict[str, GoogleEvent] = {}
        asked = {**ALWAYS, **query}
        for _ in range(MAX_PAGES):
            page = await self._client.get(path_of(calendar), EventPage, asked)
            found |= {each.id: each for each in page.items if is_plain(each.id)}
            if len(found) > MAX_EVENTS:
                break
            if page.next_sync_token is not None:
                return list(found.values()), page.next_sync_token
            if page.next_page_token is None:
                raise CalendarUnreadable
            asked["pageToken"] = page.next_page_token
        raise CalendarUnreadable(TOO_MANY_EVENTS.fill(count=MAX_EVENTS))

    async def _tell(  # noqa: PLR0917 - all that the two ways of reading give
        self,
        calendar: str,
        found: Sequence[GoogleEvent],
        gone: Sequence[str],
        known: Mapping[str, str],
        scope: Scope,
        cursor: GoogleCursor,
    ) -> Changes:
        """Say what is different; an event of ours that a list leaves out may be outside the window, or in a series."""
        kept = {each.id: each for each in found if not each.is_cancelled}
        for ref in gone:
            own = await self._find(calendar, ref) if OWN_ID.fullmatch(ref) else None
            # One that is over leaves the window by itself.
            if own is not None and not (known.get(ref) == own.version and is_over(own, scope)):
                kept[ref] = own
        return Changes(
            changed=tuple(read_event(each, scope) for each in kept.values() if known.get(each.id) != each.version),
            removed=tuple(ref for ref in gone if ref not in kept),
            cursor=msgspec.json.encode(cursor).decode(),
        )

    async def _find(self, calendar: str, event_id: str) -> GoogleEvent | None:
        """Find an event; one that was deleted is still there, as a cancelled one."""
        try:
            found = await self._client.get(path_of(calendar, event_id), GoogleEvent, {"fields": EVENT})
        except CalendarGone:
            return None
        return None if found.is_cancelled else found

    async def _create(self, calendar: str, event: CalendarEntry, ref: str | None) -> GoogleEvent:
        """Write an event under an id of our own, so that a second try can't write a second event."""
        event_id = ref if ref is not None and ALLOWED_ID.fullmatch(ref) else _id_for(event.uid)
        body, attendees = {"id": event_id, **write_event(event)}, list_attendees(event)
        if attendees:
            body["attendees"] = attendees
        if len(attendees) > 1:
            body["guestsCanSeeOtherGuests"] = False
        try:
            return await self._write("POST", path_of(calendar), body, tells=event.invites)
        except AlreadyThere:
            path = path_of(calendar, event_id)
            present = await self._client.get(path, GoogleEvent, {"fields": EVENT})
            if not present.is_cancelled:
                raise CalendarChanged from None
            # An event that was deleted keeps its id, its guests, and its link to a meeting.
            return await self._change(path, event, replaces=present.version)

    async def _change(self, path: str, event: CalendarEntry, *, replaces: str) -> GoogleEvent:
        """Write over an event; Google tells those it invites of what they see changed, once, and keeps all others."""
        body = write_event(event)
        if not event.invites:
            return await self._write("PATCH", path, body, replaces=replaces)
        present = await self._client.get(path, SharedEvent, {"fields": SHARED})
        if present.version != replaces:
            raise CalendarChanged
        # A list that is sent replaces the one that is there.
        if attendees := present.add_missing(list_attendees(event)):
            body["attendees"] = attendees
        # An earlier try may have written this, and its answer was lost.
        return await self._write("PATCH", path, body, replaces=replaces, tells=not present.shows(body))

    async def _write(
        self, method: str, path: str, body: Mapping[str, Any], *, replaces: str | None = None, tells: bool = False
    ) -> GoogleEvent:
        query = {**KEEPING, **_telling(tells)}
        return await self._client.write(method, path, GoogleEvent, body, query=query, replaces=replaces)


def _telling(tells: bool) -> dict[str, str]:
    """Say whether Google sends mails to those who are invited."""
    return {"sendUpdates": "all" if tells else "none"}


def _id_for(uid: str) -> str:
    """Return the id of a booking's event; hexadecimal digits are among those that Google allows."""
    return UUID(uid.partition("@")[0]).hex


def _name(found: ListedCalendar) -> str:
    shown = to_plain(found.summary_override or found.summary)[:LONGEST_NAME].strip()
    return shown or found.id[:LONGEST_NAME]
