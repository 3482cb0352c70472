"""Answers are bounded in size and time, requests are well formed, and each failure has its name."""

import asyncio
import gzip
from collections.abc import Iterable
from datetime import timedelta
from ipaddress import ip_network

import httpcore2
import pytest

from openslot import __version__
from openslot.platform.core.outbound import (
    FailureKind,
    Outbound,
    OutboundFailed,
    OutboundReason,
    OutboundRefused,
    OutboundResponse,
)
from tests.support.peers import HEAD, OK, PUBLIC, Handler, Names, Peer, endless, serve

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
SOON = timedelta(seconds=0.3)


async def send(peer: Peer, *, method: str = "GET", at_most: int = 1000, body: bytes = b"") -> OutboundResponse:
    outbound = Outbound(allow=LOOPBACK)
    try:
        return await outbound.send(
            method, f"http://127.0.0.1:{peer.port}/in?a=1", within=timedelta(minutes=1), at_most=at_most, body=body
        )
    finally:
        await outbound.close()


async def test_a_whole_answer_is_told_in_full() -> None:
    answer_bytes = b"HTTP/1.1 429 Slow down\r\nRetry-After: 7\r\nX: 1\r\nx: 2\r\nContent-Length: 4\r\n\r\nwait"
    async with serve(answer_bytes) as peer:
        answer = await send(peer)
    assert answer.headers == {"retry-after": "7", "x": "1, 2", "content-length": "4"}
    assert (answer.status, answer.body, answer.truncated) == (429, b"wait", False)
    assert answer.elapsed_ms >= 0


@pytest.mark.parametrize(("length", "truncated"), [(0, False), (999, False), (1000, False), (1001, True)])
async def test_an_answer_is_cut_only_past_its_bound(length: int, truncated: bool) -> None:
    async with serve(HEAD + b"Content-Length: %d\r\n\r\n" % length + b"x" * length) as peer:
        answer = await send(peer)
    assert (len(answer.body), answer.truncated) == (min(length, 1000), truncated)


@pytest.mark.parametrize(
    "handler",
    [
        endless(HEAD + b"Content-Length: 1000000000000\r\n\r\n", b"x" * 10_000),
        endless(HEAD + b"Connection: close\r\n\r\n", b"x" * 10_000),
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"2710\r\n" + b"x" * 10_000 + b"\r\n"),
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
    ],
    ids=["promised", "until close", "chunks", "tiny chunks"],
)
async def test_an_endless_answer_is_cut_and_the_connection_closed(handler: Handler) -> None:
    async with serve(handler) as peer:
        answer = await send(peer)
    assert (answer.status, answer.body, answer.truncated) == (200, b"x" * 1000, True)


async def test_chunks_that_are_nearly_all_framing_are_cut_too() -> None:
    chunk = b"1;" + b"e" * 1000 + b"\r\nx\r\n"
    async with serve(endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunk)) as peer:
        answer = await send(peer)
    assert answer.truncated
    assert 0 < len(answer.body) < 200


@pytest.mark.parametrize(
    "handler",
    [
        endless(HEAD, b"X: y\r\n" * 100),
        endless(HEAD + b"X: ", b"y" * 1000),
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    ],
    ids=["many headers", "one long header", "endless interim answers"],
)
async def test_endless_headers_are_a_protocol_failure(handler: Handler) -> None:
    async with serve(handler) as peer:
        with pytest.raises(OutboundFailed, match="too many headers") as failed:
            await send(peer)
    assert failed.value.kind is FailureKind.PROTOCOL


async def test_a_packed_answer_is_never_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    async with serve(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb) as peer:
        answer = await send(peer)
    assert (answer.body, answer.truncated) == (bomb[:1000], True)
    assert b"\r\nAccept-Encoding: identity\r\n" in peer.requests[0]


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize(
    "handler",
    [
        endless(b"", b"", pause=0.02),
        endless(b"", b"H", pause=10),
        endless(HEAD + b"X: ", b"y", pause=0.02),
        endless(HEAD + b"Content-Length: 1000\r\n\r\n", b"x", pause=0.02),
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", pause=0.02),
    ],
    ids=["silence", "one byte", "dripping headers", "dripping body", "dripping chunks"],
)
async def test_a_tarpit_ends_within_the_total_time(handler: Handler) -> None:
    async with asyncio.timeout(60), serve(handler) as peer:
        with pytest.raises(OutboundFailed, match="took too long to answer") as failed:
            await Outbound(allow=LOOPBACK).send("GET", f"http://127.0.0.1:{peer.port}/", within=SOON)
        assert failed.value.kind is FailureKind.TIMEOUT


async def test_a_server_that_never_shakes_hands_ends_within_the_time_to_connect() -> None:
    async with asyncio.timeout(60), serve(endless(b"", b"", pause=1)) as peer:
        with pytest.raises(OutboundFailed, match="took too long to connect") as failed:
            await Outbound(allow=LOOPBACK).send("GET", f"https://127.0.0.1:{peer.port}/", connect_within=SOON)
        assert failed.value.kind is FailureKind.TIMEOUT


