"""A proxy between a client and a server that delays, cuts and swallows what goes through it."""

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

Address = tuple[str, int] | Path


class Mode(StrEnum):
    """What happens to connections that are open, and to new ones."""

    PASS = "pass"
    """Everything goes through."""
    DELAY = "delay"
    """Everything goes through, later."""
    RESET = "reset"
    """They are reset."""
    HALF_CLOSE = "half-close"
    """The client is told that nothing more will come; what it still sends is taken and dropped."""
    BLACK_HOLE = "black hole"
    """Nothing goes through in either direction, and no connection is closed. Once healed, what was sent arrives."""
    MUTE = "mute"
    """What the client sends arrives; answers do not, until it is healed."""


# Whether requests, and whether answers, are held back.
HELD = {Mode.BLACK_HOLE: (True, True), Mode.MUTE: (False, True)}
CHUNK = 65536


class FaultProxy:
    """Listens on a port of this machine and connects to a server; `turn` changes the mode."""

    port: int

    def __init__(self, server: Address) -> None:
        self.connections = 0
        self._server = server
        self._mode, self._delay = Mode.PASS, 0.0
        self._changed = asyncio.Event()
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._half_closed: set[asyncio.StreamWriter] = set()

    def turn(self, mode: Mode, *, delay: float = 0.0) -> None:
        """Change the mode, from any thread; a delay in seconds is that of one direction."""
        asyncio.run_coroutine_threadsafe(self._turn(mode, delay), self._loop).result()

    def close(self) -> None:
        """Cut every connection, and listen no longer."""
        self._loop.call_soon_threadsafe(self._is_over.set)

    async def serve(self, is_ready: threading.Event) -> None:
        """Serve until told to close."""
        self._loop, self._is_over = asyncio.get_running_loop(), asyncio.Event()
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        is_ready.set()
        await self._is_over.wait()
        listening.close()
        running = list(self._open.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _turn(self, mode: Mode, delay: float) -> None:
        self._mode, self._delay = mode, delay
        self._changed.set()
        self._changed = asyncio.Event()
        for client in list(self._open):
            self._break(client)

    def _break(self, client: asyncio.StreamWriter) -> None:
        """Do to a connection what is done to it only once in this mode."""
        if self._mode is Mode.RESET:
            # A socket that does not linger is reset instead of closed.
            client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.transport.abort()
        if self._mode is Mode.HALF_CLOSE and client not in self._half_closed:
            self._half_closed.add(client)
            client.write_eof()

    async def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections += 1
        self._open[client] = task
        try:
            self._break(client)
            with suppress(OSError, asyncio.CancelledError):
                await self._join(reader, client)
        finally:
            del self._open[client]
            self._half_closed.discard(client)
            client.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """Connect to the server, and pass on what either side sends until one of them ends."""
        await self._wait_for_passage(answers=False)
        if isinstance(self._server, Path):
            far_reader, far_writer = await asyncio.open_unix_connection(self._server)
        else:
            far_reader, far_writer = await asyncio.open_connection(*self._server)
        pumps = [
            asyncio.create_task(self._pump(reader, far_writer, client, answers=False)),
            asyncio.create_task(self._pump(far_reader, client, client, answers=True)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            far_writer.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        is_over = False
        while not is_over:
            try:
                data = await reader.read(CHUNK)
            except OSError:
                data = b""
            # The end of a connection gets through as late as what was sent through it.
            is_over = not data
            await self._wait_for_passage(answers=answers)
            if client in self._half_closed:
                continue
            if self._mode is Mode.DELAY:
                await asyncio.sleep(self._delay)
            writer.write(data)
            await writer.drain()

    async def _wait_for_passage(self, *, answers: bool) -> None:
        while HELD.get(self._mode, (False, False))[answers]:
            await self._changed.wait()


@contextmanager
def faulty(server: Address) -> Iterator[FaultProxy]:
    """Run a proxy in a thread of its own, in front of a host and port or of a UNIX socket."""
    proxy, is_ready = FaultProxy(server), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(proxy.serve(is_ready)), daemon=True)
    thread.start()
    if not is_ready.wait(10):
        raise TimeoutError("the proxy does not listen")
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()
