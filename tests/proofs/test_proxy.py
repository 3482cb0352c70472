"""The fault proxy does to a connection what its faults say."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from proofs.proxy import Fault, FaultProxy

HEARD: list[bytes] = []


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    HEARD.clear()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            HEARD.append(data)
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with FaultProxy("127.0.0.1", server.sockets[0].getsockname()[1], delay=0.05).running() as proxy:
        yield proxy
    server.close()


async def say(proxy: FaultProxy) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"hello")
    try:
        async with asyncio.timeout(0.5):
            return await reader.read(100)
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.DELAY])
async def test_bytes_arrive(proxy: FaultProxy, fault: Fault) -> None:
    proxy.fault = fault

    assert await say(proxy) == b"hello"


@pytest.mark.parametrize(
    ("fault", "met"), [(Fault.RESET, ConnectionResetError), (Fault.BLACK_HOLE, TimeoutError), (Fault.HALF_CLOSE, None)]
)
async def test_a_new_connection_meets_the_fault_and_the_next_one_is_healed(
    proxy: FaultProxy, fault: Fault, met: type[Exception] | None
) -> None:
    async with proxy.broken(fault):
        if met is None:
            assert await say(proxy) == b""
        else:
            with pytest.raises(met):
                await say(proxy)

    assert await say(proxy) == b"hello"


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
async def test_what_a_fault_has_met_is_counted(proxy: FaultProxy, fault: Fault) -> None:
    await say(proxy)
    async with proxy.broken(fault):
        assert proxy.met == 0
        with contextlib.suppress(OSError, TimeoutError):
            await say(proxy)
        assert proxy.met > 0
    met = proxy.met
    await say(proxy)
    assert proxy.met == met


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.HALF_CLOSE, Fault.BLACK_HOLE])
async def test_an_open_connection_never_works_again(proxy: FaultProxy, fault: Fault) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"one")
    assert await reader.read(100) == b"one"
    async with proxy.broken(fault):
        await asyncio.sleep(0.05)
    writer.write(b"two")

    with contextlib.suppress(ConnectionResetError):
        assert await reader.read(100) == b""
    writer.transport.abort()


@pytest.mark.parametrize("fault", [Fault.STALL, Fault.MUTE])
async def test_what_was_held_up_arrives_in_the_end(proxy: FaultProxy, fault: Fault) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    async with proxy.broken(fault):
        writer.write(b"late")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await reader.read(100)
        assert ([b"late"] if fault is Fault.MUTE else []) == HEARD

    assert await reader.read(100) == b"late"
    writer.transport.abort()
