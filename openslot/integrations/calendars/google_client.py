"""Requests to Google's Calendar API: an access token on each, and what its refusals mean."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import httpx2
import msgspec
from msgspec import Struct

from openslot.core.outbound import Outbound, OutboundFailed, OutboundRefused, RequestLimits
from openslot.integrations.calendars.dav_client import to_calendar_fault
from openslot.integrations.calendars.errors import (
    STATUS,
    TOO_MANY_REQUESTS,
    UNREADABLE_ANSWER,
    CalendarChanged,
    CalendarConsentNeeded,
    CalendarFault,
    CalendarForbidden,
    CalendarGone,
    CalendarUnreachable,
    CalendarUnreadable,
)
from openslot.integrations.oauth.models import ConsentNeeded, OAuthNotConfigured, OAuthUnreachable, TokenSource

LIMITS = RequestLimits(within=timedelta(seconds=30), at_most=20 * 1024 * 1024)
THROTTLED = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "calendarUsageLimitsExceeded"})
NOTHING: Mapping[str, str] = {}

A = TypeVar("A")


class GoogleReason(Struct, frozen=True):
    reason: str = ""


class GoogleError(Struct, frozen=True):
    errors: tuple[GoogleReason, ...] = ()


class GoogleFault(Struct, frozen=True):
    error: GoogleError = GoogleError()


class AlreadyThere(CalendarFault):
    """An event with this id exists, or has existed."""


class BadRequest(CalendarUnreachable):
    """Google does not take what was sent."""


class GoogleClient:
    """Sends requests for one account."""

    def __init__(self, outbound: Outbound, url: str, tokens: TokenSource) -> None:
        self._base = url.rstrip("/")
        self._tokens = tokens
        self._client = outbound.client(limits=LIMITS)

    async def get(self, path: str, answer: type[A], query: Mapping[str, str] = NOTHING) -> A:
        return _read(await self._send("GET", path, query), answer)

    async def write(
        self,
        method: str,
        path: str,
        answer: type[A],
        body: Mapping[str, Any],
        *,
        query: Mapping[str, str],
        replaces: str | None = None,
    ) -> A:
        return _read(await self._send(method, path, query, msgspec.json.encode(body), replaces), answer)

    async def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Send what has no answer."""
        await self._send("POST", path, NOTHING, msgspec.json.encode(body))

    async def delete(self, path: str, *, query: Mapping[str, str], replaces: str) -> None:
        await self._send("DELETE", path, query, b"", replaces)

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes = b"", replaces: str | None = None
    ) -> httpx2.Response:
        token = await self._get_token()
        response = await self._try(method, path, query, body, replaces, token)
        if response.status_code == 401:
            token = await self._get_token(refused=token)
            response = await self._try(method, path, query, body, replaces, token)
        if not response.is_success:
            raise _describe(response)
        return response

    async def _get_token(self, *, refused: str | None = None) -> str:
        try:
            return await self._tokens.get(refused=refused)
        except (ConsentNeeded, OAuthNotConfigured):
            raise CalendarConsentNeeded from None
        except OAuthUnreachable as fault:
            raise CalendarUnreachable(fault.message) from None

    async def _try(  # noqa: PLR0917 - a request has these parts
        self, method: str, path: str, query: Mapping[str, str], body: bytes, replaces: str | None, token: str
    ) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}"}
        if body:
            headers["Content-Type"] = "application/json"
        if replaces is not None:
            headers["If-Match"] = replaces
        url = f"{self._base}/{path}?{urlencode(query)}" if query else f"{self._base}/{path}"
        try:
            return await self._client.request(method, url, content=body or None, headers=headers)
        except (OutboundFailed, OutboundRefused) as fault:
            raise to_calendar_fault(fault) from None


def path_of(calendar: str, event: str | None = None) -> str:
    """Write the path of a calendar's events, or of one of them."""
    events = f"calendars/{quote(calendar, safe='')}/events"
    return events if event is None else f"{events}/{quote(event, safe='')}"


def _describe(response: httpx2.Response) -> CalendarFault:
    """Turn a refusal into a fault; Google's own message is left out, for it may repeat what was sent."""
    status = response.status_code
    if status == 429 or (status == 403 and THROTTLED & _find_reasons(response)):
        return CalendarUnreachable(TOO_MANY_REQUESTS)
    if status in {404, 410}:
        return CalendarGone()
    known: dict[int, type[CalendarFault]] = {403: CalendarForbidden, 412: CalendarChanged}
    if status in known:
        return known[status]()
    others: dict[int, type[CalendarFault]] = {400: BadRequest, 409: AlreadyThere}
    return others.get(status, CalendarUnreachable)(STATUS.fill(status=status))


def _find_reasons(response: httpx2.Response) -> set[str]:
    try:
        fault = msgspec.json.decode(response.content, type=GoogleFault)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return set()
    return {each.reason for each in fault.error.errors}


def _read(response: httpx2.Response, answer: type[A]) -> A:
    try:
        return msgspec.json.decode(response.content, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise CalendarUnreadable(UNREADABLE_ANSWER) from None
