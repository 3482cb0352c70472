"""Requests to HubSpot's dated API with the token of one portal, and what its refusals mean."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.crm.ports import CrmBusy, CrmFault, CrmMeetingGone, CrmRefused, CrmTokenRefused, CrmUnavailable
from openslot.domains.crm.words import ANSWERED, REFUSED_WITHOUT_REASON, SCOPES_MISSING, UNREADABLE
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, RequestLimits

VERSION = "2026-09"
LIMITS = RequestLimits(within=timedelta(seconds=20), at_most=8 * 1024 * 1024)
NOTHING: Mapping[str, str] = {}
LONGEST_REASON = 500
LONGEST_MESSAGE = 200
# What a message quotes: `Property values were not valid: [{"isValid":false,"message":…,"name":"company"}]`.
QUOTED = re.compile(r"\[\{.*\}\]", re.DOTALL)
TEN_SECONDS, HOUR = timedelta(seconds=10), timedelta(hours=1)

A = TypeVar("A")


class ErrorDetail(Struct, frozen=True):
    message: str = ""
    context: dict[str, list[str]] = {}


class WrongValue(Struct, frozen=True):
    message: str = ""
    name: str = ""


class HubSpotError(Struct, frozen=True, rename="camel"):
    message: str = ""
    category: str = ""
    policy_name: str = ""
    errors: tuple[ErrorDetail, ...] = ()


class NotFoundThere(CrmMeetingGone):
    """HubSpot has no such record."""


class ScopeMissing(CrmRefused):
    """The token lacks a scope."""


class HubSpotClient:
    """Sends requests with one token."""

    def __init__(self, outbound: Outbound, url: str, token: str) -> None:
        self._base = url.rstrip("/")
        self._client = outbound.client(headers={"Authorization": f"Bearer {token}"}, limits=LIMITS)

    async def get(self, path: str, answer: type[A], query: Mapping[str, str] = NOTHING) -> A:
        return read(await self._send("GET", f"{path}?{urlencode(query)}" if query else path), answer)

    async def send(self, method: str, path: str, answer: type[A], body: Mapping[str, Any] | None = None) -> A:
        """Ask for a change; a part of a batch that fails is a fault of the whole, for a batch has one part here."""
        response = await self._send(method, path, body)
        if response.status_code == 207:
            raise _describe_batch(response, body or {})
        return read(response, answer)

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        headers = {} if body is None else {"Content-Type": "application/json"}
        content = None if body is None else msgspec.json.encode(body)
        try:
            response = await self._client.request(method, f"{self._base}{path}", content=content, headers=headers)
        except OutboundFailed as fault:
            raise CrmUnavailable(fault.sentence) from None
        except OutboundRefused as fault:
            raise CrmUnavailable(fault.sentence) from None
        if not response.is_success:
            raise _describe(response, body or {})
        return response


def read(response: httpx2.Response, answer: type[A]) -> A:
    try:
        return msgspec.json.decode(response.content, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise CrmUnavailable(UNREADABLE) from None


def _describe(response: httpx2.Response, sent: Mapping[str, Any]) -> CrmFault:
    """Turn a refusal into a fault: what a rule of the portal forbids is forbidden in every try."""
    status = response.status_code
    try:
        said = msgspec.json.decode(response.content, type=HubSpotError)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = HubSpotError()
    if status == 401:
        return CrmTokenRefused(ANSWERED.fill(status=status))
    if status == 403:
        scopes = sorted({scope for each in said.errors for scope in each.context.get("requiredGranularScopes", ())})
        return ScopeMissing(SCOPES_MISSING.fill(scopes=", ".join(scopes)) if scopes else ANSWERED.fill(status=status))
    if status == 429:
        return CrmBusy(_find_wait(response, said))
    if status == 404:
        return NotFoundThere(ANSWERED.fill(status=status))
    if status not in {400, 405, 413, 414, 415, 422}:
        return CrmUnavailable(ANSWERED.fill(status=status))
    return CrmRefused(_find_reason(said, sent) or REFUSED_WITHOUT_REASON.fill(status=status))


def _describe_batch(response: httpx2.Response, sent: Mapping[str, Any]) -> CrmFault:
    """Turn what went wrong in a batch into a fault."""
    (said, *_) = read(response, BatchErrors).errors or (HubSpotError(),)
    if said.category in {"VALIDATION_ERROR", "CONFLICT", "OBJECT_NOT_FOUND"}:
        return CrmRefused(_find_reason(said, sent) or REFUSED_WITHOUT_REASON.fill(status=207))
    return CrmUnavailable(ANSWERED.fill(status=207))


class BatchErrors(Struct, frozen=True):
    errors: tuple[HubSpotError, ...] = ()


def _find_wait(response: httpx2.Response, said: HubSpotError) -> timedelta:
    """Say how long to wait: a day ends at midnight in the portal's own zone, which may be soon."""
    asked = response.headers.get("retry-after", "")
    if asked.isdecimal():
        return timedelta(seconds=int(asked[:6]))
    return HOUR if said.policy_name == "DAILY" else TEN_SECONDS


def _find_reason(said: HubSpotError, sent: Mapping[str, Any]) -> str:
    """Name what is wrong and the property that it is about, without the values that were sent."""
    found = [(each.message, ", ".join(each.context.get("propertyName", ()))) for each in said.errors]
    if not any(name for _, name in found) and (quoted := QUOTED.search(said.message)):
        try:
            values = msgspec.json.decode(quoted[0], type=tuple[WrongValue, ...])
        except msgspec.DecodeError:
            values = ()
        found = [(each.message, each.name) for each in values] or found
    reasons = [f"{message[:LONGEST_MESSAGE]} ({name})" if name else message for message, name in found]
    text = "; ".join(reasons) or said.message
    for value in sorted(_list_values(sent), key=len, reverse=True):
        text = text.replace(value, "…")
    return "".join(each for each in " ".join(text.split()) if each.isprintable())[:LONGEST_REASON]


def _list_values(sent: Any) -> set[str]:
    """List the values of properties that were sent: people's own data is not kept in what is said of a fault."""
    if isinstance(sent, list):
        return {value for each in sent for value in _list_values(each)}
    if not isinstance(sent, dict):
        return set()
    found = {value for each in sent.get("inputs", ()) for value in _list_values(each)}
    return found | {value for value in sent.get("properties", {}).values() if len(value) > 2}
