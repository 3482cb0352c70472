"""A client that is handed out can do no more than the guard allows, whatever library holds it."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import httpcore2
import httpx2
import pytest

from openslot.platform.core.outbound import (
    FailureKind,
    Outbound,
    OutboundFailed,
    OutboundReason,
    OutboundRefused,
    RequestLimits,
)
from tests.support.hostile_urls import PRIVATE_ADDRESSES, SHAPES
from tests.support.peers import HEAD, OK, Handler, Names, endless, serve
from tests.support.small_internet import HERE, HERE_ADDRESS, Site, small_internet

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
HOME = f"https://{HERE}/"
SMALL = RequestLimits(within=timedelta(minutes=1), at_most=1000)


async def test_no_hostile_url_reaches_the_canary_through_a_client(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        for _, url in SHAPES:
            with pytest.raises((OutboundRefused, httpx2.InvalidURL, UnicodeError)):
                await client.post(url.replace("{port}", str(world.canary.port)), content=b"{}")
        assert (world.connected, world.canary.connections) == ([], 0)


async def test_no_hostile_url_reaches_the_canary_through_a_client_over_real_sockets() -> None:
    async with serve() as canary, Outbound(resolver=Names(["127.0.0.1", "::1"])).client() as client:
        for url in (url.replace("{port}", str(canary.port)) for _, url in SHAPES if "{port}" in url):
            with pytest.raises((OutboundRefused, httpx2.InvalidURL)):
                await client.get(url)
        assert canary.connections == 0


async def test_a_harmless_name_with_a_private_address_is_refused(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        for address in PRIVATE_ADDRESSES:
            world.name("harmless.example.org", [HERE_ADDRESS, address])
            with pytest.raises(OutboundRefused) as refused:
                await client.get("https://harmless.example.org/")
            assert refused.value.reason is OutboundReason.ADDRESS
        assert world.connected == []


async def test_a_name_that_is_rebound_after_the_check_changes_nothing(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        world.name(HERE, [HERE_ADDRESS], ["127.0.0.1"])
        assert (await client.get(HOME)).status_code == 200
        assert (world.looked_up, world.connected) == ([HERE], [HERE_ADDRESS])


async def test_extensions_change_neither_the_name_that_is_proven_nor_the_path(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        world.name("stranger.example.org", [HERE_ADDRESS])
        with pytest.raises(OutboundFailed, match="No secure connection to stranger") as failed:
            await client.get("https://stranger.example.org/", extensions={"sni_hostname": HERE})
        assert failed.value.kind is FailureKind.TLS
        await client.get(f"{HOME}a", extensions={"target": b"http://127.0.0.1/"})
        assert world.here.requests[-1].startswith(b"GET /a HTTP/1.1\r\n")


async def test_a_response_gives_no_way_to_its_connection(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, _), outbound.client() as client:
        assert set((await client.get(HOME)).extensions) == {"http_version", "reason_phrase"}


async def test_the_host_header_is_the_urls_whatever_the_caller_says(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client(headers={"Host": "a.b"}) as client:
        await client.get(HOME, headers={"Host": "internal.example.org", "Connection": "upgrade"})
        head = world.here.requests[0].lower()
        assert (head.count(b"\r\nhost: "), head.count(b"\r\nconnection: ")) == (1, 1)
        assert b"\r\nhost: here.example.org\r\nconnection: keep-alive\r\n" in head


@pytest.mark.parametrize(
    "headers",
    [
        [("Upgrade", "websocket")],
        [("Expect", "100-continue")],
        [("TE", "trailers")],
        [("Content-Length", "2"), ("Transfer-Encoding", "chunked")],
        [("Content-Length", "2"), ("Content-Length", "3")],
        [("X", b"a\r\nb: c")],
        [(b"X: y\r\nZ", b"a")],
    ],
)
async def test_a_header_that_would_change_the_connection_is_refused(
    tmp_path: Path, headers: list[tuple[str, str]]
) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        with pytest.raises(OutboundRefused) as refused:
            await client.post(HOME, content=b"ab", headers=headers)
        assert (refused.value.reason, world.looked_up) == (OutboundReason.HEADERS, [])


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX: y\r\n\r\nGET", "A-", "X" * 21])
async def test_a_method_that_is_no_plain_request_is_refused(tmp_path: Path, method: str) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        with pytest.raises(OutboundRefused) as refused:
            await client.request(method, HOME)
        assert (refused.value.reason, world.looked_up) == (OutboundReason.METHOD, [])


async def test_a_url_of_a_servers_own_making_may_be_longer_than_a_users(tmp_path: Path) -> None:
    async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
        assert (await client.get(f"{HOME}?page={'t' * 8000}")).status_code == 200
        with pytest.raises(OutboundRefused) as refused:
            await client.get(f"{HOME}?page={'t' * 8200}")
        assert (refused.value.reason, len(world.here.requests)) == (OutboundReason.TOO_LONG, 1)


@pytest.mark.parametrize("length", [0, 999, 1000])
async def test_a_body_up_to_its_bound_is_read(tmp_path: Path, length: int) -> None:
    answer = HEAD + b"Content-Length: %d\r\n\r\n" % length + b"x" * length
    async with small_internet(tmp_path, here=Site(answer)) as (outbound, _), outbound.client(limits=SMALL) as client:
        assert (await client.get(HOME)).content == b"x" * length


@pytest.mark.parametrize(
    "handler",
    [
        endless(HEAD + b"Content-Length: 1001\r\n\r\n", b"x" * 1001),
        endless(HEAD + b"Connection: close\r\n\r\n", b"x" * 10_000),
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 1000 + b"\r\nx\r\n"),
    ],
    ids=["one byte too many", "until close", "tiny chunks", "framing"],
)
async def test_a_body_past_its_bound_is_a_failure_read_at_once_or_streamed(handler: Handler) -> None:
    async with asyncio.timeout(60), serve(handler) as peer, Outbound(allow=LOOPBACK).client(limits=SMALL) as client:
        with pytest.raises(OutboundFailed, match="sent more than 1000 bytes") as failed:
            await client.get(f"http://127.0.0.1:{peer.port}/")
        assert failed.value.kind is FailureKind.TOO_LARGE
        came = 0
        with pytest.raises(OutboundFailed, match="sent more than 1000 bytes"):
            async with client.stream("GET", f"http://127.0.0.1:{peer.port}/") as response:
                async for chunk in response.aiter_bytes():
                    came += len(chunk)
        assert came <= 1000


@pytest.mark.parametrize(
    "handler",
    [
        endless(b"", b"", pause=0.02),
        endless(HEAD + b"X: ", b"y", pause=0.02),
        endless(HEAD + b"Content-Length: 1000\r\n\r\n", b"x", pause=0.02),
    ],
    ids=["silence", "dripping headers", "dripping body"],
)
async def test_a_tarpit_ends_within_the_total_time_read_at_once_or_streamed(handler: Handler) -> None:
    limits = RequestLimits(within=timedelta(seconds=0.3))
    async with asyncio.timeout(60), serve(handler) as peer, Outbound(allow=LOOPBACK).client(limits=limits) as client:
        with pytest.raises(OutboundFailed, match="took too long to answer") as failed:
            await client.get(f"http://127.0.0.1:{peer.port}/")
        assert failed.value.kind is FailureKind.TIMEOUT
        with pytest.raises(OutboundFailed, match="took too long to answer"):
            async with client.stream("GET", f"http://127.0.0.1:{peer.port}/") as response:
                async for _ in response.aiter_bytes():
                    pass


async def test_a_reader_who_dawdles_has_no_more_time_than_the_server() -> None:
    limits = RequestLimits(within=timedelta(seconds=0.3))
    slow = endless(HEAD + b"Content-Length: 1000000\r\n\r\n", b"x", pause=0.02)
    async with asyncio.timeout(60), serve(slow) as peer, Outbound(allow=LOOPBACK).client(limits=limits) as client:
        with pytest.raises(OutboundFailed, match="took too long to answer"):
            async with client.stream("GET", f"http://127.0.0.1:{peer.port}/") as response:
                async for _ in response.aiter_bytes():
                    await asyncio.sleep(0.2)


async def test_a_body_that_the_caller_never_finishes_ends_within_the_total_time() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(60)

    limits = RequestLimits(within=timedelta(seconds=0.3))
    async with asyncio.timeout(60), serve() as peer, Outbound(allow=LOOPBACK).client(limits=limits) as client:
        with pytest.raises(OutboundFailed, match="took too long to answer"):
            await client.put(f"http://127.0.0.1:{peer.port}/", content=body())


@pytest.mark.rest("waits for seconds")
async def test_a_callers_shorter_patience_is_kept() -> None:
    limits = RequestLimits(connect_within=timedelta(minutes=1), within=timedelta(minutes=1))
    silent = endless(b"", b"", pause=0.02)
    async with asyncio.timeout(60), serve(silent) as peer, Outbound(allow=LOOPBACK).client(limits=limits) as client:
        for scheme, step in (("http", "answer"), ("https", "connect")):
            with pytest.raises(OutboundFailed, match=f"took too long to {step}") as failed:
                await client.get(f"{scheme}://127.0.0.1:{peer.port}/", timeout=0.5)
            assert failed.value.kind is FailureKind.TIMEOUT


async def test_a_callers_longer_patience_is_not() -> None:
    limits = RequestLimits(connect_within=timedelta(seconds=0.1))
    silent = endless(b"", b"", pause=0.02)
    async with asyncio.timeout(60), serve(silent) as peer, Outbound(allow=LOOPBACK).client(limits=limits) as client:
        with pytest.raises(OutboundFailed, match="took too long to connect"):
            await client.get(f"https://127.0.0.1:{peer.port}/", timeout=60)


async def test_a_packed_body_is_refused_and_never_unpacked(tmp_path: Path) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    packed = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with small_internet(tmp_path, here=Site(packed + bomb)) as (outbound, world), outbound.client() as client:
        with pytest.raises(OutboundFailed, match="sent a compressed response") as failed:
            await client.get(HOME)
        assert failed.value.kind is FailureKind.PROTOCOL
        assert b"\r\nAccept-Encoding: identity\r\n" in world.here.requests[0]
    async with small_internet(tmp_path, here=Site(packed)) as (outbound, _), outbound.client() as client:
        assert (await client.head(HOME)).headers["content-encoding"] == "gzip"


async def test_a_failure_is_one_that_users_of_httpx2_know() -> None:
    async with serve(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") as peer, Outbound(allow=LOOPBACK).client() as client:
        with pytest.raises(httpx2.TransportError, match="did not send a valid HTTP response") as failed:
            await client.get(f"http://127.0.0.1:{peer.port}/")
        assert isinstance(failed.value, OutboundFailed)
        assert failed.value.request.url.port == peer.port


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_a_proxy_in_the_environment_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    async with serve() as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        async with small_internet(tmp_path) as (outbound, world), outbound.client() as client:
            await client.get(HOME)
            async with httpx2.AsyncClient(transport=outbound.transport()) as of_a_library:
                await of_a_library.get(HOME)
            assert (world.connected, proxy.connections) == ([HERE_ADDRESS] * 2, 0)


async def test_cookies_are_not_kept(tmp_path: Path) -> None:
    site = Site(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b; Path=/\r\n\r\n"))
    async with small_internet(tmp_path, here=site) as (outbound, _), outbound.client() as client:
        for _ in range(2):
            await client.get(HOME)
        assert not any(b"cookie" in request.lower() for request in site.requests)


async def test_no_url_is_written_to_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with small_internet(tmp_path) as (outbound, _), outbound.client() as client:
        await client.get(f"{HOME}?token=secret")
        await outbound.send("GET", f"{HOME}?token=secret")
    assert "secret" not in caplog.text


async def test_a_body_may_be_sent_in_parts(tmp_path: Path) -> None:
    async def body() -> AsyncIterator[bytes]:
        for part in (b"one ", b"two ", b"x" * 100_000):
            yield part

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        content = b""
        while not content.endswith(b"\r\n0\r\n\r\n"):
            content += await reader.read(10_000)
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(content) + content)

    async with serve(echo) as peer, Outbound(allow=LOOPBACK).client() as client:
        response = await client.put(f"http://127.0.0.1:{peer.port}/", content=body())
    assert b"\r\ntransfer-encoding: chunked" in peer.requests[0].lower()
    assert response.content.startswith(b"4\r\none \r\n4\r\ntwo \r\n186a0\r\nxxx")


class Hasty(httpcore2.AsyncNetworkBackend, httpcore2.AsyncNetworkStream):
    """A server that answers and closes before it has read anything."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return self

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the parent's
        raise httpcore2.WriteError

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the parent's
        return b"HTTP/1.1 413 Too large\r\nContent-Length: 0\r\n\r\n"

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("length", [10, 100_000])
async def test_a_server_that_answers_and_closes_before_it_read_everything_is_heard(length: int) -> None:
    async with Outbound(allow=LOOPBACK, connector=Hasty()).client() as client:
        response = await client.put("http://127.0.0.1:8080/", content=b"x" * length)
    assert response.status_code == 413
