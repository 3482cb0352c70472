"""Requests are found in a stream of bytes the same way, however the network cuts it."""

import itertools
from typing import Any

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslot.doors.http.protocol.limits import ConnectionLimits
from openslot.doors.http.protocol.messages import RequestReader
from openslot.platform.core.errors import Refusal
from tests.support.malformed import MALFORMED

SMALL = ConnectionLimits(head_bytes=400, fields=8, framing_bytes=100)
GOOD = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /?a=b HTTP/1.1\r\nHost: x\r\nA:\r\nB: c  \r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n\r\n\r\n!",
    b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
    b"HEAD http://x/c HTTP/1.1\r\nHost: x\r\n\r\n",
]
# Behind these nothing can be read: a request that ends only where its chunks do, and the last of a connection.
FINAL = [
    b"POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;e=f\r\nde\r\n0\r\nT: u\r\n\r\n",
    b"GET /e HTTP/1.0\r\n\r\n",
    b"GET /f HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET /g HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 400 + b"\r\n\r\n",
    b"GET /h HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 8 + b"\r\n",
    *MALFORMED.values(),
]


def read_all(pieces: list[bytes]) -> list[Any]:
    """Read requests until none can follow; tell each, or why it was refused."""
    reader = RequestReader(SMALL)
    told: list[Any] = []
    for piece in pieces:
        rest = piece
        while rest:
            try:
                rest = reader.take(rest)
            except Refusal as refusal:
                return [*told, refusal.code]
            if not reader.is_whole:
                break
            told.append((reader.method, reader.target, reader.fields, reader.take_body()))
            if not reader.keeps_alive or b"transfer-encoding" in reader.by_name:
                return told
            reader.begin()
    return told


def cut(data: bytes, at: list[int]) -> list[bytes]:
    """Cut at these places."""
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in at)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


@given(st.lists(st.sampled_from(GOOD), max_size=4), st.sampled_from(FINAL), st.lists(st.integers(0, 9999), max_size=30))
def test_a_stream_means_the_same_however_it_is_cut(good: list[bytes], final: bytes, places: list[int]) -> None:
    stream = b"".join(good) + final

    assert read_all(cut(stream, places)) == read_all([stream])
    assert len(read_all([stream])) == len(good) + 1


def test_every_stream_means_the_same_byte_by_byte() -> None:
    for final in FINAL:
        stream = b"".join(GOOD) + final

        assert read_all([stream[at : at + 1] for at in range(len(stream))]) == read_all([stream])


@given(st.binary(max_size=300), st.lists(st.integers(0, 9999), max_size=10))
def test_no_bytes_break_the_reader(noise: bytes, places: list[int]) -> None:
    for start in (b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"):
        stream = start + noise

        assert read_all(cut(stream, places)) == read_all([stream])


STRAY = [*(bytes([each]) for each in b" \t\n\r\v\f\0\x7f\x85\xa0:;,+"), b"\r\n", b"\r\n ", b"\n ", b"  ", b"\r\r"]


def read_by_another(data: bytes) -> Any:
    """Read one request with h11, as `read_all` tells it; None if it refuses it."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    head, body = None, b""
    try:
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            else:
                return None
    except h11.RemoteProtocolError:
        return None
    return None if head is None else (head.method.decode(), head.target, [*head.headers], body)


def read_alone(data: bytes) -> Any:
    reader = RequestReader(ConnectionLimits())
    try:
        reader.take(reader.take(data))
    except Refusal:
        return None
    return (reader.method, reader.target, reader.fields, reader.take_body()) if reader.is_whole else None


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n",
        b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        b"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ],
)
def test_a_stray_character_is_read_as_strictly_as_h11_reads_it(request_bytes: bytes) -> None:
    assert read_alone(request_bytes) == read_by_another(request_bytes) is not None
    for at, stray, lost in itertools.product(range(len(request_bytes) + 1), STRAY, (0, 1, 2)):
        data = request_bytes[:at] + stray + request_bytes[at + lost :]
        ours = read_alone(data)
        assert ours is None or ours == read_by_another(data), data
