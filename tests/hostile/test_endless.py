"""Clients that never stop sending: they are cut off early, and cost no memory."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.hostile.conftest import new_source
from tests.hostile.server import Server
from tests.hostile.support import with_key
from tests.hostile.wire import CHUNKED, HEAD, POST, Answer
from tests.support.parts import how_many

MEBIBYTE = 1024 * 1024
ENOUGH = how_many(64) * MEBIBYTE
"""What an endless client would send in all, if it were let."""
SMALL_GROWTH = 16 * MEBIBYTE

ENDLESS = {
    "fields": (HEAD, b"X-Padding: aaaaaaaaaaaaaaaa\r\n" * 2400, 431, "headers_too_large"),
    "one field": (HEAD + b"X-Padding: ", b"a" * 65536, 431, "headers_too_large"),
    "a field's name": (HEAD, b"a" * 65536, 431, "headers_too_large"),
    "a URL": (b"GET /", b"a" * 65536, 431, "headers_too_large"),
    "a query": (b"GET /api/v1/me?q=", b"a" * 65536, 431, "headers_too_large"),
    "a chunk extension": (CHUNKED + b"1;a=", b"a" * 65536, 400, "invalid_request"),
    "chunk extensions": (CHUNKED, b"1;a=%b\r\nx\r\n" % (b"a" * 8000), 400, "invalid_request"),
    "zeros of a chunk size": (CHUNKED, b"0" * 65536, 400, "invalid_request"),
    "trailer fields": (CHUNKED + b"0\r\n", b"X-Padding: aaaaaaaaaaaaaaaa\r\n" * 2400, 400, "invalid_request"),
    "one trailer field": (CHUNKED + b"0\r\nX-Padding: ", b"a" * 65536, 400, "invalid_request"),
    "a body": (POST + b"Content-Length: 999999999\r\n\r\n", b"a" * 65536, 413, "request_too_large"),
    "chunks": (CHUNKED, b"10000\r\n%b\r\n" % (b"a" * 65536), 413, "request_too_large"),
}


@pytest.mark.rest("sends megabytes")
def test_an_endless_request_is_refused_early_and_not_read_on(server: Server) -> None:
    def come(what: str) -> tuple[int, Answer]:
        start, piece, _, _ = ENDLESS[what]
        source = new_source()
        with server.connect(source) as wire:
            wire.send(with_key(start, server.key))
            taken = wire.flood(piece, ENOUGH)
            answer = wire.read_to_the_end()
        server.wait_until_rid_of(source)
        return taken, answer

    assert server.is_well()
    before = server.memory()
    with ThreadPoolExecutor(len(ENDLESS)) as threads:
        coming = threads.map(come, ENDLESS)
        assert server.is_well()
        outcomes = dict(zip(ENDLESS, coming, strict=True))

    assert server.memory() - before < SMALL_GROWTH
    for what, (taken, answer) in outcomes.items():
        assert (answer.status, answer.headers["x-error-code"]) == ENDLESS[what][2:], what
        assert answer.headers["connection"] == "close", what
        assert taken < ENOUGH, what


@pytest.mark.parametrize(
    ("head", "status"),
    [(POST + b"Content-Length: 300000\r\n\r\n", 413), (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400)],
    ids=["refused by the app", "refused before it"],
)
def test_a_client_that_reads_only_when_it_has_sent_everything_gets_its_answer(
    server: Server, source: str, head: bytes, status: int
) -> None:
    with server.connect(source) as wire:
        wire.send(with_key(head, server.key))
        wire.socket.recv(1, socket.MSG_PEEK)
        for _ in range(30):
            wire.socket.sendall(bytes(10_000))
        answer = wire.read_to_the_end()

    assert (answer.status, answer.answers) == (status, 1)


def test_a_head_of_32_kib_is_read_and_one_byte_more_is_not(server: Server, source: str) -> None:
    start, end = HEAD + b"Connection: close\r\nX-Padding: ", b"\r\n\r\n"
    padding = b"a" * (32 * 1024 - len(start) - len(end))

    assert server.send(start + padding + end, source).status == 401
    assert server.send(start + padding + b"a" + end, source).status == 431


@pytest.mark.parametrize("at_once", [True, False])
def test_a_hundred_fields_are_read_and_one_more_is_not(server: Server, source: str, at_once: bool) -> None:
    def ask(fields: int) -> int:
        head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        more = b"".join(b"X-%d: a\r\n" % n for n in range(fields - 2))
        with server.connect(source) as wire:
            for part in [head + more + b"\r\n"] if at_once else [head, more, b"\r\n"]:
                wire.send(part)
            return wire.read_to_the_end().status

    assert (ask(100), ask(101)) == (200, 431)


def test_a_body_of_small_chunks_is_read_to_its_end(server: Server, source: str) -> None:
    body = json.dumps({"email": "chunks@small.example", "name": "Small Chunks" * 10}).encode()
    chunks = b"".join(b"1;ext\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    answer = server.send(
        with_key(CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), server.key) + chunks, source
    )

    assert answer.status == 201, answer.raw


def test_requests_sent_ahead_without_end_wait_outside(server: Server, source: str) -> None:
    before = server.memory()
    with server.connect(source) as wire:
        wire.socket.setblocking(False)
        piece, sent = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 2000, 0
        try:
            while sent < ENOUGH:
                sent += wire.socket.send(piece)
        except BlockingIOError:
            pass
        assert server.is_well()

    assert server.memory() - before < SMALL_GROWTH
