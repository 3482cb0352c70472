"""Requests to a CalDAV server: redirects followed by hand, the password at its origin, and answers without doctypes."""

import asyncio
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape

import httpx2
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from msgspec import Struct

from openslot.domains.calendars.errors import (
    BAD_ADDRESS,
    BAD_XML,
    NOT_CALDAV,
    REDIRECTS_TOO_OFTEN,
    STATUS,
    CalendarChanged,
    CalendarFault,
    CalendarForbidden,
    CalendarGone,
    CalendarSignInFailed,
    CalendarUnreachable,
    CalendarUnreadable,
)
from openslot.domains.calendars.models import Credentials
from openslot.platform.core.outbound import FailureKind, Outbound, OutboundFailed, OutboundRefused, RequestLimits

DAV, CALDAV, SERVER = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}", "{http://calendarserver.org/ns/}"
NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:S="http://calendarserver.org/ns/"'
STATUS_CODE = re.compile(r"[1-5][0-9]{2}")
HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


class DavResponse(Struct, frozen=True):
    """What a multistatus says of one resource."""

    href: str
    status: int
    properties: dict[str, Element]
    """The properties that the server has, by full name."""

    def text(self, name: str) -> str:
        """Return the text of a property; empty if there is none."""
        found = self.properties.get(name)
        return (found.text or "").strip() if found is not None else ""

    def hrefs(self, name: str) -> list[str]:
        found = self.properties.get(name)
        links = found.iter(f"{DAV}href") if found is not None else ()
        return [link.text.strip() for link in links if link.text]


class MultiStatus(Struct, frozen=True):
    """What a server says of many resources at once."""

    answers: list[DavResponse]
    token: str | None


def propfind(*names: str) -> str:
    """Ask for properties, such as `D:getetag`."""
    wanted = "".join(f"<{name}/>" for name in names)
    return f"{HEAD}<D:propfind {NAMESPACES}><D:prop>{wanted}</D:prop></D:propfind>"


def sync_collection(token: str) -> str:
    """Ask what has changed since a token; without one, for everything."""
    return (
        f"{HEAD}<D:sync-collection {NAMESPACES}><D:sync-token>{escape(token)}</D:sync-token>"
        "<D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop></D:sync-collection>"
    )


def multiget(hrefs: Iterable[str]) -> str:
    places = "".join(f"<D:href>{escape(href)}</D:href>" for href in hrefs)
    wanted = "<D:prop><D:getetag/><C:calendar-data/></D:prop>"
    return f"{HEAD}<C:calendar-multiget {NAMESPACES}>{wanted}{places}</C:calendar-multiget>"


def read_multistatus(body: bytes) -> MultiStatus:
    try:
        root = fromstring(body, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError):
        raise CalendarUnreadable(BAD_XML) from None
    if root.tag != f"{DAV}multistatus":
        raise CalendarUnreadable(NOT_CALDAV)
    token = root.find(f"{DAV}sync-token")
    return MultiStatus(list(_read_answers(root)), token.text.strip() if token is not None and token.text else None)


def _read_answers(root: Element) -> Iterator[DavResponse]:
    for response in root.iter(f"{DAV}response"):
        href = response.find(f"{DAV}href")
        if href is None or not href.text:
            continue
        status = response.find(f"{DAV}status")
        properties = {
            each.tag: each
            for part in response.findall(f"{DAV}propstat")
            if _read_status(part.find(f"{DAV}status")) == 200
            for prop in part.findall(f"{DAV}prop")
            for each in prop
        }
        yield DavResponse(href.text.strip(), _read_status(status) if status is not None else 200, properties)


def _read_status(status: Element | None) -> int:
    words = (status.text or "").split() if status is not None else []
    return int(words[1]) if len(words) > 1 and STATUS_CODE.fullmatch(words[1]) else 200


LIMITS = RequestLimits(within=timedelta(seconds=30), at_most=10 * 1024 * 1024)
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
# Requests that change something do not follow redirects.
FOLLOWING = frozenset({"PROPFIND", "REPORT", "GET"})
REPORT_REFUSED = frozenset({400, 403, 405, 409, 410, 412, 415, 422, 501, 507})
NO_HEADERS: Mapping[str, str] = {}


class AnswerTooLarge(CalendarUnreadable):
    """The answer is larger than is read; fewer things asked for at once may fit."""


class ReportRefused(CalendarFault):
    """The server does not know the report, or no longer the token that it begins from."""


class DavClient:
    def __init__(self, outbound: Outbound, credentials: Credentials) -> None:
        self._client = outbound.client(limits=LIMITS)
        self._auth = httpx2.BasicAuth(credentials.username, credentials.password)
        self._origins = {origin_of(credentials.url)}

    def trust(self, url: str) -> bool:
        """Allow sending the password to another host of the same domain that the server itself has named."""
        if not any(_are_neighbours(httpx2.URL(known), httpx2.URL(url)) for known in self._origins):
            return False
        self._origins.add(origin_of(url))
        return True

    async def propfind(self, url: str, body: str, *, depth: int) -> tuple[str, MultiStatus]:
        """Ask for properties, and return where the answer came from."""
        return await self._ask("PROPFIND", url, body, depth=depth)

    async def report(self, url: str, body: str, *, depth: int) -> MultiStatus:
        return (await self._ask("REPORT", url, body, depth=depth))[1]

    async def request(
        self, method: str, url: str, *, body: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> httpx2.Response:
        """Send a request, follow its redirects, and return a successful response."""
        clock = {"finish_by": time.monotonic() + LIMITS.within.total_seconds()}
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._send(method, url, body, headers, clock)
            location = response.headers.get("location")
            if response.status_code not in REDIRECTS or location is None or method not in FOLLOWING:
                break
            url = str(response.url.join(location))
        else:
            raise CalendarUnreachable(REDIRECTS_TOO_OFTEN)
        if method == "REPORT" and response.status_code in REPORT_REFUSED:
            raise ReportRefused(STATUS.fill(status=response.status_code))
        _check(response)
        return response

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, method: str, url: str, body: str, *, depth: int) -> tuple[str, MultiStatus]:
        headers = {"Depth": str(depth), "Content-Type": "application/xml; charset=utf-8"}
        response = await self.request(method, url, body=body, headers=headers)
        if response.status_code != 207:
            raise CalendarUnreadable(NOT_CALDAV)
        return str(response.url), await asyncio.to_thread(read_multistatus, response.content)

    async def _send(
        self, method: str, url: str, body: str, headers: Mapping[str, str], clock: dict[str, float]
    ) -> httpx2.Response:
        try:
            auth = self._auth if origin_of(url) in self._origins else None
            return await self._client.request(
                method, url, content=body.encode(), headers=headers, auth=auth, extensions=dict(clock)
            )
        except (OutboundFailed, OutboundRefused) as fault:
            raise to_calendar_fault(fault) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError):
            raise CalendarUnreachable(BAD_ADDRESS) from None


