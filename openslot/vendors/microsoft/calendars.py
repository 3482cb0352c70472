"""Calendars of Microsoft 365 over Graph: a delta within a window that moves from day to day."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.calendars.errors import TOO_MANY_EVENTS, CalendarChanged, CalendarGone, CalendarUnreadable
from openslot.domains.calendars.ports import Changes, KeptSeries, RemoteCalendar, RemoteEvent, Scope, StoredEvent
from openslot.domains.mail.calendar_entry import CalendarEntry
from openslot.domains.oauth.models import TokenSource
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.text import fold_ascii
from openslot.vendors.json_client import AlreadyThere, is_plain, to_plain
from openslot.vendors.microsoft.client import CursorLost, MicrosoftClient, calendar_path, event_path, path_of
from openslot.vendors.microsoft.events import (
    MARK,
    PROPERTY,
    GraphEvent,
    GraphEventPage,
    WrittenGraphEvent,
    is_over,
    is_within,
    read_event,
    read_time,
    uid_of,
)

MAX_CALENDARS = 100
MAX_EVENTS = 50_000
LONGEST_NAME, LONGEST_SUBJECT = 200, 255
MOVE_AFTER = timedelta(days=1)
# How many events that a delta calls removed are looked at, besides our own that were read before.
MAX_LOOKS = 50
WITH_PROPERTY = {"$expand": f"singleValueExtendedProperties($filter=id eq '{PROPERTY}')"}


class GraphCursor(Struct, frozen=True):
    link: str
    first: datetime
    until: datetime
    """The window that the link stands for."""


class GraphCalendar(Struct, frozen=True, rename="camel"):
    id: str
    name: str | None = None
    can_edit: bool | None = None
    is_default_calendar: bool | None = None


class GraphCalendarPage(Struct, frozen=True):
    value: tuple[GraphCalendar, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


class GraphPerson(Struct, frozen=True, rename="camel"):
    mail: str | None = None
    user_principal_name: str | None = None


class MicrosoftCalendars:
    can_invite: ClassVar[bool] = False

    def __init__(self, outbound: Outbound, url: str, tokens: TokenSource, *, mailbox: UUID | None = None) -> None:
        self._client = MicrosoftClient(outbound, url, tokens, mailbox=mailbox)
        self._mailbox = mailbox

    async def list_calendars(self) -> list[RemoteCalendar]:
        """List the calendars of the mailbox, the default one first."""
        found: list[GraphCalendar] = []
        query = {"$select": "id,name,canEdit,isDefaultCalendar"}
        async for page in self._client.list_pages(self._client.url_of("me/calendars", query), GraphCalendarPage):
            found += (each for each in page.value if is_plain(each.id))
            if len(found) >= MAX_CALENDARS:
                break
        return [
            RemoteCalendar(ref=each.id, name=_name(each), can_write=bool(each.can_edit))
            for each in sorted(found[:MAX_CALENDARS], key=lambda each: not each.is_default_calendar)
        ]

    async def list_addresses(self) -> frozenset[str]:
        """Name the account; guests of a tenant have a made-up name there, which is no address."""
        person = await self._client.get("me", GraphPerson, {"$select": "mail,userPrincipalName"})
        names = [fold_ascii(to_plain(each)) for each in (person.mail, person.user_principal_name) if each]
        return frozenset(each for each in names if "@" in each and "#ext#" not in each)

    async def list_changes(
        self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
    ) -> Changes:
        """List what has changed since the cursor, or everything within a window that begins and ends a day later."""
        before = msgspec.json.decode(cursor, type=GraphCursor) if cursor else None
        if before is not None and scope.last - before.until < MOVE_AFTER:
            try:
                found, link = await self._list_pages(self._client.check_link(before.link))
            except CursorLost:
                before = None
            else:
                gone = [each.id for each in found if each.removed]
                return await self._tell(calendar, found, gone, known, scope, replace(before, link=link))
        window = {"startDateTime": _write_time(scope.first), "endDateTime": _write_time(scope.last)}
        found, link = await self._list_pages(
            self._client.url_of(f"{calendar_path(calendar)}/calendarView/delta", window)
        )
        there = {each.id for each in found if not each.removed}
        gone = [ref for ref in known if ref not in there]
        return await self._tell(calendar, found, gone, known, scope, GraphCursor(link, scope.first, scope.last))

    async def expand(self, kept: Sequence[KeptSeries], scope: Scope) -> list[RemoteEvent]:
        return []

    async def find_own(self, calendar: str, uid: str, *, ref: str | None) -> StoredEvent | None:
        found = await (self._find_by_uid(calendar, uid) if ref is None else self._find(calendar, ref))
        return StoredEvent(ref=found.id, version=found.version, uid=uid_of(found)) if found else None

    async def put(self, calendar: str, event: CalendarEntry, *, ref: str | None, replaces: str | None) -> StoredEvent:
        if replaces is not None and ref is not None:
            version = replaces.removeprefix(MARK)
            written = await self._client.write("PATCH", event_path(ref), GraphEvent, _write(event), replaces=version)
        else:
            written = await self._create(calendar, event, ref)
        return StoredEvent(ref=written.id, version=f"{MARK}{to_plain(written.etag)}", uid=event.uid)

    async def delete(self, calendar: str, ref: str, *, replaces: str, tells: bool = False) -> None:
        try:
            await self._client.delete(event_path(ref), replaces=replaces.removeprefix(MARK))
        except CalendarGone:
            return

    async def close(self) -> None:
        await self._client.close()

    async def _list_pages(self, url: str) -> tuple[list[GraphEvent], str]:
        """Read all pages of a round, which may be empty and repeat events; the last has the link of the next round."""
        found: dict[str, GraphEvent] = {}
        async for page in self._client.list_pages(url, GraphEventPage):
            found |= {each.id: each for each in page.value if is_plain(each.id)}
            if len(found) > MAX_EVENTS:
                raise CalendarUnreadable(TOO_MANY_EVENTS.fill(count=MAX_EVENTS))
            if page.next_link is None and page.delta_link is not None:
                return list(found.values()), self._client.check_link(page.delta_link)
        raise CalendarUnreadable

    async def _tell(  # noqa: PLR0917 - all that the two ways of reading give
        self,
        calendar: str,
        found: Sequence[GraphEvent],
        gone: Sequence[str],
        known: Mapping[str, str],
        scope: Scope,
        cursor: GraphCursor,
    ) -> Changes:
        """Say what is different; an event of ours that a round calls removed may only have left the window."""
        kept = {each.id: each for each in found if not each.removed}
        for ref in _list_doubtful(gone, known):
            own = await self._find(calendar, ref)
            # A deleted one may still be found in the bin. One that is over leaves the window by itself.
            is_there = own is not None and own.own_uid and not is_within(own, scope, cursor.first, cursor.until)
            if own is not None and is_there and not (known.get(ref) == own.version and is_over(own, scope)):
                kept[ref] = own
        changed = [each for each in kept.values() if known.get(each.id) != each.version]
        whole = await self._complete(calendar, changed)
        return Changes(
            changed=tuple(read_event(each, scope) for each in whole),
            removed=tuple(ref for ref in gone if ref not in kept),
            cursor=msgspec.json.encode(cursor).decode(),
        )

    async def _complete(self, calendar: str, found: Sequence[GraphEvent]) -> list[GraphEvent]:
        """Let repetitions be busy as their series is; if that is gone in the meantime, they are busy."""
        series = {each.id: each for each in found if each.type == "seriesMaster"}
        for ref in dict.fromkeys(each.series_master_id or "" for each in found if each.is_brief):
            if ref not in series and is_plain(ref) and (master := await self._find(calendar, ref)) is not None:
                series[ref] = master
        return [
            replace(
                each,
                show_as=master.show_as,
                is_all_day=master.is_all_day,
                is_cancelled=master.is_cancelled,
                response_status=master.response_status,
            )
            if each.is_brief and (master := series.get(each.series_master_id or "")) is not None
            else each
            for each in found
        ]

    async def _find(self, calendar: str, ref: str) -> GraphEvent | None:
        try:
            return await self._client.get(path_of(calendar, ref), GraphEvent, WITH_PROPERTY)
        except CalendarGone:
            return None

    async def _find_by_uid(self, calendar: str, uid: str) -> GraphEvent | None:
        value = uid.replace("'", "''")
        where = f"singleValueExtendedProperties/any(ep: ep/id eq '{PROPERTY}' and ep/value eq '{value}')"
        page = await self._client.get(path_of(calendar), GraphEventPage, {"$filter": where, **WITH_PROPERTY})
        return next((each for each in page.value if is_plain(each.id)), None)

    async def _create(self, calendar: str, event: CalendarEntry, ref: str | None) -> GraphEvent:
        """Make an event; the transaction is named by the booking, so that a second try makes no second event."""
        body = {
            **_write(event),
            # Never sent again: a change of the body takes an online meeting offline.
            "body": {"contentType": "text", "content": event.description},
            "showAs": "busy",
            "transactionId": self._name_transaction(event.uid, ref),
            "singleValueExtendedProperties": [{"id": PROPERTY, "value": event.uid}],
        }
        try:
            made = await self._client.write("POST", path_of(calendar), WrittenGraphEvent, body)
        except AlreadyThere:
            raise CalendarChanged from None
        if not _is_as_sent(made, event):
            # What an earlier try has made, from when the booking was different.
            raise CalendarChanged
        return made

    def _name_transaction(self, uid: str, ref: str | None) -> str:
        """Name what makes an event: another one after the one at this place was deleted, and in another connection."""
        digest = hashlib.sha256(f"{self._mailbox}/{ref or ''}".encode()).hexdigest()
        return f"{uid}/{digest[:8]}"


def _write(event: CalendarEntry) -> dict[str, Any]:
    """Write a booking without guests, whom Graph would always send mails."""
    return {
        "subject": event.summary[:LONGEST_SUBJECT],
        "location": {"displayName": event.location},
        "start": {"dateTime": _write_time(event.starts_at).removesuffix("Z"), "timeZone": "UTC"},
        "end": {"dateTime": _write_time(event.ends_at).removesuffix("Z"), "timeZone": "UTC"},
    }


def _is_as_sent(made: WrittenGraphEvent, event: CalendarEntry) -> bool:
    location = made.location.display_name if made.location else None
    texts = [(made.subject, event.summary[:LONGEST_SUBJECT]), (location, event.location)]
    times = [each and read_time(each, UTC) for each in (made.start, made.end)]
    return times == [event.starts_at, event.ends_at] and all((a or "").strip() == b.strip() for a, b in texts)


def _list_doubtful(gone: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """List those that may be ours: marked when they were read, or not read since they were written."""
    ours = [ref for ref in gone if known.get(ref, "").startswith(MARK)]
    return ours + [ref for ref in gone if not known.get(ref)][:MAX_LOOKS]


def _write_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _name(found: GraphCalendar) -> str:
    return to_plain(found.name or "")[:LONGEST_NAME].strip() or found.id[:LONGEST_NAME]
