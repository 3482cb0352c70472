"""Requests to a CalDAV server by the guarded client: redirects followed by hand, the password at its origin."""

import asyncio
import time
from collections.abc import Mapping
from datetime import timedelta

import httpx2

from openslot.core.outbound import FailureKind, Outbound, OutboundFailed, OutboundRefused, RequestLimits
from openslot.integrations.calendars.dav_xml import MultiStatus, read_multistatus
from openslot.integrations.calendars.errors import (
    CalendarChanged,
    CalendarFault,
    CalendarForbidden,
    CalendarGone,
    CalendarSignInFailed,
    CalendarUnreachable,
    CalendarUnreadable,
)
from openslot.integrations.calendars.failures import BAD_ADDRESS, NOT_CALDAV, REDIRECTS_TOO_OFTEN, STATUS

LIMITS = RequestLimits(within=timedelta(seconds=30), at_most=10 * 1024 * 1024)
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
# Requests that change something do not follow redirects.
FOLLOWING = frozenset({"PROPFIND", "REPORT", "GET"})
REPORT_REFUSED = frozenset({400, 403, 405, 409, 410, 412, 415, 422, 501, 507})
NO_HEADERS: Mapping[str, str] = {}


class AnswerTooLarge(CalendarUnreadable):
    """The answer is larger than is read; fewer things asked for at once may fit."""


class ReportRefused(CalendarFault):
    """The server does not know the report, or no longer the token that it begins from."""


class DavClient:
    """Speaks to one server with one name and password."""

    def __init__(self, outbound: Outbound, *, origin: str, username: str, password: str) -> None:
        self._client = outbound.client(limits=LIMITS)
        self._auth = httpx2.BasicAuth(username, password)
        self._origins = {origin_of(origin)}

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
        """Ask for a report."""
        return (await self._ask("REPORT", url, body, depth=depth))[1]

    async def request(
        self, method: str, url: str, *, body: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> httpx2.Response:
        """Send a request, follow its redirects, and return a successful response."""
        clock = {"finish_by": time.monotonic() + LIMITS.within.total_seconds()}
        for _ in range(MOST_REDIRECTS + 1):
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
        """Close the connections."""
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
            raise told(fault) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError):
            raise CalendarUnreachable(BAD_ADDRESS) from None


def told(fault: OutboundFailed | OutboundRefused) -> CalendarFault:
    """Translate the failure of an outgoing request."""
    if isinstance(fault, OutboundFailed) and fault.kind is FailureKind.TOO_LARGE:
        return AnswerTooLarge(fault.sentence)
    return CalendarUnreachable(fault.sentence)


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL."""
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