def to_calendar_fault(fault: OutboundFailed | OutboundRefused) -> CalendarFault:
    if isinstance(fault, OutboundFailed) and fault.kind is FailureKind.TOO_LARGE:
        return AnswerTooLarge(fault.sentence)
    return CalendarUnreachable(fault.sentence)


def origin_of(url: str) -> str:
    try:
        read = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError):
        raise CalendarUnreachable(BAD_ADDRESS) from None
    port = read.port or {"https": 443, "http": 80}.get(read.scheme)
    return f"{read.scheme}://{read.host}:{port}"


def _are_neighbours(known: httpx2.URL, other: httpx2.URL) -> bool:
    if origin_of(str(known)) == origin_of(str(other)):
        return True
    parents = {url.host.lower().partition(".")[2] for url in (known, other)}
    return len(parents) == 1 and "." in parents.pop() and (known.scheme, other.scheme) == ("https", "https")


def _check(response: httpx2.Response) -> None:
    status = response.status_code
    if response.is_success:
        return
    if status == 401:
        raise CalendarSignInFailed
    if status == 403:
        raise CalendarForbidden
    if status in {404, 410}:
        raise CalendarGone
    if status == 412:
        raise CalendarChanged
    raise CalendarUnreachable(STATUS.fill(status=status))
