"""A TCP proxy that does to connections what networks do: delay, reset, half-close, and silence."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum


class Fault(StrEnum):
    """What happens to connections while it lasts."""

    NONE = "none"
    DELAY = "delay"  # everything arrives, later
    RESET = "reset"  # open connections are torn down, and new ones as soon as they are made
    HALF_CLOSE = "half-close"  # the other side says that it has sent everything, and goes on to listen
    BLACK_HOLE = "black hole"  # connections stay open, and nothing arrives; in the end they are torn down
    STALL = "stall"  # connections stay open, and nothing arrives; in the end everything does
    MUTE = "mute"  # what is asked arrives, the answers do not; in the end they do


SILENT = {Fault.BLACK_HOLE: (True, True), Fault.STALL: (True, True), Fault.MUTE: (False, True)}
"""Whether nothing that is asked arrives, and whether no answer does."""


class FaultProxy:
    """Listens on a port of 127.0.0.1 and passes on to a target; `fault` may be changed at any time."""

    def __init__(self, host: str, port: int, *, delay: float = 0.3) -> None:
        self._target = (host, port)
        self._delay = delay
        self._fault = Fault.NONE
        self._changed = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.met = 0
        """How many connections and pieces of data the last fault has met."""

    @property
    def fault(self) -> Fault:
        return self._fault

    @fault.setter
    def fault(self, fault: Fault) -> None:
        """Begin a fault, or end it with NONE. Only those that were merely held up work again afterwards."""
        before, self._fault = self._fault, fault
        if fault is not Fault.NONE:
            self.met = 0
        if fault is Fault.RESET or before in {Fault.HALF_CLOSE, Fault.BLACK_HOLE}:
            self._reset_all()
        if fault is Fault.HALF_CLOSE:
            self._half_close_all()
        self._changed.set()
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FaultProxy"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.fault = Fault.RESET

    @asynccontextmanager
    async def broken(self, fault: Fault) -> AsyncIterator[None]:
        """Keep up a fault for as long as this lasts."""
        self.fault = fault
        try:
            yield
        finally:
            self.fault = Fault.NONE

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.met += self._fault is not Fault.NONE
        self._writers.add(writer)
        try:
            if self._fault is Fault.RESET:
                _reset(writer)
                return
            if self._fault is Fault.HALF_CLOSE:
                writer.write_eof()
                await reader.read()
                return
            await self._silence(answers=False)
            await self._join(reader, writer)
        except OSError:
            return
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target_reader, target_writer = await asyncio.open_connection(*self._target)
        self._writers.add(target_writer)
        try:
            await asyncio.gather(
                self._pump(reader, target_writer, answers=False), self._pump(target_reader, writer, answers=True)
            )
        finally:
            self._writers.discard(target_writer)
            target_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            while data := await reader.read(65536):
                self.met += self._fault is not Fault.NONE
                await self._silence(answers=answers)
                if self._fault is Fault.DELAY:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
            await self._silence(answers=answers)
            writer.write_eof()
            return
        await self._silence(answers=answers)
        _reset(writer)

    async def _silence(self, *, answers: bool) -> None:
        """Wait while nothing arrives in this direction."""
        while SILENT.get(self._fault, (False, False))[answers]:
            await self._changed.wait()

    def _reset_all(self) -> None:
        for writer in list(self._writers):
            _reset(writer)

    def _half_close_all(self) -> None:
        for writer in self._writers:
            with contextlib.suppress(OSError, RuntimeError):
                writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the other side gets RST, not FIN."""
    if sock := writer.get_extra_info("socket"):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
