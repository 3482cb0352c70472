"""Requests to a vendor's calendars in JSON: an access token on each, and another one if it was refused."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

import httpx2
import msgspec

from openslot.domains.calendars.errors import (
    STATUS,
    UNREADABLE_ANSWER,
    CalendarChanged,
    CalendarConsentNeeded,
    CalendarFault,
    CalendarForbidden,
    CalendarGone,
    CalendarUnreachable,
    CalendarUnreadable,
)
from openslot.domains.oauth.models import ConsentNeeded, OAuthNotConfigured, OAuthUnreachable, TokenSource
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, RequestLimits
from openslot.vendors.caldav.client import to_calendar_fault

LIMITS = RequestLimits(within=timedelta(seconds=30), at_most=20 * 1024 * 1024)
NOTHING: Mapping[str, str] = {}
LONGEST_REF = 1024

A = TypeVar("A")


class AlreadyThere(CalendarFault):
    """An event with this id exists, or has existed."""


class BadRequest(CalendarUnreachable):
    """The vendor does not take what was sent."""


class JsonClient:
    """Sends requests for one account; each vendor says what its refusals mean."""

    def __init__(self, outbound: Outbound, url: str, tokens: TokenSource) -> None:
        self.base = url.rstrip("/")
        self._tokens = tokens
        self._client = outbound.client(limits=LIMITS)

    async def close(self) -> None:
        await self._client.aclose()

    def describe(self, response: httpx2.Response) -> CalendarFault:
        """Turn a refusal into a fault; the vendor's own message is left out, for it may repeat what was sent."""
        status = response.status_code
        if status in {404, 410}:
            return CalendarGone()
        known: dict[int, type[CalendarFault]] = {403: CalendarForbidden, 412: CalendarChanged}
        if status in known:
            return known[status]()
        others: dict[int, type[CalendarFault]] = {400: BadRequest, 409: AlreadyThere}
        return others.get(status, CalendarUnreachable)(STATUS.fill(status=status))

    async def send(
        self, method: str, url: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] = NOTHING
    ) -> httpx2.Response:
        """Send a request, and once more with another token if the vendor refuses the first."""
        content = b"" if body is None else msgspec.json.encode(body)
        kinds = {"Content-Type": "application/json"} if content else {}
        token = await self._get_token()
        response = await self.send_once(method, url, content, {**headers, **kinds}, token)
        if response.status_code == 401:
            token = await self._get_token(refused=token)
            response = await self.send_once(method, url, content, {**headers, **kinds}, token)
        if not response.is_success:
            raise self.describe(response)
        return response

    async def send_once(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str], token: str
    ) -> httpx2.Response:
        signed = {**headers, "Authorization": f"Bearer {token}"}
        try:
            return await self._client.request(method, url, content=content or None, headers=signed)
        except (OutboundFailed, OutboundRefused) as fault:
            raise to_calendar_fault(fault) from None

    async def _get_token(self, *, refused: str | None = None) -> str:
        try:
            return await self._tokens.get(refused=refused)
        except (ConsentNeeded, OAuthNotConfigured):
            raise CalendarConsentNeeded from None
        except OAuthUnreachable as fault:
            raise CalendarUnreachable(fault.sentence) from None


def read_answer(response: httpx2.Response, answer: type[A]) -> A:
    try:
        return msgspec.json.decode(response.content, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise CalendarUnreadable(UNREADABLE_ANSWER) from None


def to_plain(text: str) -> str:
    """Leave out what can't be stored, shown or sent back."""
    return "".join(character for character in text if character.isprintable())


def is_plain(ref: str) -> bool:
    """Return whether an id can be kept and sent back."""
    return ref.isprintable() and 0 < len(ref) <= LONGEST_REF
