"""The other side of outgoing calls: loopback servers, resolvers and a small internet, and proof that they notice."""

import asyncio
import socket

import pytest

from tests.support.hostile_urls import REACHABLE_BY_ANY_RESOLVER
from tests.support.peers import PUBLIC, Internet, Names, serve


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
