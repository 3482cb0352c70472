"""Clients that never come to an end: each part of a request has its time, and the connection ends with it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.hostile.conftest import new_source
from tests.hostile.server import BODY_TIMEOUT, HEAD_TIMEOUT, Server
from tests.hostile.support import with_key
from tests.hostile.wire import CHUNKED, HEAD, POST, Answer

TRICKLED = b"aaaaaaaaaa" * 100
LATE_HEAD = (408, "request_timeout", f"The head must arrive within {HEAD_TIMEOUT} seconds")
LATE_BODY = (408, "request_timeout", f"The body must arrive within {BODY_TIMEOUT} seconds")
LENGTH = POST + b"Content-Length: 2000\r\n\r\n"

HALF = {
    "half a request line": (b"GET /api", LATE_HEAD),
    "half a head": (HEAD + b"X-Half: ", LATE_HEAD),
    "a head without its last line": (HEAD, LATE_HEAD),
    "a head and no body": (LENGTH, LATE_BODY),
    "half a body": (LENGTH + b"{", LATE_BODY),
    "half a chunk": (CHUNKED + b"100\r\n{", LATE_BODY),
    "no last chunk": (CHUNKED + b"1\r\n{\r\n", LATE_BODY),
    "half a trailer": (CHUNKED + b"0\r\nX-Half: ", LATE_BODY),
}
SLOW = {
    "a request line": (b"GET /", LATE_HEAD),
    "a head": (HEAD + b"X-Slow: ", LATE_HEAD),
    "a body": (LENGTH, LATE_BODY),
    "a chunk": (CHUNKED + b"1000\r\n", LATE_BODY),
    "a chunk extension": (CHUNKED + b"1;", LATE_BODY),
    "a trailer": (CHUNKED + b"0\r\nX-Slow: ", LATE_BODY),
}


Told = tuple[int, str, str]


def at_once(server: Server, cases: dict[str, tuple[bytes, Told]], come: Callable[[bytes], Answer]) -> dict[str, Told]:
    """Let all clients come at the same moment, each from a thread of its own; tell how each was refused."""
    with ThreadPoolExecutor(len(cases)) as threads:
        answers = threads.map(come, [start for start, _ in cases.values()])
        assert server.is_well()
        return {
            what: (answer.status, answer.headers["x-error-code"], answer.json["error"])
            for what, answer in zip(cases, answers, strict=True)
            if answer.headers["connection"] == "close"
        }


@pytest.mark.rest("waits for seconds")
def test_half_a_request_is_refused_when_its_time_is_over(server: Server) -> None:
    def come(start: bytes) -> Answer:
        with server.connect(new_source()) as wire:
            wire.send(with_key(start, server.key))
            return wire.read_to_the_end()

    assert at_once(server, HALF, come) == {what: expected for what, (_, expected) in HALF.items()}


@pytest.mark.rest("waits for seconds")
def test_a_byte_now_and_then_buys_no_time(server: Server) -> None:
    def come(start: bytes) -> Answer:
        with server.connect(new_source()) as wire:
            wire.send(with_key(start, server.key))
            assert wire.trickle(TRICKLED, pause=0.05) < len(TRICKLED)
            return wire.read_to_the_end()

    assert at_once(server, SLOW, come) == {what: expected for what, (_, expected) in SLOW.items()}
    assert server.is_well()


@pytest.mark.rest("waits for seconds")
def test_a_connection_that_says_nothing_is_ended_without_a_word(server: Server, source: str) -> None:
    with server.connect(source) as wire:
        assert wire.read_to_the_end().raw == b""


@pytest.mark.rest("waits for seconds as others do")
def test_the_second_head_of_a_connection_has_its_time_too(server: Server, source: str) -> None:
    answer = server.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + HEAD, source)

    assert (answer.status, answer.answers) == (200, 2)
    assert LATE_HEAD[2].encode() in answer.raw


@pytest.mark.rest("waits for seconds as others do")
def test_a_body_at_the_least_rate_has_more_time(server: Server, source: str) -> None:
    body = b'{"email": "least@rate.example", "name": "' + b"a" * 30_000 + b'"}'
    head = POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with server.connect(source) as wire:
        wire.send(with_key(head, server.key))
        # 30 KB in 3 seconds are more than 4 KiB a second, and take longer than a body that stands still may.
        for at in range(0, len(body), 1000):
            wire.trickle(body[at : at + 1], pause=0.1)
            wire.send(body[at + 1 : at + 1000])
        answer = wire.read_to_the_end()

    assert answer.status == 400
    assert set(answer.json["details"]) == {"name"}


@pytest.mark.rest("waits for seconds")
def test_an_answer_that_nobody_takes_is_dropped(server: Server, source: str) -> None:
    with server.connect(source) as wire:
        wire.send(b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 400)
        assert wire.socket.recv(12) == b"HTTP/1.1 200"
        server.wait_until_rid_of(source)

    assert server.is_well()


@pytest.mark.rest("waits for seconds as others do")
def test_a_refused_client_that_stays_is_cut_off(server: Server, source: str) -> None:
    with server.connect(source) as wire:
        wire.send(b"FOO\r\n\r\n")
        assert wire.socket.recv(1) == b"H"
        server.wait_until_rid_of(source)
