"""What is no HTTP, and what two readers could read in two ways: 400 in the API's shape, and the connection ends."""

import re
from uuid import UUID

import pytest

from tests.hostile.server import Server
from tests.hostile.wire import HEAD
from tests.support.malformed import MALFORMED

SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_refused_in_the_apis_shape_and_nothing_behind_it_is_read(
    server: Server, source: str, name: str
) -> None:
    answer = server.send(MALFORMED[name] + SMUGGLED, source)

    assert (answer.status, answer.answers) == (400, 1)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-error-code"] == "invalid_request"
    assert answer.headers["connection"] == "close"
    assert answer.headers["cache-control"] == "no-store"
    assert UUID(answer.headers["x-request-id"]).version == 7
    assert set(answer.json) == {"error"}
    assert answer.json["error"]
    assert server.is_well()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("no Host", "Host must be sent exactly once"),
        ("two Hosts", "Host must be sent exactly once"),
        ("two Idempotency-Keys", "Idempotency-Key must be sent exactly once"),
        ("gzip, then chunked", "Transfer-Encoding must be chunked, and only over HTTP/1.1"),
        ("an unknown method", "The request is not valid HTTP: Invalid method encountered"),
        ("a space before the colon", "The request is not valid HTTP: Invalid header token"),
        ("an old version", "The request must be HTTP/1.1 or HTTP/1.0"),
        ("empty lines only", "The request is not valid HTTP: Expected a request line"),
        ("a tunnel", "The request target must be a path in ASCII"),
    ],
)
def test_the_error_names_the_fault(server: Server, source: str, name: str, error: str) -> None:
    assert server.send(MALFORMED[name], source).json == {"error": error}


def test_a_malformed_request_behind_a_good_one_is_refused_after_its_answer(server: Server, source: str) -> None:
    answer = server.send(HEAD + b"\r\nFOO / HTTP/1.1\r\n\r\n" + SMUGGLED, source)
    second = answer.raw.index(b"HTTP/1.1 ", 1)

    assert (answer.status, answer.answers) == (401, 2)
    assert answer.raw[second:].startswith(b"HTTP/1.1 400 ")


def test_what_a_web_socket_client_sends_next_is_not_read(server: Server, source: str) -> None:
    upgrade = HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n"
    answer = server.send(upgrade + SMUGGLED, source)

    assert (answer.status, answer.answers) == (401, 1)
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("more", [b"", b"Connection: keep-alive\r\n"])
def test_http_1_0_needs_no_host_and_gets_one_answer(server: Server, source: str, more: bytes) -> None:
    answer = server.send(b"GET /healthz HTTP/1.0\r\n" + more + b"\r\n" + SMUGGLED, source)

    assert (answer.status, answer.answers) == (200, 1)


def test_what_was_refused_before_any_door_is_counted(server: Server, source: str) -> None:
    def counted() -> float:
        written = server.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "127.0.0.1").raw
        found = re.search(rb'openslot_refused_total\{code="invalid_request"\} ([0-9.]+)', written)
        return float(found[1]) if found else 0

    before = counted()
    server.send(b"FOO\r\n\r\n", source)

    assert counted() == before + 1
