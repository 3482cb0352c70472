"""Sends one request to a URL that a user gave and reads a bounded answer."""

import asyncio
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from datetime import timedelta
from types import MappingProxyType

import httpcore2
from msgspec import Struct

from openslot.core.config import Network
from openslot.core.outbound.errors import Kind, OutboundFailed, OutboundRefused, Reason
from openslot.core.outbound.guard import AnswerTooLong, Guard
from openslot.core.outbound.resolver import Resolver, SystemResolver
from openslot.core.outbound.targets import Target, get_target

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
OWN_HEADERS = frozenset(
    {"host", "connection", "accept-encoding", "content-length", "transfer-encoding", "expect", "upgrade", "te"}
)
METHOD = re.compile(r"[A-Z]{1,20}")
CLOSED_METHODS = frozenset({"CONNECT", "TRACE"})
METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")


class Answer(Struct, frozen=True):
    """What the other side said; the body is as it came, never unpacked."""

    status: int
    headers: dict[str, str]
    """By lower-case name; a name that came twice has its values by commas."""
    body: bytes
    truncated: bool
    elapsed_ms: int


class Outbound:
    """Makes outgoing calls to public addresses and to the networks that the operator allows."""

    def __init__(
        self,
        allow: tuple[Network, ...] = (),
        resolver: Resolver | None = None,
        *,
        connector: httpcore2.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow = allow
        self._system = SystemResolver()
        self._resolver = resolver or self._system
        self._connector = connector or httpcore2.AnyIOBackend()
        self._tls = tls or httpcore2.default_ssl_context()
        self._open: set[Guard] = set()

    def check_url(self, url: str) -> None:
        """Refuse a URL that no look-up could make acceptable."""
        get_target(url, allow=self._allow)

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes = b"",
        connect_within: timedelta = timedelta(seconds=5),
        within: timedelta = timedelta(seconds=15),
        at_most: int = 65536,
    ) -> Answer:
        """Send one request over one new connection and give the answer, a redirect too, as it came."""
        started = time.monotonic()
        target = get_target(url, allow=self._allow)
        request = _build(method, target, headers=headers, body=body, connect_within=connect_within)
        guard = Guard(target, allow=self._allow, resolver=self._resolver, connector=self._connector)
        self._open.add(guard)
        try:
            with _told_as_failures(target):
                async with asyncio.timeout(within.total_seconds()):
                    response, content, truncated = await self._exchange(request, guard, at_most=at_most)
        finally:
            self._open.discard(guard)
            await guard.aclose()
        elapsed_ms = round((time.monotonic() - started) * 1000)
        return Answer(response.status, _read_headers(response), content, truncated, elapsed_ms)

    async def close(self) -> None:
        """End all calls under way."""
        self._system.close()
        for guard in tuple(self._open):
            await guard.aclose()

    async def _exchange(
        self, request: httpcore2.Request, guard: Guard, *, at_most: int
    ) -> tuple[httpcore2.Response, bytes, bool]:
        # A connection of its own for each call: nothing that was checked for one is reused for another.
        connection = httpcore2.AsyncHTTPConnection(request.url.origin, ssl_context=self._tls, network_backend=guard)
        response = await connection.handle_async_request(request)
        # Twice, for the framing of chunks; past that a body counts as too long however little of it is content.
        guard.meter.left += 2 * at_most
        content, truncated = await _read_body(response, at_most=at_most)
        return response, content, truncated


def _build(
    method: str, target: Target, *, headers: Mapping[str, str], body: bytes, connect_within: timedelta
) -> httpcore2.Request:
    if not METHOD.fullmatch(method) or method in CLOSED_METHODS:
        raise OutboundRefused(Reason.METHOD)
    url = httpcore2.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
    )
    ours = {"Host": target.host_header, "Connection": "close", "Accept-Encoding": "identity", "User-Agent": "Openslot"}
    if body or method in METHODS_WITH_BODY:
        ours["Content-Length"] = str(len(body))
    return httpcore2.Request(
        method,
        url,
        headers=[*_merge(ours, headers).items()],
        content=body,
        extensions={"timeout": {"connect": connect_within.total_seconds()}},
    )


def _merge(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    for name, value in theirs.items():
        if name.lower() in OWN_HEADERS or not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
            raise OutboundRefused(Reason.HEADERS)
    given = {name.lower() for name in theirs}
    return {**{name: value for name, value in ours.items() if name.lower() not in given}, **theirs}


def _read_headers(response: httpcore2.Response) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


async def _read_body(response: httpcore2.Response, *, at_most: int) -> tuple[bytes, bool]:
    body = bytearray()
    try:
        async with aclosing(response.aiter_stream()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > at_most:
                    return bytes(body[:at_most]), True
    except AnswerTooLong:
        return bytes(body), True
    return bytes(body), False


@contextmanager
def _told_as_failures(target: Target) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as fault:
        raise OutboundFailed(Kind.TIMEOUT, f"{target.host} took too long to answer.") from fault
    except AnswerTooLong as fault:
        raise OutboundFailed(Kind.PROTOCOL, f"{target.host} sent too many headers.") from fault
    except httpcore2.ProtocolError as fault:
        raise OutboundFailed(Kind.PROTOCOL, f"{target.host} did not answer in HTTP.") from fault
    except httpcore2.NetworkError as fault:
        raise OutboundFailed(Kind.PROTOCOL, f"{target.host} broke the connection off.") from fault
