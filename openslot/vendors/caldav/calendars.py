"""CalDAV: calendars on any server that speaks RFC 4791, found from an address and a password."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar
from urllib.parse import quote, unquote, urlsplit

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.calendars.errors import (
    NO_CALENDARS,
    TOO_LARGE,
    TOO_MANY_EVENTS,
    CalendarFault,
    CalendarGone,
    CalendarSignInFailed,
    CalendarUnreadable,
)
from openslot.domains.calendars.models import Credentials
from openslot.domains.calendars.ports import Changes, KeptSeries, RemoteCalendar, RemoteEvent, Scope, StoredEvent
from openslot.domains.mail.calendar_entry import CalendarEntry, write_calendar
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.text import fold_ascii
from openslot.vendors.caldav.client import (
    CALDAV,
    DAV,
    SERVER,
    AnswerTooLarge,
    DavClient,
    DavResponse,
    MultiStatus,
    ReportRefused,
    multiget,
    origin_of,
    propfind,
    sync_collection,
)
from openslot.vendors.caldav.objects import ICalObject, expand_series, find_uid, read_objects

AT_ONCE = 50
MAX_CALENDARS = 100
MAX_OBJECTS = 50_000
MAX_PAGES = 100
MAX_LINKS = 3
LONGEST_NAME = 200
LONGEST_HREF = 2000
LARGEST_CALENDAR = 100 * 1024 * 1024
FIND_HOME = propfind("D:resourcetype", "D:current-user-principal", "C:calendar-home-set", "C:calendar-user-address-set")
FIND_CALENDARS = propfind(
    "D:resourcetype", "D:displayname", "C:supported-calendar-component-set", "D:current-user-privilege-set"
)
FIND_TAG = propfind("S:getctag", "D:sync-token")
FIND_ETAGS = propfind("D:getetag", "D:resourcetype")
WRITES = ("write", "write-content", "bind", "all")


class CalDavState(Struct, frozen=True, omit_defaults=True):
    token: str | None = None
    tag: str | None = None


class CalDavServer:
    can_invite: ClassVar[bool] = False

    def __init__(self, outbound: Outbound, credentials: Credentials) -> None:
        self._credentials = credentials
        self._client = DavClient(outbound, credentials)

    async def discover(self) -> Credentials:
        """Find where the account's calendars are: at the URL itself, or where the server says."""
        begin = self._credentials.url
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(begin))
        faults: list[CalendarFault] = []
        for url in dict.fromkeys((begin, f"{origin}/.well-known/caldav", f"{origin}/")):
            try:
                home = await self._find_home(url)
            except CalendarSignInFailed:
                raise
            except CalendarFault as fault:
                faults.append(fault)
                continue
            if home is not None:
                return msgspec.structs.replace(self._credentials, url=home)
        raise next(
            (fault for fault in faults if not isinstance(fault, CalendarGone)),
            CalendarUnreadable(NO_CALENDARS),
        )

    async def list_calendars(self) -> list[RemoteCalendar]:
        url, found = await self._client.propfind(self._credentials.url, FIND_CALENDARS, depth=1)
        calendars = [
            RemoteCalendar(ref=href, name=_name(answer.text(f"{DAV}displayname"), href), can_write=_can_write(answer))
            for answer in found.answers
            if _is_calendar(answer) and (href := self._locate(url, answer.href)) is not None
        ]
        return calendars[:MAX_CALENDARS]

    async def list_addresses(self) -> frozenset[str]:
        """List the owner's addresses from the principal, and the user name if it is an address."""
        named = {self._credentials.username} if "@" in self._credentials.username else set()
        url, found = await self._client.propfind(self._credentials.url, FIND_HOME, depth=0)
        for principal in _list_links(found, f"{DAV}current-user-principal"):
            home = self._locate(url, principal)
            if home is not None:
                _, about = await self._client.propfind(home, FIND_HOME, depth=0)
                named.update(_list_links(about, f"{CALDAV}calendar-user-address-set"))
        return frozenset(
            fold_ascii(each).removeprefix("mailto:")
            for each in named
            if fold_ascii(each).startswith("mailto:") or "://" not in each
        )

    async def list_changes(
        self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
    ) -> Changes:
        """List changes by the server's sync token, or by tag and ETags if it has none."""
        before = msgspec.json.decode(cursor, type=CalDavState) if cursor else CalDavState()
        synced = await self._sync(calendar, before.token, known) if before.tag is None else None
        changed, removed, state = (
            await self._compare(calendar, before, known)
            if synced is None
            else ([href for href, etag in synced[0].items() if known.get(href) != etag], synced[1], synced[2])
        )
        return Changes(
            changed=tuple(await read_objects(await self._fetch(calendar, changed), scope)),
            removed=tuple(removed),
            cursor=msgspec.json.encode(state).decode(),
        )

    async def expand(self, kept: Sequence[KeptSeries], scope: Scope) -> list[RemoteEvent]:
        return await expand_series(kept, scope)

    async def find_own(self, calendar: str, uid: str, *, ref: str | None) -> StoredEvent | None:
        found = await self._find(ref or _href_for(calendar, uid))
        if found is None:
            return None
        return StoredEvent(ref=found.href, version=found.etag, uid=await asyncio.to_thread(find_uid, found.text))

    async def put(self, calendar: str, event: CalendarEntry, *, ref: str | None, replaces: str | None) -> StoredEvent:
        href = ref or _href_for(calendar, event.uid)
        condition = {"If-None-Match": "*"} if replaces is None else {"If-Match": replaces}
        headers = {"Content-Type": "text/calendar; charset=utf-8", **condition}
        response = await self._client.request("PUT", href, body=write_calendar(event).decode(), headers=headers)
        etag = response.headers.get("etag", "")
        if not etag or etag.startswith("W/"):
            # A server that has modified the event returns no ETag.
            kept = await self._find(href)
            if kept is None:
                raise CalendarGone
            etag = kept.etag
        return StoredEvent(ref=href, version=etag, uid=event.uid)

    async def delete(self, calendar: str, ref: str, *, replaces: str, tells: bool = False) -> None:
        try:
            await self._client.request("DELETE", ref, headers={"If-Match": replaces})
        except CalendarGone:
            return

    async def close(self) -> None:
        await self._client.close()

    async def _find_home(self, url: str) -> str | None:
        at_url, found = await self._client.propfind(url, FIND_HOME, depth=0)
        if any(_is_calendar(answer) for answer in found.answers[:1]):
            return at_url
        for principal in _list_links(found, f"{DAV}current-user-principal"):
            at = self._locate(at_url, principal)
            if at is not None:
                at_url, found = await self._client.propfind(at, FIND_HOME, depth=0)
        for home in _list_links(found, f"{CALDAV}calendar-home-set"):
            if (at := self._locate(at_url, home)) is not None:
                return at
        return None

    async def _find(self, href: str) -> ICalObject | None:
        try:
            response = await self._client.request("GET", href)
        except CalendarGone:
            return None
        # The header's charset is not followed: to Python, compressions are charsets too.
        etag = response.headers.get("etag") or hashlib.sha256(response.content).hexdigest()
        return ICalObject(href=href, etag=etag, text=response.content.decode(errors="replace"))

    async def _sync(
        self, calendar: str, token: str | None, known: Mapping[str, str]
    ) -> tuple[dict[str, str], list[str], CalDavState] | None:
        """Ask for what has changed since the token, page by page; None if the server can't tell."""
        etags: dict[str, str] = {}
        removed: list[str] = []
        at = token or ""
        for _ in range(MAX_PAGES):
            try:
                page = await self._client.report(calendar, sync_collection(at), depth=0)
            except (ReportRefused, AnswerTooLarge):
                return await self._sync(calendar, None, known) if token else None
            more = self._read_page(calendar, page, etags, removed)
            if len(etags) > MAX_OBJECTS or len(removed) > MAX_OBJECTS:
                raise CalendarUnreadable(TOO_MANY_EVENTS.fill(count=MAX_OBJECTS))
            if page.token is None:
                return None
            at = page.token
            if not more:
                break
        if token is None:
            removed = [href for href in known if href not in etags]
        return etags, removed, CalDavState(token=at)

    def _read_page(self, calendar: str, page: MultiStatus, etags: dict[str, str], removed: list[str]) -> bool:
        more = False
        for answer in page.answers:
            href = self._locate(calendar, answer.href)
            if href is None or href.rstrip("/") == calendar.rstrip("/"):
                more = more or answer.status == 507
            elif answer.status == 404:
                removed.append(href)
            elif etag := answer.text(f"{DAV}getetag"):
                etags[href] = etag
        return more

    async def _compare(
        self, calendar: str, before: CalDavState, known: Mapping[str, str]
    ) -> tuple[list[str], list[str], CalDavState]:
        """Compare every event's ETag with what is known, unless the calendar's tag is the same."""
        _, found = await self._client.propfind(calendar, FIND_TAG, depth=0)
        tag = found.answers[0].text(f"{SERVER}getctag") if found.answers else ""
        if tag and tag == before.tag:
            return [], [], before
        url, found = await self._client.propfind(calendar, FIND_ETAGS, depth=1)
        etags = {
            href: etag
            for answer in found.answers
            if (etag := answer.text(f"{DAV}getetag")) and not _is_collection(answer)
            if (href := self._locate(url, answer.href)) is not None
        }
        changed = [href for href, etag in etags.items() if known.get(href) != etag]
        removed = [href for href in known if href not in etags]
        return changed, removed, CalDavState(tag=tag)

    async def _fetch(self, calendar: str, changed: list[str]) -> list[ICalObject]:
        if len(changed) > MAX_OBJECTS:
            raise CalendarUnreadable(TOO_MANY_EVENTS.fill(count=MAX_OBJECTS))
        objects: dict[str, ICalObject] = {}
        left = LARGEST_CALENDAR
        for start in range(0, len(changed), AT_ONCE):
            found = await self._read(calendar, changed[start : start + AT_ONCE])
            objects |= {each.href: each for each in found}
            left -= sum(len(each.text) for each in found)
            if left < 0:
                raise CalendarUnreadable(TOO_LARGE.fill(size=LARGEST_CALENDAR >> 20))
        return list(objects.values())

    async def _read(self, calendar: str, hrefs: Sequence[str]) -> list[ICalObject]:
        """Read some events at once, fewer if the answer is too large; one that is too large alone is left empty."""
        paths = [urlsplit(href).path for href in hrefs]
        try:
            found = await self._client.report(calendar, multiget(paths), depth=1)
        except AnswerTooLarge:
            if len(hrefs) == 1:
                return [ICalObject(href=hrefs[0], etag="too large", text="")]
            half = len(hrefs) // 2
            return await self._read(calendar, hrefs[:half]) + await self._read(calendar, hrefs[half:])
        return [
            ICalObject(href=href, etag=answer.text(f"{DAV}getetag"), text=data.text or "")
            for answer in found.answers
            if (data := answer.properties.get(f"{CALDAV}calendar-data")) is not None
            if (href := self._locate(calendar, answer.href)) is not None
        ]

    def _locate(self, base: str, href: str) -> str | None:
        """Resolve a link from the server; None if it leads to a host that is not trusted."""
        try:
            url = str(httpx2.URL(base).join(href))
        except (httpx2.InvalidURL, UnicodeError, ValueError):
            return None
        if len(url) > LONGEST_HREF:
            return None
        return _spell(url) if origin_of(url) == origin_of(base) or self._client.trust(url) else None


