"""Requests are found in a stream of bytes the same way, however the network cuts it."""

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openslot.core.errors import Refusal
from openslot.http.protocol.limits import ConnectionLimits
from openslot.http.protocol.messages import RequestReader
from tests.support.malformed import MALFORMED

SMALL = ConnectionLimits(head_bytes=400, fields=8, framing_bytes=100)
GOOD = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\r\nGET /?a=b HTTP/1.1\r\nHost: x\r\nA:\r\nB: c  \r\n\r\n",
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