class BlackHole(httpcore2.AsyncNetworkBackend):
    """A network where nobody answers, and where waiting takes no time."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.waited: list[float | None] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.asked.append(host)
        self.waited.append(timeout)
        raise httpcore2.ConnectTimeout


async def test_dead_addresses_share_the_time_to_connect_and_four_are_tried() -> None:
    hole = BlackHole()
    outbound = Outbound(resolver=Names([PUBLIC, "1.1.1.1", "8.8.8.8", "9.9.9.9", "1.0.0.1"]), connector=hole)
    with pytest.raises(OutboundFailed, match="took too long to connect") as failed:
        await outbound.send("GET", "https://hooks.example.org/", connect_within=timedelta(seconds=12))
    assert failed.value.kind is FailureKind.TIMEOUT
    assert hole.asked == [PUBLIC, "1.1.1.1", "8.8.8.8", "9.9.9.9"]
    for waited, max_ in zip(hole.waited, (3, 4, 6, 12), strict=True):
        assert waited is not None
        assert 0 < waited <= max_


@pytest.mark.parametrize(
    "answer",
    [b"", b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", HEAD + b"Content-Length: 5\r\n\r\nab"],
    ids=["nothing", "another protocol", "no status", "half a body"],
)
async def test_an_answer_that_is_no_http_is_a_protocol_failure(answer: bytes) -> None:
    async with serve(answer) as peer:
        with pytest.raises(OutboundFailed) as failed:
            await send(peer)
    assert failed.value.kind is FailureKind.PROTOCOL


async def test_a_request_says_what_it_must_and_no_more() -> None:
    async with serve(OK) as peer:
        await send(peer)
    assert peer.requests[0].split(b"\r\n") == [
        b"GET /in?a=1 HTTP/1.1",
        b"Host: 127.0.0.1:%d" % peer.port,
        b"Connection: close",
        b"Accept-Encoding: identity",
        f"User-Agent: Openslot/{__version__}".encode(),
        b"",
        b"",
    ]


@pytest.mark.parametrize(("body", "length"), [(b"", b"0"), (b'{"a":1}', b"7")])
async def test_a_body_comes_with_its_length(body: bytes, length: bytes) -> None:
    async with serve(OK) as peer:
        await send(peer, method="POST", body=body)
    assert b"\r\nContent-Length: %b\r\n" % length in peer.requests[0]


async def test_headers_of_the_caller_are_sent_and_may_name_another_agent() -> None:
    async with serve(OK) as peer:
        url = f"http://127.0.0.1:{peer.port}/"
        await Outbound(allow=LOOPBACK).send("GET", url, headers={"webhook-id": "msg_1", "user-agent": "Mine/1"})
    assert b"\r\nwebhook-id: msg_1\r\n" in peer.requests[0]
    assert peer.requests[0].lower().count(b"user-agent") == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "127.0.0.1"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Accept-Encoding", "gzip"),
        ("X", "a\r\nHost: b"),
        ("X", "a\nb"),
        ("X", "\x00"),
        ("X", " padded "),
        ("X", "é"),
        ("X: y\r\nZ", "a"),
        ("", "a"),
    ],
)
async def test_a_header_that_would_change_the_connection_is_refused(name: str, value: str) -> None:
    async with serve(OK) as peer:
        with pytest.raises(OutboundRefused) as refused:
            await Outbound(allow=LOOPBACK).send("GET", f"http://127.0.0.1:{peer.port}/", headers={name: value})
        assert (refused.value.reason, peer.connections) == (OutboundReason.HEADERS, 0)


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "", "GET / HTTP/1.1\r\nX: y\r\n\r\nGET", "GÉT"])
async def test_a_method_that_is_no_plain_request_is_refused(method: str) -> None:
    async with serve(OK) as peer:
        with pytest.raises(OutboundRefused) as refused:
            await send(peer, method=method)
        assert (refused.value.reason, peer.connections) == (OutboundReason.METHOD, 0)


async def test_closing_ends_the_calls_under_way() -> None:
    async with serve(endless(HEAD + b"X: ", b"y", pause=0.02)) as peer:
        outbound = Outbound(allow=LOOPBACK)
        call = asyncio.create_task(outbound.send("GET", f"http://127.0.0.1:{peer.port}/"))
        await peer.asked.wait()
        await outbound.close()
        with pytest.raises(OutboundFailed) as failed:
            await asyncio.wait_for(call, 60)
        assert failed.value.kind is FailureKind.PROTOCOL


async def test_a_cancelled_call_leaves_no_connection_behind() -> None:
    left = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()
        left.set()

    async with serve(handler) as peer:
        call = asyncio.create_task(Outbound(allow=LOOPBACK).send("GET", f"http://127.0.0.1:{peer.port}/"))
        await peer.asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(left.wait(), 60)