def _href_for(calendar: str, uid: str) -> str:
    """Name the address of an event of ours: what its UID begins with is the booking's id."""
    return f"{calendar.rstrip('/')}/{quote(uid.partition('@')[0], safe='')}.ics"


def _spell(url: str) -> str:
    """Normalise a URL's path, because servers differ in how much of it they escape."""
    parts = urlsplit(url)
    path = parts.path if "%2f" in parts.path.lower() else quote(unquote(parts.path), safe="/:@!$&'()*+,;=~")
    return parts._replace(path=path, fragment="").geturl()


def _is_calendar(answer: DavResponse) -> bool:
    kind = answer.properties.get(f"{DAV}resourcetype")
    if kind is None or kind.find(f"{CALDAV}calendar") is None:
        return False
    held = answer.properties.get(f"{CALDAV}supported-calendar-component-set")
    return held is None or any(each.get("name") == "VEVENT" for each in held.iter(f"{CALDAV}comp"))


def _is_collection(answer: DavResponse) -> bool:
    kind = answer.properties.get(f"{DAV}resourcetype")
    return kind is not None and kind.find(f"{DAV}collection") is not None


def _can_write(answer: DavResponse) -> bool:
    rights = answer.properties.get(f"{DAV}current-user-privilege-set")
    return rights is None or any(rights.find(f".//{DAV}{right}") is not None for right in WRITES)


def _list_links(found: MultiStatus, name: str) -> Iterator[str]:
    # Each link may be followed by a request.
    for answer in found.answers[:1]:
        yield from answer.hrefs(name)[:MAX_LINKS]


def _name(name: str, href: str) -> str:
    shown = "".join(character for character in name if character.isprintable())[:LONGEST_NAME].strip()
    last_part = unquote(urlsplit(href).path.rstrip("/").rpartition("/")[2]) or "Calendar"
    return shown or last_part[:LONGEST_NAME]
