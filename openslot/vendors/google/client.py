"""Requests to Google's Calendar API, and what its refusals mean."""

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.calendars.errors import TOO_MANY_REQUESTS, CalendarFault, CalendarUnreachable
from openslot.vendors.json_client import NOTHING, JsonClient, read_answer

THROTTLED = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "calendarUsageLimitsExceeded"})

A = TypeVar("A")


class GoogleReason(Struct, frozen=True):
    reason: str = ""


class GoogleError(Struct, frozen=True):
    errors: tuple[GoogleReason, ...] = ()


class GoogleFault(Struct, frozen=True):
    error: GoogleError = GoogleError()


class GoogleClient(JsonClient):
    """Sends requests for one account."""

    async def get(self, path: str, answer: type[A], query: Mapping[str, str] = NOTHING) -> A:
        return read_answer(await self.send("GET", self._url(path, query)), answer)

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
        return read_answer(await self.send(method, self._url(path, query), body, _match(replaces)), answer)

    async def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Send what has no answer."""
        await self.send("POST", self._url(path, NOTHING), body)

    async def delete(self, path: str, *, query: Mapping[str, str], replaces: str) -> None:
        await self.send("DELETE", self._url(path, query), headers=_match(replaces))

    def describe(self, response: httpx2.Response) -> CalendarFault:
        status = response.status_code
        if status == 429 or (status == 403 and THROTTLED & _find_reasons(response)):
            return CalendarUnreachable(TOO_MANY_REQUESTS)
        return super().describe(response)

    def _url(self, path: str, query: Mapping[str, str]) -> str:
        return f"{self.base}/{path}?{urlencode(query)}" if query else f"{self.base}/{path}"


def path_of(calendar: str, event: str | None = None) -> str:
    """Write the path of a calendar's events, or of one of them."""
    events = f"calendars/{quote(calendar, safe='')}/events"
    return events if event is None else f"{events}/{quote(event, safe='')}"


def _match(version: str | None) -> Mapping[str, str]:
    return NOTHING if version is None else {"If-Match": version}


def _find_reasons(response: httpx2.Response) -> set[str]:
    try:
        fault = msgspec.json.decode(response.content, type=GoogleFault)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return set()
    return {each.reason for each in fault.error.errors}
