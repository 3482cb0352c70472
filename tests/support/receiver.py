"""The other side of webhooks: a real HTTP server on loopback that remembers what it got."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Received(Struct, frozen=True):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def id(self) -> str:
        """Which message it is."""
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        """What the body says."""
        return msgspec.json.decode(self.body)


class Receiver:
    """Answers as it is told and counts how many are inside at once."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.got: list[Received] = []
        self.most_inside = 0
        self._inside: set[asyncio.StreamReader] = set()
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    def answer(self, status: int, *headers: str, body: bytes = b"") -> None:
        """Answer with this from now on."""
        self.behaviour = answering(status, *headers, body=body)

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request and do as told."""
        self._inside.add(reader)
        # Who has hung up is not inside any more, though nobody has noticed yet.
        self.most_inside = max(self.most_inside, sum(not one.at_eof() for one in self._inside))
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                self.got.append(await _read(reader))
                await self.behaviour(writer)
                writer.close()
                await writer.wait_closed()
        finally:
            self._inside.discard(reader)
            writer.transport.abort()


def answering(status: int, *headers: str, body: bytes = b"") -> Behaviour:
    """Answer at once."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        head = "\r\n".join([f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", *headers])
        writer.write(head.encode() + b"\r\n\r\n" + body)
        await writer.drain()

    return behave


async def tarpit(writer: asyncio.StreamWriter) -> None:
    """Send a byte now and then and never come to an end."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Slow: 1\r\n")
        await writer.drain()
        await asyncio.sleep(0.5)


async def say_nothing(writer: asyncio.StreamWriter) -> None:
    """Take the request and never answer."""
    del writer
    await asyncio.sleep(3600)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Say nothing and go."""
    del writer


@asynccontextmanager
async def receiving(
    behaviour: Behaviour | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """Listen on a free port."""
    receiver = Receiver(behaviour or answering(200, body=b"ok"))
    meetings: set[asyncio.Task[None]] = set()

    def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(receiver.meet(reader, writer))
        meetings.add(task)
        task.add_done_callback(meetings.discard)

    server = await asyncio.start_server(meet, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in tuple(meetings):
            task.cancel()
        await asyncio.gather(*meetings, return_exceptions=True)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(head[0].split(" ")[1], headers, body, asyncio.get_running_loop().time())
