"""Trailer fields are not headers, whatever they are called."""

import asyncio
import json

import asyncpg

from openslot.domains.access.models import CredentialKind, new_key
from tests.hostile.server import PROXY, Server
from tests.hostile.wire import POST, Answer, read_answer

LAST = b"Connection: close\r\n"


def post(email: str, *, headers: bytes, trailers: bytes) -> bytes:
    """Write a contact as one chunk, with fields before and behind it."""
    body = json.dumps({"email": email, "name": "Trailing"}).encode()
    head = POST + headers + b"Transfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailers)


def bearer(key: str) -> bytes:
    """Write the header that opens the door."""
    return f"Authorization: Bearer {key}\r\n".encode()


def replayed(answer: Answer) -> bool:
    """Tell whether an answer is an older one's copy."""
    return "idempotent-replayed" in answer.headers


async def _kept(url: str, key: str) -> int:
    connection = await asyncpg.connect(url)
    count: int = await connection.fetchval("select count(*) from idempotency where key = $1", key)
    await connection.close()
    return count


def test_a_key_in_a_trailer_opens_nothing(server: Server, source: str) -> None:
    behind = server.send(post("a@trailer.example", headers=LAST, trailers=bearer(server.key)), source)
    before = server.send(post("a@trailer.example", headers=LAST + bearer(server.key), trailers=b""), source)

    assert (behind.status, before.status) == (401, 201)


def test_an_idempotency_key_in_a_trailer_keeps_and_replays_nothing(server: Server, source: str) -> None:
    request = post("i@trailer.example", headers=LAST + bearer(server.key), trailers=b"Idempotency-Key: behind\r\n")
    first, second = server.send(request, source), server.send(request, source)

    assert (first.status, second.status) == (201, 409)
    assert not replayed(second)
    assert asyncio.run(_kept(server.database_url, "behind")) == 0


def test_an_address_in_a_trailer_is_nobodys(server: Server) -> None:
    def guess(number: int) -> int:
        key = bearer(new_key(CredentialKind.API_KEY))
        trailer = b"X-Forwarded-For: 203.0.113.%d\r\n" % number
        honest = b"X-Forwarded-For: 198.51.100.7\r\n"
        return server.send(post("x@trailer.example", headers=LAST + honest + key, trailers=trailer), PROXY).status

    assert [guess(number) for number in range(8)] == [401] * 5 + [429] * 3


def test_a_trailer_of_one_request_is_no_header_of_the_next(server: Server, source: str) -> None:
    first = post("n@trailer.example", headers=bearer(server.key), trailers=bearer(server.key))
    with server.connect(source) as wire:
        wire.send(first)
        answered = b""
        while b'"success"' not in answered and b'"id"' not in answered:
            answered += wire.socket.recv(65536)
        wire.send(b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        second = wire.read_to_the_end()

    assert (read_answer(answered).status, second.status) == (201, 401)


def test_a_field_that_only_a_trailer_has_changes_nothing(server: Server, source: str) -> None:
    trailers = b"Content-Type: text/plain\r\nConnection: close\r\nHost: y\r\nX-Any: thing\r\n"
    answer = server.send(post("f@trailer.example", headers=LAST + bearer(server.key), trailers=trailers), source)

    assert answer.status == 201
