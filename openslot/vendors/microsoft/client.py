"""Requests to Microsoft Graph: at most four at a time for a mailbox, waits that it asks for, and what it refuses."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID
from weakref import WeakValueDictionary

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.calendars.errors import (
    NO_MAILBOX,
    STATUS,
    CalendarBusy,
    CalendarFault,
    CalendarForbidden,
    CalendarUnreachable,
    CalendarUnreadable,
)
from openslot.domains.oauth.models import TokenSource
from openslot.platform.core.outbound import Outbound
from openslot.vendors.json_client import NOTHING, JsonClient, read_answer

# Ids that stay when an event is moved to another calendar, and times in one zone.
PREFER = 'IdType="ImmutableId", outlook.timezone="UTC", outlook.body-content-type="text", odata.maxpagesize=200'
MAX_PAGES = 500
AT_ONCE = 4
THROTTLED = frozenset({429, 503, 504})
# What is longer is waited for by the worker, which has other things to do.
LONGEST_WAIT = timedelta(seconds=10)
WAITS = 2
LOST = frozenset({"syncstatenotfound", "syncstateinvalid"})
WITHOUT_MAILBOX = frozenset({"MailboxNotEnabledForRESTAPI", "MailboxNotSupportedForRESTAPI"})

A = TypeVar("A")
_semaphores: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()


class GraphError(Struct, frozen=True):
    code: str = ""


class GraphFault(Struct, frozen=True):
    error: GraphError = GraphError()


class CursorLost(CalendarUnreachable):
    """Graph does not know any more what was read before."""


class GraphPage(Protocol):
    @property
    def next_link(self) -> str | None: ...


P = TypeVar("P", bound=GraphPage)


class MicrosoftClient(JsonClient):
    """Sends requests for one mailbox, which is named by its connection."""

    def __init__(self, outbound: Outbound, url: str, tokens: TokenSource, *, mailbox: UUID | None = None) -> None:
        super().__init__(outbound, url, tokens)
        self._semaphore = _find_semaphore(mailbox)

    async def get(self, path: str, answer: type[A], query: Mapping[str, str] = NOTHING) -> A:
        return read_answer(await self._send("GET", self.url_of(path, query)), answer)

    async def list_pages(self, url: str, answer: type[P]) -> AsyncIterator[P]:
        """Read a list page by page; links to further ones are used whole."""
        for _ in range(MAX_PAGES):
            page = read_answer(await self._send("GET", url), answer)
            yield page
            if page.next_link is None:
                return
            url = self.check_link(page.next_link)
        raise CalendarUnreadable

    async def write(
        self, method: str, path: str, answer: type[A], body: Mapping[str, Any], *, replaces: str | None = None
    ) -> A:
        return read_answer(await self._send(method, self.url_of(path), body, replaces), answer)

    async def delete(self, path: str, *, replaces: str | None = None) -> None:
        await self._send("DELETE", self.url_of(path), None, replaces)

    def url_of(self, path: str, query: Mapping[str, str] = NOTHING) -> str:
        return f"{self.base}/{path}?{urlencode(query, safe='$', quote_via=quote)}" if query else f"{self.base}/{path}"

    def check_link(self, url: str) -> str:
        """Refuse a link that would take the access token elsewhere."""
        if not url.startswith(f"{self.base}/") or not url.isprintable():
            raise CalendarUnreadable
        return url

    async def _send(
        self, method: str, url: str, body: Mapping[str, Any] | None = None, replaces: str | None = None
    ) -> httpx2.Response:
        match = {} if replaces is None else {"If-Match": replaces}
        return await self.send(method, url, body, {"Prefer": PREFER, **match})

    async def send_once(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str], token: str
    ) -> httpx2.Response:
        """Wait while too many requests run, and for a short time if the mailbox has too much to do."""
        for waits in range(WAITS + 1):
            async with self._semaphore:
                response = await super().send_once(method, url, content, headers, token)
            after = _read_wait(response)
            if response.status_code not in THROTTLED or after is None or after > LONGEST_WAIT or waits == WAITS:
                break
            await asyncio.sleep(after.total_seconds())
        return response

    def describe(self, response: httpx2.Response) -> CalendarFault:
        status, code = response.status_code, _find_code(response)
        if status in THROTTLED:
            return CalendarBusy(_read_wait(response))
        if status == 410 or code.lower() in LOST:
            return CursorLost(STATUS.fill(status=status))
        if code in WITHOUT_MAILBOX:
            return CalendarForbidden(NO_MAILBOX)
        return super().describe(response)


def calendar_path(calendar: str) -> str:
    return f"me/calendars/{quote(calendar, safe='')}"


def path_of(calendar: str, event: str | None = None) -> str:
    """Write the path of a calendar's events, or of one of them."""
    events = f"{calendar_path(calendar)}/events"
    return events if event is None else f"{events}/{quote(event, safe='')}"


def event_path(event: str) -> str:
    """Write the path under which an event is changed, in whichever calendar it is."""
    return f"me/events/{quote(event, safe='')}"


def _find_semaphore(mailbox: UUID | None) -> asyncio.Semaphore:
    """Find the limit of a mailbox's requests, which all of this process share while it is used."""
    semaphore = _semaphores.get(mailbox) if mailbox else None
    if semaphore is None:
        semaphore = asyncio.Semaphore(AT_ONCE)
        if mailbox is not None:
            _semaphores[mailbox] = semaphore
    return semaphore


def _read_wait(response: httpx2.Response) -> timedelta | None:
    text = response.headers.get("retry-after", "")
    return timedelta(seconds=int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _find_code(response: httpx2.Response) -> str:
    try:
        return msgspec.json.decode(response.content, type=GraphFault).error.code
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
