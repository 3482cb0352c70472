"""The other side of outgoing calls: loopback servers, resolvers and a small internet, and proof that they notice."""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address

import httpcore2
import pytest

from openslot.core.outbound.targets import Address
from tests.support.hostile_urls import REACHABLE_BY_ANY_RESOLVER

PUBLIC = "93.184.215.14"
PUBLIC_V6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Meet = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """A loopback server that remembers who came and what was asked."""

    def __init__(self, handler: Handler, greeting: bytes) -> None:
        self.handler = handler
        self.greeting = greeting
        self.connections = 0
        self.requests: list[bytes] = []
        self.asked = asyncio.Event()
        self.port = 0

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                writer.write(self.greeting)
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                self.asked.set()
                await self.handler(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()


def answering(answer: bytes) -> Handler:
    async def handler(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return handler


@asynccontextmanager
async def serve(
    handler: Handler | bytes = OK, *, greeting: bytes = b"", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Peer]:
    """Listen on both loopback addresses under one port."""
    peer = Peer(answering(handler) if isinstance(handler, bytes) else handler, greeting)
    meetings: set[asyncio.Task[None]] = set()

    def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(peer.meet(reader, writer))
        meetings.add(task)
        task.add_done_callback(meetings.discard)

    servers = await _listen_on_both(meet, tls)
    peer.port = servers[0].sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        for server in servers:
            server.close()
        for task in tuple(meetings):
            task.cancel()
        await asyncio.gather(*meetings, return_exceptions=True)
        for server in servers:
            await server.wait_closed()


async def _listen_on_both(meet: Meet, tls: ssl.SSLContext | None) -> list[asyncio.Server]:
    while True:
        first = await asyncio.start_server(meet, "127.0.0.1", 0, ssl=tls)
        try:
            return [first, await asyncio.start_server(meet, "::1", first.sockets[0].getsockname()[1], ssl=tls)]
        except OSError as fault:
            if fault.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                return [first]
            first.close()
            # Somebody else may have the same port of the other address.
            if fault.errno != errno.EADDRINUSE:
                raise


class Names:
    """A resolver that gives its answers one after the other and repeats the last."""

    def __init__(self, *answers: Iterable[str]) -> None:
        self.answers = [tuple(ip_address(text) for text in answer) for answer in answers]
        self.asked: list[str] = []

    async def resolve(self, host: str) -> tuple[Address, ...]:
        self.asked.append(host)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


class Internet(httpcore2.AsyncNetworkBackend):
    """Leads two public addresses to one server and all the rest to the canary; asked by name, it looks up anew."""

    def __init__(self, *, canary: Peer, public: Peer | None = None, names: Names | None = None) -> None:
        self.canary = canary
        self.public = public
        self.names = names
        self.dead: set[str] = set()
        self.asked: list[str] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.asked.append(host)
        if host in self.dead:
            raise httpcore2.ConnectError("nobody listens")
        if not _is_address(host) and self.names is not None:
            host = str((await self.names.resolve(host))[0])
        peer = self.public if self.public is not None and host in {PUBLIC, PUBLIC_V6} else self.canary
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", peer.port, timeout)


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(host))
    return False


@pytest.mark.parametrize("host", REACHABLE_BY_ANY_RESOLVER)
async def test_the_canary_counts_whoever_comes_under_any_spelling(host: str) -> None:
    async with serve() as canary:
        await asyncio.to_thread(_knock, host, canary.port)
        assert canary.connections == 1


async def test_the_internet_leads_a_rebound_name_to_the_canary() -> None:
    names = Names([PUBLIC], ["127.0.0.1"])
    async with serve() as canary, serve() as public:
        internet = Internet(canary=canary, public=public, names=names)
        for _ in range(2):
            stream = await internet.connect_tcp("hooks.example.org", 443)
            await stream.write(b"GET / HTTP/1.1\r\n\r\n")
            await stream.read(100)
            await stream.aclose()
        assert (public.connections, canary.connections) == (1, 1)


def _knock(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        connection.recv(100)
