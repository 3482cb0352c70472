"""Servers that the outgoing client meets, and the names that lead to them."""

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path

import httpcore2
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from openslot.platform.core.outbound.targets import Address

PUBLIC = "93.184.215.14"
PUBLIC_V6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Meet = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
NAME = "hooks.example.org"
HEAD = b"HTTP/1.1 200 OK\r\n"


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


@cache
def certificate(*hosts: str) -> tuple[bytes, bytes]:
    """Make a self-signed certificate for the names and for one public address."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    names = x509.SubjectAlternativeName([*map(x509.DNSName, hosts), x509.IPAddress(ip_address(PUBLIC))])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made.public_bytes(Encoding.PEM), private


class Identity:
    """The TLS side of the public server, and the names it was called by."""

    def __init__(self, folder: Path, *hosts: str) -> None:
        public, private = certificate(*(hosts or (NAME,)))
        (folder / "both.pem").write_bytes(public + private)
        self.called: list[str | None] = []
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(folder / "both.pem")
        self.server.sni_callback = lambda _socket, name, _context: self.called.append(name)
        self.client = ssl.create_default_context(cadata=public.decode())


def endless(start: bytes, again: bytes, *, pause: float = 0) -> Handler:
    """Answer without end, as fast as the other side reads or with a pause between."""

    async def handler(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    return handler
