"""Connections that are opened to a checked address, stay pinned to it, and are kept for the next request."""

import ssl
import time
from contextlib import suppress
from weakref import WeakSet

import httpcore2

from openslot.platform.core.outbound.targets import (
    CLOSED,
    NOT_CONNECTED,
    NOT_SECURE,
    Address,
    FailureKind,
    OutboundFailed,
    OutboundTarget,
)

MAX_HEADER_BYTES = 65536
MAX_UNSENT_BYTES = 65536


class ResponseTooLong(Exception):
    """The other side sent more than it may."""


class MeteredStream(httpcore2.AsyncNetworkStream):
    """Sends the parts of a request together, and counts what is received."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._unsent = b""
        self._left = 0

    def expect_headers(self) -> None:
        self._left = MAX_HEADER_BYTES

    def expect_body(self, at_most: int) -> None:
        """Also allow a body of up to this many bytes."""
        # Twice as many, for the framing of chunks; beyond that a body is too long, however little of it is content.
        self._left += 2 * at_most

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the parent's
        if self._left <= 0:
            raise ResponseTooLong
        # A server may have answered and closed before reading everything: its answer can still be read.
        with suppress(httpcore2.WriteError):
            await self._send_rest(timeout)
        data = await self._stream.read(min(max_bytes, self._left), timeout)
        self._left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the parent's
        """Send the bytes; small writes are combined with those that follow."""
        self._unsent += buffer
        if len(self._unsent) > MAX_UNSENT_BYTES:
            await self._send_rest(timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)

    async def _send_rest(self, timeout: float | None) -> None:  # noqa: ASYNC109 - the parent's
        unsent, self._unsent = self._unsent, b""
        if unsent:
            await self._stream.write(unsent, timeout)


MAX_ADDRESSES_TRIED = 4
IDLE_SECONDS = 5.0


class OutboundConnection:
    """One HTTP/1.1 connection to one address under one scheme, host and port."""

    def __init__(self, target: OutboundTarget, address: Address, stream: httpcore2.AsyncNetworkStream) -> None:
        self.stream = MeteredStream(stream)
        self._pinned_to = (target.scheme, target.host, target.port)
        self._address = address
        origin = httpcore2.Origin(target.scheme.encode(), target.host.encode(), target.port)
        self._http = httpcore2.AsyncHTTP11Connection(origin, self.stream, keepalive_expiry=IDLE_SECONDS)

    @property
    def is_idle(self) -> bool:
        return self._http.is_idle() and not self._http.has_expired()

    def leads_to(self, target: OutboundTarget, addresses: tuple[Address, ...]) -> bool:
        """Return whether it was opened for the target's scheme, host and port to one of the addresses."""
        return self._pinned_to == (target.scheme, target.host, target.port) and self._address in addresses

    async def send(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send the request and return the response once its headers have arrived."""
        self.stream.expect_headers()
        return await self._http.handle_async_request(request)

    async def aclose(self) -> None:
        await self._http.aclose()


async def open_connection(
    target: OutboundTarget,
    addresses: tuple[Address, ...],
    *,
    connector: httpcore2.AsyncNetworkBackend,
    tls: ssl.SSLContext,
    within: float,
) -> OutboundConnection:
    """Connect to the first address that answers; with TLS, verify that it has a certificate for the target's name."""
    connect_by = time.monotonic() + within
    address, stream = await _connect(target, addresses[:MAX_ADDRESSES_TRIED], connector, connect_by=connect_by)
    try:
        if target.scheme == "https":
            stream = await _start_tls(stream, target.host, tls)
    except BaseException:
        await stream.aclose()
        raise
    return OutboundConnection(target, address, stream)


async def _connect(
    target: OutboundTarget,
    addresses: tuple[Address, ...],
    connector: httpcore2.AsyncNetworkBackend,
    *,
    connect_by: float,
) -> tuple[Address, httpcore2.AsyncNetworkStream]:
    """Try the addresses in turn, each for its share of the time left."""
    first, *others = addresses
    share = max(connect_by - time.monotonic(), 0) / len(addresses)
    try:
        # Connect by address, never by name: a second look-up could return another one.
        return first, await connector.connect_tcp(str(first), target.port, timeout=share)
    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as fault:
        if others:
            return await _connect(target, tuple(others), connector, connect_by=connect_by)
        if isinstance(fault, httpcore2.ConnectTimeout):
            raise
        raise OutboundFailed(FailureKind.CONNECT, NOT_CONNECTED.fill(host=target.host_header)) from fault


async def _start_tls(
    stream: httpcore2.AsyncNetworkStream, host: str, tls: ssl.SSLContext
) -> httpcore2.AsyncNetworkStream:
    try:
        return await stream.start_tls(tls, server_hostname=host)
    except httpcore2.ConnectError as fault:
        raise OutboundFailed(FailureKind.TLS, NOT_SECURE.fill(host=host, why=_why(fault))) from fault


def _why(fault: httpcore2.ConnectError) -> str:
    cause = fault.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return cause.verify_message.rstrip(".")
    return "the TLS handshake failed"


MAX_IDLE = 10


class OutboundPool:
    """Reuses an idle connection only for a request that would be allowed to open the same one.

    A request's host is resolved and checked before the pool is asked, and the pool returns only a connection that was
    opened for the same scheme, host and port to one of the addresses just checked. So a name that has moved to a
    private address is refused even if a connection is open, and two names at one address never share a connection.
    """

    def __init__(self) -> None:
        self._idle: list[OutboundConnection] = []
        # Weak references: a response that was never closed must not keep its connection open as long as the client
        # exists.
        self._busy: WeakSet[OutboundConnection] = WeakSet()
        self._is_closed = False

    def find(self, target: OutboundTarget, addresses: tuple[Address, ...]) -> OutboundConnection | None:
        """Remove and return an idle connection to one of the addresses, the most recently used first."""
        for connection in reversed(self._idle):
            if connection.leads_to(target, addresses) and connection.is_idle:
                self._idle.remove(connection)
                return connection
        return None

    def use(self, connection: OutboundConnection) -> None:
        if self._is_closed:
            raise OutboundFailed(FailureKind.CONNECT, CLOSED)
        self._busy.add(connection)

    async def release(self, connection: OutboundConnection) -> None:
        """Keep the connection if it can be used again, and close those that are too old or too many."""
        if connection not in self._busy:
            return
        self._busy.remove(connection)
        known = [*self._idle, connection]
        self._idle = [] if self._is_closed else [one for one in known if one.is_idle][-MAX_IDLE:]
        for one in known:
            if one not in self._idle:
                await one.aclose()

    async def aclose(self) -> None:
        """Close every connection, including those in use, and accept no more."""
        self._is_closed = True
        closing, self._idle = [*self._idle, *self._busy], []
        for connection in closing:
            await connection.aclose()
