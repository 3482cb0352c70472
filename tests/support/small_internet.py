"""A small internet for outgoing clients: names with addresses, servers at addresses, and a canary everywhere else."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import httpcore2

from openslot.platform.core.outbound import Outbound
from openslot.platform.core.outbound.targets import Address
from tests.support.peers import OK, PUBLIC, Identity, Peer, serve

HERE, THERE = "here.example.org", "there.example.org"
HERE_ADDRESS, THERE_ADDRESS = PUBLIC, "1.1.1.1"


def redirect(place: str, *, status: int = 302) -> bytes:
    """Write the answer that sends the caller to another place."""
    return f"HTTP/1.1 {status} Elsewhere\r\nContent-Length: 0\r\nLocation: {place}\r\n\r\n".encode()


class Site:
    """A server that answers request after request on open connections, in turn and the last for good."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = answers or (OK,)
        self.requests: list[bytes] = []
        self.closed = 0
        self.pause = 0.0
        self.peer: Peer | None = None

    @property
    def connections(self) -> int:
        """How many connections were opened."""
        assert self.peer is not None
        return self.peer.connections

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self.peer is not None
        head = self.peer.requests[-1]
        try:
            while True:
                self.requests.append(head + await reader.readexactly(_read_length(head)))
                await asyncio.sleep(self.pause)
                writer.write(self.answers[min(len(self.requests), len(self.answers)) - 1])
                await writer.drain()
                head = await reader.readuntil(b"\r\n\r\n")
        finally:
            self.closed += 1


def _read_length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)


class World(httpcore2.AsyncNetworkBackend):
    """Two sites with a name and a public address each; whatever else is connected to is the canary."""

    def __init__(self, here: Site, there: Site, canary: Peer) -> None:
        self.here, self.there, self.canary = here, there, canary
        self.sites = {HERE_ADDRESS: here, THERE_ADDRESS: there}
        self.names: dict[str, list[tuple[str, ...]]] = {HERE: [(HERE_ADDRESS,)], THERE: [(THERE_ADDRESS,)]}
        self.looked_up: list[str] = []
        self.connected: list[str] = []

    def name(self, host: str, *answers: Iterable[str]) -> None:
        """Give a name its addresses, or several answers in turn, the last for good."""
        self.names[host] = [tuple(answer) for answer in answers]

    async def resolve(self, host: str) -> tuple[Address, ...]:
        self.looked_up.append(host)
        answers = self.names.get(host, [("127.0.0.1", "::1")])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return tuple(map(ip_address, answer))

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.connected.append(host)
        site = self.sites.get(host)
        peer = self.canary if site is None or site.peer is None else site.peer
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", peer.port, timeout)


@asynccontextmanager
async def small_internet(
    folder: Path, *, here: Site | None = None, there: Site | None = None
) -> AsyncIterator[tuple[Outbound, World]]:
    """Serve both sites over TLS, and give an outbound that knows no other internet."""
    here, there = here or Site(), there or Site()
    identity = Identity(folder, HERE, THERE)
    async with (
        serve() as canary,
        serve(here.handle, tls=identity.server) as here.peer,
        serve(there.handle, tls=identity.server) as there.peer,
    ):
        world = World(here, there, canary)
        outbound = Outbound(resolver=world, connector=world, tls=identity.client)
        yield outbound, world
        await outbound.close()
        assert canary.connections == 0
