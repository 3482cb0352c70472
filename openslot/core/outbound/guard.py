"""Resolves once, checks every address, connects to a checked one, and counts what comes back."""

import asyncio
import ssl
import time
from collections.abc import Iterable

import httpcore2
from msgspec import Struct

from openslot.core.config import Network
from openslot.core.outbound.addresses import Address
from openslot.core.outbound.errors import Kind, OutboundFailed
from openslot.core.outbound.resolver import Resolver
from openslot.core.outbound.targets import Target, check_addresses

MOST_ADDRESSES_TRIED = 4
MOST_HEADER_BYTES = 65536


class AnswerTooLong(Exception):  # noqa: N818 - a signal between the stream and its reader
    """The other side sent more than it may."""


class Meter(Struct):
    """How many bytes the other side may still send."""

    left: int = MOST_HEADER_BYTES


class Guard(httpcore2.AsyncNetworkBackend):
    """Opens the one connection of one call."""

    def __init__(
        self,
        target: Target,
        *,
        allow: tuple[Network, ...],
        resolver: Resolver,
        connector: httpcore2.AsyncNetworkBackend,
    ) -> None:
        self.meter = Meter()
        self._target = target
        self._allow = allow
        self._resolver = resolver
        self._connector = connector
        self._opened: httpcore2.AsyncNetworkStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to an address that was checked, within the time for resolving and connecting together."""
        connect_by = time.monotonic() + (timeout or 0)
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._get_addresses()
                check_addresses(self._target, addresses, allow=self._allow)
                self._opened = await self._connect(addresses, connect_by=connect_by)
        except (TimeoutError, httpcore2.ConnectTimeout):
            raise OutboundFailed(Kind.TIMEOUT, f"{self._target.host} took too long to connect.") from None
        return MeteredStream(self._opened, meter=self.meter, connect_by=connect_by)

    async def aclose(self) -> None:
        """Close the connection, however far it got."""
        if self._opened is not None:
            await self._opened.aclose()

    async def _get_addresses(self) -> tuple[Address, ...]:
        if self._target.address is not None:
            return (self._target.address,)
        try:
            addresses = await self._resolver.resolve(self._target.host)
        except (OSError, UnicodeError) as fault:
            raise OutboundFailed(Kind.DNS, f"{self._target.host} could not be resolved.") from fault
        if not addresses:
            raise OutboundFailed(Kind.DNS, f"{self._target.host} has no address.")
        return addresses

    async def _connect(self, addresses: tuple[Address, ...], *, connect_by: float) -> httpcore2.AsyncNetworkStream:
        """Try the addresses in turn, each for its share of the time left."""
        first, *others = addresses[:MOST_ADDRESSES_TRIED]
        share = (connect_by - time.monotonic()) / (1 + len(others))
        try:
            # The address, never the name: a second look-up could give another answer.
            return await self._connector.connect_tcp(str(first), self._target.port, timeout=share)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as fault:
            if others:
                return await self._connect(tuple(others), connect_by=connect_by)
            if isinstance(fault, httpcore2.ConnectTimeout):
                raise
            where = self._target.host_header
            raise OutboundFailed(Kind.CONNECT, f"{where} could not be connected to.") from fault


class MeteredStream(httpcore2.AsyncNetworkStream):
    """A stream that gives no more than its meter allows."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, *, meter: Meter, connect_by: float) -> None:
        self._stream = stream
        self._meter = meter
        self._connect_by = connect_by

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the parent's
        """Give what came, up to what is left."""
        if self._meter.left <= 0:
            raise AnswerTooLong
        data = await self._stream.read(min(max_bytes, self._meter.left), timeout)
        self._meter.left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the parent's
        """Send the bytes."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
    ) -> httpcore2.AsyncNetworkStream:
        """Shake hands in the name's name, in what is left of the time to connect."""
        time_left = max(self._connect_by - time.monotonic(), 0)
        try:
            stream = await self._stream.start_tls(ssl_context, server_hostname, time_left)
        except httpcore2.ConnectError as fault:
            raise OutboundFailed(Kind.TLS, f"No secure connection to {server_hostname}: {_why(fault)}.") from fault
        return MeteredStream(stream, meter=self._meter, connect_by=self._connect_by)

    def get_extra_info(self, info: str) -> object:
        """Tell what the stream beneath knows."""
        return self._stream.get_extra_info(info)


def _why(fault: httpcore2.ConnectError) -> str:
    cause = fault.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return cause.verify_message.rstrip(".")
    return "the TLS handshake failed"
