"""The guard as an httpx2 transport: every request of a client, including redirects, is checked before it is sent."""

import asyncio
import ssl
import time
from datetime import timedelta
from typing import Literal
from uuid import UUID

import httpcore2
import httpx2
from msgspec import Struct

from openslot.core.config import Network
from openslot.core.outbound.connections import OutboundConnection, OutboundPool, open_connection
from openslot.core.outbound.errors import NO_ADDRESS, SLOW_TO_CONNECT, UNRESOLVED, FailureKind, OutboundFailed
from openslot.core.outbound.lookups import LookUps
from openslot.core.outbound.messages import BoundedStream, build_request, build_response, told_as_failures
from openslot.core.outbound.resolver import Resolver
from openslot.core.outbound.targets import LONGEST_URL, Address, OutboundTarget, check_addresses, get_target


class Guard:
    """Knows which addresses the operator allows in addition to public ones."""

    def __init__(self, *, allow: tuple[Network, ...], resolver: Resolver) -> None:
        self._allow = allow
        self._look_ups = LookUps(resolver)

    def get_target(self, url: str, *, at_most: int = LONGEST_URL) -> OutboundTarget:
        """Parse where the URL leads, or refuse it if it would not be allowed whatever its name resolves to."""
        return get_target(url, allow=self._allow, at_most=at_most)

    async def get_addresses(self, target: OutboundTarget, *, owner_id: UUID | None) -> tuple[Address, ...]:
        """Return the target's addresses, or refuse it unless each of them is public or allowed."""
        addresses = (target.address,) if target.address is not None else await self._look_up(target.host, owner_id)
        check_addresses(target, addresses, allow=self._allow)
        return addresses

    def close(self) -> None:
        """End all look-ups that are under way."""
        self._look_ups.close()

    async def _look_up(self, host: str, owner_id: UUID | None) -> tuple[Address, ...]:
        try:
            addresses = await self._look_ups.resolve(host, owner_id=owner_id)
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
    """For the look-up, the connection and the TLS handshake together."""
    within: timedelta = timedelta(seconds=30)
    """From the look-up to the last byte of the body, redirects included."""
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
        target = self._guard.get_target(str(request.url), at_most=LONGEST_REQUEST_URL)
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
