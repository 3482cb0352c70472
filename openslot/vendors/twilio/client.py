"""Requests to Twilio's REST API over the guarded client, each sent once, and the faults that they can meet."""

import base64
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar
from urllib.parse import urlencode

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.messaging.models import MessageCredentials, RefusalReason
from openslot.domains.messaging.ports import (
    AccountRefused,
    MessageFault,
    MessageRefused,
    MessagesBusy,
    MessagesUnavailable,
    TokenRefused,
)
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, RequestLimits
from openslot.vendors.twilio.codes import BUSY_CODES, find_reason

LIMITS = RequestLimits(within=timedelta(seconds=15), at_most=2 * 1024 * 1024)
ACCOUNT = re.compile(r"AC[0-9a-fA-F]{32}", re.ASCII)
TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}", re.ASCII)
NOTHING: Mapping[str, str] = {}

A = TypeVar("A")


class WireFault(Struct, frozen=True):
    code: int | None = None


def check_credentials(account: MessageCredentials) -> None:
    if not ACCOUNT.fullmatch(account.account):
        raise AccountRefused("an account is AC and 32 hexadecimal digits")
    if not all(TOKEN.fullmatch(token) for token in account.tokens):
        raise TokenRefused("a token has 16 to 128 letters and digits")


class TwilioClient:
    """Sends requests for one account."""

    def __init__(self, outbound: Outbound, *, url: str, account: MessageCredentials) -> None:
        check_credentials(account)
        self.base = f"{url.rstrip('/')}/2010-04-01/Accounts/{account.account}"
        credentials = base64.b64encode(f"{account.account}:{account.token}".encode()).decode()
        self.headers = {"Authorization": f"Basic {credentials}"}
        self._client = outbound.client(headers=self.headers, limits=LIMITS)

    async def get(self, path: str, answer: type[A], parameters: Mapping[str, str] = NOTHING) -> A:
        query = urlencode(parameters)
        return _read(await self._send("GET", f"{path}?{query}" if query else path), answer)

    async def post(self, path: str, answer: type[A], parameters: Mapping[str, str]) -> A:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return _read(await self._send("POST", path, body=urlencode(parameters).encode(), headers=headers), answer)

    async def delete(self, path: str) -> None:
        """Delete what is at a path; what is gone already is no fault."""
        try:
            await self._send("DELETE", path)
        except MessageRefused as refused:
            if refused.reason is not RefusalReason.NOT_FOUND:
                raise

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(
        self, method: str, path: str, *, body: bytes = b"", headers: Mapping[str, str] = NOTHING
    ) -> httpx2.Response:
        try:
            response = await self._client.request(
                method, f"{self.base}{path}", content=body or None, headers=dict(headers)
            )
        except (OutboundFailed, OutboundRefused) as fault:
            raise describe_failure(fault) from None
        if not response.is_success:
            raise describe_answer(response.status_code, response.headers.get("retry-after"), response.content)
        return response


def describe_failure(fault: OutboundFailed | OutboundRefused) -> MessagesUnavailable:
    if isinstance(fault, OutboundRefused):
        return MessagesUnavailable(f"Twilio's address is not allowed: {fault.reason}", may_have_arrived=False)
    return MessagesUnavailable(f"Twilio can't be reached: {fault.kind}", may_have_arrived=fault.may_have_arrived)


def describe_answer(status: int, retry_after: str | None, body: bytes) -> MessageFault:
    """Turn an answer that is no success into a fault; Twilio's own message is left out, for it repeats numbers."""
    try:
        code = msgspec.json.decode(body, type=WireFault).code
    except (msgspec.DecodeError, UnicodeDecodeError):
        code = None
    if status == 429 or code in BUSY_CODES:
        return MessagesBusy(_read_seconds(retry_after))
    if status == 401:
        return TokenRefused("Twilio does not know the account, or its token is not valid")
    if status == 404:
        return MessageRefused("Twilio does not have it", reason=RefusalReason.NOT_FOUND, code=_write(code))
    if not 400 <= status < 500 or status == 408:
        return MessagesUnavailable(f"Twilio answered {status}", may_have_arrived=True)
    return MessageRefused(f"Twilio refuses: {code or status}", reason=find_reason(code), code=_write(code))


def _write(code: int | None) -> str | None:
    return None if code is None else str(code)


def _read_seconds(text: str | None) -> timedelta | None:
    return timedelta(seconds=int(text)) if text and text.isascii() and text.isdigit() and len(text) <= 5 else None


def _read(response: httpx2.Response, answer: type[A]) -> A:
    try:
        return msgspec.json.decode(response.content, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MessagesUnavailable("Twilio's answer can't be read", may_have_arrived=True) from None
