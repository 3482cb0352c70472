"""The guard as an httpx2 transport: every request of a client, redirects included, is checked before it is sent."""

import asyncio
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from datetime import timedelta
from typing import Literal
from uuid import UUID

import httpcore2
import httpx2
from msgspec import Struct

from openslot.platform.core.config import Network
from openslot.platform.core.outbound.connections import (
    OutboundConnection,
    OutboundPool,
    ResponseTooLong,
    open_connection,
)
from openslot.platform.core.outbound.lookups import LookUps
from openslot.platform.core.outbound.targets import (
    BROKEN_OFF,
    MANY_HEADERS,
    NO_ADDRESS,
    NOT_HTTP,
    PACKED,
    SLOW_TO_ANSWER,
    SLOW_TO_CONNECT,
    TOO_MUCH,
    UNRESOLVED,
    Address,
    FailureKind,
    OutboundFailed,
    OutboundReason,
    OutboundRefused,
    OutboundTarget,
    check_addresses,
    get_target,
)

METHOD = re.compile(r"[A-Z]+(?:-[A-Z]+)*")
LONGEST_METHOD = 20
CLOSED_METHODS = frozenset({"CONNECT", "TRACE"})
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")

OWN_HEADERS = frozenset({"host", "connection", "accept-encoding"})
FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})
CLOSED_HEADERS = frozenset({"expect", "upgrade", "te", "keep-alive", "proxy-connection"})


def check_method(method: str) -> None:
    if len(method) > LONGEST_METHOD or not METHOD.fullmatch(method) or method in CLOSED_METHODS:
        raise OutboundRefused(OutboundReason.METHOD)


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse a caller's header that is malformed or controls how the request is sent."""
    for name, value in headers.items():
        if name.lower() in OWN_HEADERS | FRAMING_HEADERS:
            raise OutboundRefused(OutboundReason.HEADERS)
        _check_header(name, value)


def build_request(request: httpx2.Request, target: OutboundTarget, *, connection: str) -> httpcore2.Request:
    """Build the request for its target, with the connection headers that only we may set."""
    check_method(request.method)
    # Callers must not set other extensions, such as another name for TLS or another request line.
    timeouts = {name: request.extensions.get("timeout", {}).get(name) for name in ("read", "write")}
    return httpcore2.Request(
        request.method,
        httpcore2.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
        ),
        headers=[
            ("Host", target.host_header),
            ("Connection", connection),
            # Responses are not decompressed: a few bytes could expand to more than memory holds.
            ("Accept-Encoding", "identity"),
            *_read_headers(request),
        ],
        content=request.stream,
        extensions={"timeout": timeouts},
    )


def _read_headers(request: httpx2.Request) -> list[tuple[str, str]]:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
    headers = [(name, value) for name, value in headers if name.lower() not in OWN_HEADERS]
    for name, value in headers:
        _check_header(name, value)
    # With two lengths, the server might see the end of the body in another place than we do.
    if sum(name.lower() in FRAMING_HEADERS for name, _ in headers) > 1:
        raise OutboundRefused(OutboundReason.HEADERS)
    return headers


def _check_header(name: str, value: str) -> None:
    if name.lower() in CLOSED_HEADERS or not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
        raise OutboundRefused(OutboundReason.HEADERS)


@contextmanager
def told_as_failures(host: str) -> Iterator[None]:
    """Turn exceptions of the network into a failure that names the host."""
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as fault:
        raise OutboundFailed(FailureKind.TIMEOUT, SLOW_TO_ANSWER.fill(host=host)) from fault
    except ResponseTooLong as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, MANY_HEADERS.fill(host=host)) from fault
    except httpcore2.ProtocolError as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, NOT_HTTP.fill(host=host)) from fault
    except httpcore2.NetworkError as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, BROKEN_OFF.fill(host=host)) from fault


def build_response(
    request: httpx2.Request, response: httpcore2.Response, stream: httpx2.AsyncByteStream
) -> httpx2.Response:
    """Build the response without access to its connection, dropping a Location header that is not a URL."""
    headers = httpx2.Headers(response.headers)
    if "location" in headers and not _is_url(headers["location"], request.url):
        del headers["location"]
    extensions = {name: response.extensions[name] for name in ("http_version", "reason_phrase")}
    return httpx2.Response(response.status, headers=headers, stream=stream, extensions=extensions)


def _is_url(location: str, base: httpx2.URL) -> bool:
    # The client parses the header in the same steps, even if it does not follow it, and would raise an unrelated error.
    try:
        url = httpx2.URL(location)
        if url.scheme and not url.host:
            url.copy_with(host=base.host)
        if url.is_relative_url:
            base.join(url)
    except (httpx2.InvalidURL, ValueError):
        return False
    return True


class BoundedStream(httpx2.AsyncByteStream):
    """Yields a body's bytes as they arrive, fails beyond its limits, and releases the connection when closed."""

    def __init__(
        self,
        response: httpcore2.Response,
        *,
        host: str,
        at_most: int,
        finish_by: float,
        packed_bodies: Literal["refused", "as they came"],
        release: Callable[[], Awaitable[None]],
    ) -> None:
        self._response = response
        self._host = host
        self._at_most = at_most
        self._finish_by = finish_by
        self._is_refused = packed_bodies == "refused" and _is_packed(response)
        self._release = release

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._at_most
        async with aclosing(self._response.aiter_stream()) as chunks:
            while (chunk := await self._find_chunk(chunks)) is not None:
                yield chunk[:left]
                left -= len(chunk)
                if left < 0:
                    raise self._too_large()

    async def aclose(self) -> None:
        """Discard what was not read, and release the connection."""
        try:
            await self._response.aclose()
        finally:
            await self._release()

    async def _find_chunk(self, chunks: AsyncGenerator[bytes]) -> bytes | None:
        with told_as_failures(self._host):
            async with asyncio.timeout(self._finish_by - time.monotonic()):
                try:
                    chunk = await anext(chunks, None)
                except ResponseTooLong:
                    raise self._too_large() from None
        if chunk and self._is_refused:
            # A few compressed bytes could expand to more than memory holds.
            raise OutboundFailed(FailureKind.PROTOCOL, PACKED.fill(host=self._host))
        return chunk

    def _too_large(self) -> OutboundFailed:
        return OutboundFailed(FailureKind.TOO_LARGE, TOO_MUCH.fill(host=self._host, count=self._at_most))


