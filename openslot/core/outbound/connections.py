"""Connections that are opened to a checked address and stay pinned to it."""

import ssl
import time

import httpcore2

from openslot.core.outbound.addresses import Address
from openslot.core.outbound.errors import NOT_CONNECTED, NOT_SECURE, FailureKind, OutboundFailed
from openslot.core.outbound.streams import MeteredStream
from openslot.core.outbound.targets import OutboundTarget

MOST_ADDRESSES_TRIED = 4
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
        """Return whether the last exchange is over and the connection is open for another."""
        return self._http.is_idle() and not self._http.has_expired()

    def leads_to(self, target: OutboundTarget, addresses: tuple[Address, ...]) -> bool:
        """Return whether it was opened for the target's scheme, host and port to one of the addresses."""
        return self._pinned_to == (target.scheme, target.host, target.port) and self._address in addresses

    async def send(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send the request and return the response once its headers have arrived."""
        self.stream.expect_headers()
        return await self._http.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connection."""
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
    address, stream = await _connect(target, addresses[:MOST_ADDRESSES_TRIED], connector, connect_by=connect_by)
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
