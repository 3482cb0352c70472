"""The default way to connect: to an address by its number, over real sockets."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from ipaddress import ip_network

import httpcore2
import pytest

from openslot.platform.core.outbound import FailureKind, Outbound, OutboundFailed
from openslot.platform.core.outbound.client import AddressBackend
from tests.support.peers import serve

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def loopbacks() -> list[str]:
    """Give the loopback addresses that this machine has."""
    with suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return ["127.0.0.1", "[::1]"]
    return ["127.0.0.1"]


@contextmanager
def busy_port() -> Iterator[int]:
    """Listen on a port whose queue is full, so that whoever comes next waits without end."""
    with ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.mark.parametrize("host", loopbacks())
async def test_a_loopback_address_is_reached_by_its_number(host: str) -> None:
    async with serve() as peer:
        answer = await Outbound(allow=LOOPBACK).send("GET", f"http://{host}:{peer.port}/")
        assert (answer.status, answer.body, peer.connections) == (200, b"ok", 1)


async def test_a_server_that_lets_nobody_in_is_a_timeout() -> None:
    with busy_port() as port, pytest.raises(httpcore2.ConnectTimeout):
        async with asyncio.timeout(60):
            await AddressBackend().connect_tcp("127.0.0.1", port, timeout=0.2)
    with busy_port() as port, pytest.raises(OutboundFailed, match="took too long to connect") as failed:
        await Outbound(allow=LOOPBACK).send("GET", f"http://127.0.0.1:{port}/", connect_within=timedelta(seconds=0.2))
    assert failed.value.kind is FailureKind.TIMEOUT


@pytest.mark.parametrize("name", ["localhost", "127.1", "2130706433", "0x7f.1"])
async def test_a_name_is_never_connected_to(name: str) -> None:
    async with serve() as peer:
        with pytest.raises(ValueError, match="does not appear to be an IPv4 or IPv6 address"):
            await AddressBackend().connect_tcp(name, peer.port, timeout=1)
        assert peer.connections == 0


async def test_a_call_that_is_cancelled_in_the_handshake_leaves_no_connection_behind() -> None:
    came, left = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        came.set()
        await reader.read()
        left.set()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        call = asyncio.create_task(Outbound(allow=LOOPBACK).send("GET", url))
        await asyncio.wait_for(came.wait(), 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(left.wait(), 60)


async def test_a_connection_that_is_reset_at_once_is_a_failure_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect
    with socket.create_server(("127.0.0.1", 0)) as server:

        async def connect_and_be_reset(ours: socket.socket, address: tuple[str, int]) -> None:
            await connect(ours, address)
            theirs, _ = server.accept()
            # A socket that does not linger is reset instead of closed.
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            theirs.close()

        monkeypatch.setattr(loop, "sock_connect", connect_and_be_reset)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(OutboundFailed) as failed:
            await Outbound(allow=LOOPBACK).send("GET", url)
    assert failed.value.kind is FailureKind.CONNECT
