"""Requests to Stripe's REST API over the guarded client: a pinned version, idempotency keys, retries, faults."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.payments.models import Mode
from openslot.domains.payments.ports import (
    AnswerUnreadable,
    CheckoutBusy,
    CheckoutFault,
    CheckoutRefused,
    CheckoutUnavailable,
    KeyRefused,
    PaymentDeclined,
    RightMissing,
)
from openslot.platform.core.outbound import FailureKind, Outbound, OutboundFailed, OutboundRefused, RequestLimits
from openslot.vendors.stripe.forms import Parameters, encode

API_VERSION = "2026-10-28.endive"
LIMITS = RequestLimits(within=timedelta(seconds=15), at_most=8 * 1024 * 1024)
TRIES = 3
FIRST_WAIT = 0.5
LONGEST_WAIT = 5.0
GIVE_UP_AFTER = 25.0

KEY = re.compile(r"(?:sk|rk)_(test|live)_[A-Za-z0-9_]{8,250}")
SECRETS = re.compile(r"\b(?:sk|rk|pk|whsec)_[\w*]+")
LACKS = re.compile(r"\brak_([a-z_]{1,100})")
LONGEST_MESSAGE = 300

Sleep = Callable[[float], Awaitable[None]]
A = TypeVar("A")
NOTHING: Parameters = {}


class ErrorDetails(Struct, frozen=True):
    type: str = ""
    code: str | None = None
    decline_code: str | None = None
    message: str | None = None
    param: str | None = None


class ErrorAnswer(Struct, frozen=True):
    error: ErrorDetails = ErrorDetails()


def read_mode(key: str) -> Mode:
    """Tell a key's mode by its first letters, or refuse what is no secret or restricted key of an account."""
    found = KEY.fullmatch(key)
    if found is None:
        raise KeyRefused("a key begins with rk_test_, rk_live_, sk_test_ or sk_live_")
    return Mode(found[1])


class StripeClient:
    """Sends requests with one key."""

    def __init__(self, outbound: Outbound, *, url: str, key: str, sleep: Sleep = asyncio.sleep) -> None:
        self.mode = read_mode(key)
        self._base = f"{url.rstrip('/')}/v1/"
        self._sleep = sleep
        headers = {"Authorization": f"Bearer {key}", "Stripe-Version": API_VERSION}
        self._client = outbound.client(headers=headers, limits=LIMITS)

    async def get(self, path: str, answer: type[A], parameters: Parameters = NOTHING) -> A:
        query = encode(parameters)
        response = await self._send("GET", f"{path}?{query}" if query else path)
        return _read(response, answer)

    async def post(self, path: str, answer: type[A], parameters: Parameters = NOTHING, *, key: str) -> A:
        """Ask for a change; the same key with the same parameters makes it once."""
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Idempotency-Key": key}
        return _read(await self._send("POST", path, body=encode(parameters).encode(), headers=headers), answer)

    async def delete(self, path: str) -> None:
        await self._send("DELETE", path)

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(
        self, method: str, path: str, *, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        """Send a request until it has an answer, or a fault that no repetition cures."""
        give_up_at = time.monotonic() + GIVE_UP_AFTER
        may_have_happened = False
        for number in range(1, TRIES + 1):
            try:
                response = await self._try(method, path, body, headers or {}, give_up_at)
                if response.is_success:
                    return response
                fault, wait = _describe(response), _find_wait(response, number)
            except CheckoutUnavailable as unavailable:
                fault, wait = unavailable, _back_off(number)
            if isinstance(fault, CheckoutUnavailable):
                may_have_happened = fault.may_have_happened = may_have_happened or fault.may_have_happened
            if wait is None or number == TRIES or time.monotonic() + wait >= give_up_at:
                break
            await self._sleep(wait)
        raise fault

    async def _try(
        self, method: str, path: str, body: bytes, headers: dict[str, str], give_up_at: float
    ) -> httpx2.Response:
        finish_by = min(time.monotonic() + LIMITS.within.total_seconds(), give_up_at)
        try:
            return await self._client.request(
                method, self._base + path, content=body or None, headers=headers, extensions={"finish_by": finish_by}
            )
        except OutboundFailed as fault:
            if fault.kind is FailureKind.TOO_LARGE:
                raise AnswerUnreadable("Stripe's answer is too large") from None
            raise CheckoutUnavailable(
                f"Stripe can't be reached: {fault.kind}", may_have_happened=fault.may_have_arrived
            ) from None
        except OutboundRefused as fault:
            raise CheckoutUnavailable(
                f"Stripe's address is not allowed: {fault.reason}", may_have_happened=False
            ) from None


def _find_wait(response: httpx2.Response, number: int) -> float | None:
    """Return after how many seconds to try again: Stripe's own advice comes first; None is never."""
    advice = response.headers.get("stripe-should-retry")
    status = response.status_code
    if advice == "false" or (advice != "true" and status not in {409, 429} and status < 500):
        return None
    asked = _read_retry_after(response)
    wait = max(_back_off(number), asked.total_seconds() if asked else 0.0)
    return wait if wait <= LONGEST_WAIT else None


def _back_off(number: int) -> float:
    longest: float = FIRST_WAIT * 2 ** (number - 1)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads the load, hides nothing


def _read_retry_after(response: httpx2.Response) -> timedelta | None:
    text = response.headers.get("retry-after", "")
    return timedelta(seconds=int(text)) if text.isascii() and text.isdigit() and len(text) <= 5 else None


def _describe(response: httpx2.Response) -> CheckoutFault:
    """Turn an answer that is no success into a fault."""
    status = response.status_code
    try:
        said = msgspec.json.decode(response.content, type=ErrorAnswer).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = None
    if status >= 500 or status == 409:
        return CheckoutUnavailable(
            f"Stripe answered {status}", may_have_happened=True, needs_new_attempt=_is_kept(response)
        )
    if status == 429:
        return CheckoutBusy(_read_retry_after(response))
    if status == 401:
        return KeyRefused("Stripe does not know the key")
    if said is None or status < 400:
        return AnswerUnreadable(f"Stripe answered {status}, and not as documented")
    if status == 403:
        lacks = LACKS.search(said.message or "")
        return RightMissing(lacks[1] if lacks else None)
    refusal = PaymentDeclined if status == 402 or said.type == "card_error" else CheckoutRefused
    code = said.decline_code or said.code or (said.type if said.type == "idempotency_error" else None)
    return refusal(_clean(said.message or f"Stripe answered {status}"), status=status, code=code, field=said.param)


def _is_kept(response: httpx2.Response) -> bool:
    """Tell whether Stripe has kept a fault of its own as the answer to this key."""
    is_replayed = response.headers.get("idempotent-replayed") == "true"
    return response.status_code >= 500 and (is_replayed or response.headers.get("stripe-should-retry") == "false")


def _clean(message: str) -> str:
    """Return a message of Stripe's without keys, which it repeats in part."""
    return SECRETS.sub("…", message)[:LONGEST_MESSAGE]


def _read(response: httpx2.Response, answer: type[A]) -> A:
    try:
        return msgspec.json.decode(response.content, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise AnswerUnreadable("Stripe's answer can't be read") from None
