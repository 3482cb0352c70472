"""Database servers that are silent, and a way to a real one on which a fault can be."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from urllib.parse import parse_qs, quote, urlsplit

REFUSAL = b"SFATAL\0C08P01\0Munsupported startup parameter: jit\0\0"


@contextmanager
def black_hole(*, is_full: bool = False) -> Iterator[int]:
    """Listen on a port without ever accepting: who connects is never answered, or, if it is full, not even let in."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        callers = [socket.socket() for _ in range(8 if is_full else 0)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(("127.0.0.1", port))
        try:
            yield port
        finally:
            for caller in callers:
                caller.close()


def socket_of(url: str) -> str:
    """Return the directory of the socket by which a server of the tests is reached."""
    return parse_qs(urlsplit(url).query)["host"][0]


def with_servers(url: str, *servers: str) -> str:
    """Name several servers, ports of this machine or directories of sockets, instead of the one of a URL."""
    named = ",".join(quote(each, safe="") if each.startswith("/") else f"127.0.0.1:{each}" for each in servers)
    return f"postgresql://postgres@{named}{urlsplit(url).path}"


@asynccontextmanager
async def relayed(url: str, *, as_pooler: bool = False) -> AsyncIterator[int]:
    """Make a server of the tests reachable by a port; like a pooler, that refuses settings it does not know."""

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            first = await reader.read(65536)
            if as_pooler and b"jit" in first:
                writer.write(b"E" + (len(REFUSAL) + 4).to_bytes(4) + REFUSAL)
                writer.close()
                return
            ours, theirs = await asyncio.open_unix_connection(f"{socket_of(url)}/.s.PGSQL.5432")
            try:
                theirs.write(first)
                await asyncio.gather(_pass_on(reader, theirs), _pass_on(ours, writer))
            finally:
                theirs.close()
        writer.close()

    async with await asyncio.start_server(meet, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
