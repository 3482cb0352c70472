"""Open connections are used again by whoever may open the very same, after the same check, and by nobody else."""

import asyncio
from ipaddress import ip_network
from pathlib import Path

import pytest

from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused
from openslot.platform.core.outbound.connections import MAX_IDLE
from tests.support.peers import OK, serve
from tests.support.small_internet import HERE, HERE_ADDRESS, THERE, THERE_ADDRESS, Site, small_internet

LOOPBACK = (ip_network("127.0.0.0/8"),)
HOME = f"https://{HERE}/"


async def until_closed(site: Site, count: int) -> None:
    async with asyncio.timeout(60):
        while site.closed < count:
            await asyncio.sleep(0.005)


async def test_a_client_uses_its_connection_again_and_looks_the_name_up_each_time(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        for _ in range(3):
            assert (await client.get(HOME)).content == b"ok"
        assert (world.here.connections, world.looked_up) == (1, [HERE] * 3)
        assert b"\r\nConnection: keep-alive\r\n" in world.here.requests[0]


async def test_a_name_that_moved_to_a_private_address_is_refused_though_a_connection_is_open(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        world.name(HERE, [HERE_ADDRESS], ["127.0.0.1"], [HERE_ADDRESS, "10.0.0.1"])
        await client.get(HOME)
        for _ in range(2):
            with pytest.raises(OutboundRefused):
                await client.get(HOME)
        assert (len(world.here.requests), world.connected) == (1, [HERE_ADDRESS])


async def test_a_name_that_moved_to_another_public_address_is_reached_there(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        world.name(HERE, [HERE_ADDRESS], [THERE_ADDRESS], [HERE_ADDRESS, THERE_ADDRESS])
        for _ in range(3):
            await client.get(HOME)
        assert world.connected == [HERE_ADDRESS, THERE_ADDRESS]


async def test_two_names_at_one_address_have_a_connection_each(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        world.name(THERE, [HERE_ADDRESS])
        for host in (HERE, THERE, HERE_ADDRESS) * 2:
            await client.get(f"https://{host}/")
        assert world.connected == [HERE_ADDRESS] * 3
        assert [b"\r\nHost: there" in request for request in world.here.requests] == [False, True, False] * 2


async def test_a_name_without_a_certificate_of_its_own_cannot_use_its_neighbours_connection(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        world.name("stranger.example.org", [HERE_ADDRESS])
        await client.get(HOME)
        with pytest.raises(OutboundFailed, match="No secure connection to stranger"):
            await client.get("https://stranger.example.org/")
        assert len(world.here.requests) == 1


async def test_another_port_is_another_connection(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        for port in (443, 8443, 443, 8443):
            await client.get(f"https://{HERE}:{port}/")
        assert world.here.connections == 2


async def test_two_clients_share_no_connection(tmp_path: Path) -> None:
    async with (
        small_internet(tmp_path) as (outbound, world),
        outbound.client() as client,
        outbound.client() as another,
    ):
        for each in (client, another, client, another):
            await each.get(HOME)
        assert world.here.connections == 2


async def test_requests_at_the_same_time_have_a_connection_each_and_so_many_are_kept(tmp_path: Path) -> None:
    site = Site()
    site.pause = 0.1
    async with small_internet(tmp_path, here=site) as (outbound, _), outbound.client() as client:
        for _ in range(2):
            await asyncio.gather(*(client.get(HOME) for _ in range(MAX_IDLE + 3)))
        await until_closed(site, 3)
        assert (site.connections, len(site.requests)) == (MAX_IDLE + 6, 2 * MAX_IDLE + 6)


@pytest.mark.parametrize("answer", [OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), OK])
async def test_a_connection_that_the_server_closed_is_not_used_again(answer: bytes) -> None:
    async with serve(answer) as peer, Outbound(allow=LOOPBACK).client() as client:
        for _ in range(3):
            assert (await client.get(f"http://127.0.0.1:{peer.port}/")).content == b"ok"
            # Enough turns of the loop for the server to close it, however much time passes between two of them.
            for _ in range(20):
                await asyncio.sleep(0.002)
        assert peer.connections == 3


async def test_a_connection_with_an_unread_body_is_not_used_again(tmp_path: Path) -> None:
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1_000_000
    async with small_internet(tmp_path, here=Site(long, OK)) as (outbound, world), outbound.client() as client:
        async with client.stream("GET", HOME) as response:
            assert len(await anext(response.aiter_bytes(10))) == 10
        assert (await client.get(HOME)).content == b"ok"
        assert world.here.connections == 2


async def test_every_response_on_one_connection_has_its_bounds_anew(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\nX: " + b"y" * 40_000 + b"\r\nContent-Length: 50000\r\n\r\n" + b"x" * 50_000
    async with small_internet(tmp_path, here=Site(answer)) as (outbound, world), outbound.client() as client:
        for _ in range(5):
            assert len((await client.get(HOME)).content) == 50_000
        assert world.here.connections == 1


async def test_closing_a_client_closes_its_connections_and_no_others(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as another:
        async with outbound.client() as client:
            await client.get(HOME)
            await another.get(HOME)
        await until_closed(world.here, 1)
        await another.get(HOME)
        assert (world.here.connections, world.here.closed) == (2, 1)


async def test_closing_the_outbound_closes_the_connections_of_every_client(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world):
        client = outbound.client()
        await client.get(HOME)
        await outbound.close()
        await until_closed(world.here, 1)
        with pytest.raises(OutboundFailed, match="The client is closed"):
            await client.get(HOME)
        assert len(world.here.requests) == 1