def _is_packed(response: httpcore2.Response) -> bool:
    return any(name.lower() == b"content-encoding" and value.lower() != b"identity" for name, value in response.headers)


class Guard(Struct, frozen=True, kw_only=True):
    allow: tuple[Network, ...]
    """The networks that the operator allows in addition to public addresses."""
    look_ups: LookUps

    async def get_addresses(self, target: OutboundTarget, *, owner_id: UUID | None) -> tuple[Address, ...]:
        """Return the target's addresses, or refuse it unless each of them is public or allowed."""
        addresses = (target.address,) if target.address is not None else await self._look_up(target.host, owner_id)
        check_addresses(target, addresses, allow=self.allow)
        return addresses

    async def _look_up(self, host: str, owner_id: UUID | None) -> tuple[Address, ...]:
        try:
            addresses = await self.look_ups.resolve(host, owner_id=owner_id)
        except (OSError, UnicodeError) as fault:
            raise OutboundFailed(FailureKind.DNS, UNRESOLVED.fill(host=host)) from fault
        if not addresses:
            raise OutboundFailed(FailureKind.DNS, NO_ADDRESS.fill(host=host))
        return addresses


# Servers return longer URLs than users enter: they contain page tokens and sync tokens.
LONGEST_REQUEST_URL = 8192


class RequestLimits(Struct, frozen=True):
    """How long a request may take and how large its response may be."""

    connect_within: timedelta = timedelta(seconds=5)
    """The limit of the look-up, the connection and the TLS handshake together."""
    within: timedelta = timedelta(seconds=30)
    """The limit from the look-up to the last byte of the body, redirects included."""
    at_most: int = 10 * 1024 * 1024
    """Bytes of one response's body."""


DEFAULT_LIMITS = RequestLimits()


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends each request to an address that was resolved and checked for it, within its limits."""

    def __init__(
        self,
        guard: Guard,
        *,
        connector: httpcore2.AsyncNetworkBackend,
        tls: ssl.SSLContext,
        limits: RequestLimits = DEFAULT_LIMITS,
        owner_id: UUID | None = None,
        connection: Literal["keep-alive", "close"] = "keep-alive",
        packed_bodies: Literal["refused", "as they came"] = "refused",
    ) -> None:
        self._guard = guard
        self._connector = connector
        self._tls = tls
        self._limits = limits
        self._owner_id = owner_id
        self._connection = connection
        self._packed_bodies = packed_bodies
        self._pool = OutboundPool()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request without following redirects, and return a response that must be read or closed."""
        limits: RequestLimits = request.extensions.get("limits", self._limits)
        # A redirected request carries the extensions of the first, so one deadline applies to the whole chain.
        finish_by: float = request.extensions.setdefault("finish_by", time.monotonic() + limits.within.total_seconds())
        target = get_target(str(request.url), allow=self._guard.allow, at_most=LONGEST_REQUEST_URL)
        message = build_request(request, target, connection=self._connection)
        with told_as_failures(target.host):
            async with asyncio.timeout(finish_by - time.monotonic()):
                connection = await self._connect(request, target, within=_get_time_to_connect(request, limits))
                response = await self._exchange(connection, message)
        connection.stream.expect_body(limits.at_most)
        stream = BoundedStream(
            response,
            host=target.host,
            at_most=limits.at_most,
            finish_by=finish_by,
            packed_bodies=self._packed_bodies,
            release=lambda: self._pool.release(connection),
        )
        return build_response(request, response, stream)

    async def aclose(self) -> None:
        """Cancel the requests in progress and close every connection."""
        await self._pool.aclose()

    async def _connect(self, request: httpx2.Request, target: OutboundTarget, *, within: float) -> OutboundConnection:
        owner_id: UUID | None = request.extensions.get("owner_id", self._owner_id)
        try:
            async with asyncio.timeout(within):
                addresses = await self._guard.get_addresses(target, owner_id=owner_id)
                return self._pool.find(target, addresses) or await open_connection(
                    target, addresses, connector=self._connector, tls=self._tls, within=within
                )
        except (TimeoutError, httpcore2.ConnectTimeout) as fault:
            raise OutboundFailed(FailureKind.TIMEOUT, SLOW_TO_CONNECT.fill(host=target.host)) from fault

    async def _exchange(self, connection: OutboundConnection, message: httpcore2.Request) -> httpcore2.Response:
        try:
            self._pool.use(connection)
            return await connection.send(message)
        except BaseException:
            await connection.aclose()
            raise


def _get_time_to_connect(request: httpx2.Request, limits: RequestLimits) -> float:
    asked: float | None = request.extensions.get("timeout", {}).get("connect")
    max_ = limits.connect_within.total_seconds()
    return max_ if asked is None else min(asked, max_)
