"""Sends requests to URLs that a user gave, and creates clients with the same restrictions."""

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from copy import copy
from datetime import timedelta
from functools import cache
from http.cookiejar import CookieJar
from ipaddress import ip_address
from types import MappingProxyType
from uuid import UUID
from weakref import WeakSet

import httpcore2
import httpx2
from anyio.abc import SocketStream
from httpcore2._backends.anyio import AnyIOStream
from msgspec import Struct

from openslot import __version__
from openslot.platform.core.config import Network
from openslot.platform.core.outbound.lookups import LookUps
from openslot.platform.core.outbound.resolver import Resolver, SystemResolver
from openslot.platform.core.outbound.targets import Address, FailureKind, OutboundFailed, check_url
from openslot.platform.core.outbound.transport import (
    DEFAULT_LIMITS,
    Guard,
    GuardedTransport,
    RequestLimits,
    check_headers,
    check_method,
)


class AddressBackend(httpcore2.AnyIOBackend):
    """Connects to one address only; the parent class would race all addresses of a name, at five times the cost."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the address; raise an error for a name."""
        address = ip_address(host)
        try:
            async with asyncio.timeout(timeout):
                return AnyIOStream(await _connect(address, port))
        except TimeoutError as fault:
            raise httpcore2.ConnectTimeout(str(fault)) from fault
        except OSError as fault:
            raise httpcore2.ConnectError(str(fault)) from fault


async def _connect(address: Address, port: int) -> SocketStream:
    connection = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
        return await SocketStream.from_socket(connection)
    except ValueError as fault:
        connection.close()
        raise ConnectionResetError("the connection was reset as soon as it was made") from fault
    except BaseException:
        connection.close()
        raise


NO_HEADERS: Mapping[str, str] = MappingProxyType({})
USER_AGENT = f"Openslot/{__version__}"
MAX_REDIRECTS = 5

# It logs the whole URL of every request, and a user's URL may contain a secret.
logging.getLogger("httpx2").setLevel(logging.WARNING)


class OutboundResponse(Struct, frozen=True):
    """What the server answered; the body is never decompressed."""

    status: int
    headers: dict[str, str]
    """The headers by lower-case name; the values of a repeated name are joined by commas."""
    body: bytes
    truncated: bool
    elapsed_ms: int


class NoCookies(CookieJar):
    """Stores and sends no cookies: one client may act for many users."""

    def extract_cookies(self, response: object, request: object) -> None: ...
    def add_cookie_header(self, request: object) -> None: ...


class Outbound:
    """Makes outgoing calls to public addresses and to networks that the operator allows."""

    def __init__(
        self,
        allow: tuple[Network, ...] = (),
        resolver: Resolver | None = None,
        *,
        connector: httpcore2.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.owner_id: UUID | None = None
        self._guard = Guard(allow=allow, look_ups=LookUps(resolver or SystemResolver()))
        self._connector = connector or AddressBackend()
        self._tls = tls or _default_tls()
        self._tls.set_alpn_protocols(["http/1.1"])
        self._transports: WeakSet[GuardedTransport] = WeakSet()
        # A new connection for each call: nothing that was checked for one call is reused for another.
        single = GuardedTransport(
            self._guard, connector=self._connector, tls=self._tls, connection="close", packed_bodies="as they came"
        )
        self._transports.add(single)
        self._client = _make_client(single)

    def on_behalf_of(self, owner_id: UUID | None) -> "Outbound":
        """Return the same client for calls of this owner, or of the operator; look-ups are shared fairly by owner."""
        theirs = copy(self)
        theirs.owner_id = owner_id
        return theirs

    def check_url(self, url: str) -> None:
        """Refuse a URL that would not be allowed whatever its name resolves to."""
        check_url(url, allow=self._guard.allow)

    def transport(self, limits: RequestLimits = DEFAULT_LIMITS) -> GuardedTransport:
        """Return a transport for a library that makes its own httpx2 client; the client closes it."""
        transport = GuardedTransport(
            self._guard, connector=self._connector, tls=self._tls, limits=limits, owner_id=self.owner_id
        )
        self._transports.add(transport)
        return transport

    def client(
        self,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        auth: httpx2.Auth | None = None,
        follow_redirects: bool = False,
        limits: RequestLimits = DEFAULT_LIMITS,
    ) -> httpx2.AsyncClient:
        """Return a client that checks every request, including each redirect; close it after use."""
        return _make_client(self.transport(limits), headers=headers, auth=auth, follow_redirects=follow_redirects)

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
    ) -> OutboundResponse:
        """Send one request over a new connection and return the response; redirects are not followed."""
        started = time.monotonic()
        self.check_url(url)
        check_method(method)
        check_headers(headers)
        limits = RequestLimits(connect_within=connect_within, within=within, at_most=at_most)
        request = _build_request(method, url, headers=headers, body=body)
        request.extensions.update(limits=limits, owner_id=self.owner_id)
        response = await self._client.send(request, stream=True)
        content, truncated = await _read_body(response)
        elapsed_ms = round((time.monotonic() - started) * 1000)
        return OutboundResponse(response.status_code, dict(response.headers.items()), content, truncated, elapsed_ms)

    async def close(self) -> None:
        self._guard.look_ups.close()
        for transport in tuple(self._transports):
            await transport.aclose()


def _make_client(
    transport: GuardedTransport,
    *,
    headers: Mapping[str, str] = NO_HEADERS,
    auth: httpx2.Auth | None = None,
    follow_redirects: bool = False,
) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=transport,
        headers={"User-Agent": USER_AGENT, **headers},
        auth=auth,
        follow_redirects=follow_redirects,
        max_redirects=MAX_REDIRECTS,
        cookies=NoCookies(),
        # Only the transport's limits apply: httpx2's own time-outs count each step separately.
        timeout=None,
        trust_env=False,
    )


def _build_request(method: str, url: str, *, headers: Mapping[str, str], body: bytes) -> httpx2.Request:
    ours = {"User-Agent": USER_AGENT}
    if body or method in {"POST", "PUT", "PATCH"}:
        ours["Content-Length"] = str(len(body))
    given = {name.lower() for name in headers}
    return httpx2.Request(
        method,
        url,
        headers={**{name: value for name, value in ours.items() if name.lower() not in given}, **headers},
        stream=httpx2.ByteStream(body),
        extensions={"timeout": {}},
    )


async def _read_body(response: httpx2.Response) -> tuple[bytes, bool]:
    body = bytearray()
    try:
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body += chunk
    except OutboundFailed as fault:
        if fault.kind is not FailureKind.TOO_LARGE:
            raise
        return bytes(body), True
    return bytes(body), False


# benchmarks/caches.py: open a client, for which certificates are read, 660 times
@cache
def _default_tls() -> ssl.SSLContext:
    """Trust the system's certificates; loading them takes tens of milliseconds, so it is done once."""
    return httpcore2.default_ssl_context()
